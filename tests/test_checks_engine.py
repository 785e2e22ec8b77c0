"""The checks on the small engine: what they say of it as it is, and of faults put into it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from timing_audit.model.options import Options
from timing_audit.model.report import Finding
from timing_audit.packs.load import load_packs
from timing_audit.pipeline import audit
from timing_audit.source.layout import Layout
from timing_audit.source.tree import Tree

ENGINE = Path(__file__).parent.parent / "fixtures" / "mini_sglang" / "python"
SRT = "sglang/srt/"


@cache
def sources() -> dict[str, bytes]:
    return {path.relative_to(ENGINE).as_posix(): path.read_bytes() for path in sorted(ENGINE.rglob("*.py"))}


AS_IT_IS = Options()


def findings(changed: dict[str, bytes] | None = None, options: Options = AS_IT_IS) -> tuple[Finding, ...]:
    files = sources() | (changed or {})
    tree = Tree("mini", "sglang", "", tuple(sorted(files)), (), Layout(), files.__getitem__)
    return audit(tree, load_packs(), options).findings


def changed(file: str, old: str, new: str) -> dict[str, bytes]:
    source = sources()[SRT + file].decode()
    assert source.count(old) == 1
    return {SRT + file: source.replace(old, new).encode()}


def places(found: tuple[Finding, ...], check: str) -> list[tuple[str, str, str | None]]:
    return [(f.file.removeprefix(SRT), f.function, f.stage) for f in found if f.check == check]


def test_stages_without_a_timer() -> None:
    """Of the V2 worker's stages two are seen by a profiler, and n-gram's draft by the request trace; none is timed."""
    told = [(f.function, f.stage) for f in findings() if f.check == "untimed-stage" and "in decode" in f.message]

    assert told == [
        ("EAGLEWorker.forward_batch_generation", "draft"),
        ("EAGLEWorker.forward_batch_generation", "verify"),
        ("EAGLEWorker.forward_batch_generation", "draft_extend"),
        ("EAGLEWorkerV2.forward_batch_generation", "draft"),
        ("EAGLEWorkerV2.forward_batch_generation", "verify"),
        ("EAGLEWorkerV2.forward_batch_generation", "draft_extend"),
        ("NGRAMWorker.forward_batch_generation", "draft"),
        ("NGRAMWorker.forward_batch_generation", "verify"),
    ]


def test_the_stage_that_only_a_docstring_names_is_told() -> None:
    (told,) = [
        f for f in findings() if f.check == "untimed-stage" and (f.function, f.stage) == (
            "EAGLEWorkerV2.forward_batch_generation", "verify",
        )
    ]  # fmt: skip

    assert "the docstring of spec_stage_span" in told.message
    assert "names verify" in told.message


def test_what_was_written_down_by_hand_is_found() -> None:
    wanted = json.loads((ENGINE.parent / "expected.json").read_text(encoding="utf-8"))["findings"]
    checks = {row["check"] for row in wanted}

    assert sorted((row["check"], row["file"], row["function"]) for row in wanted) == sorted(
        (f.check, f.file, f.function) for f in findings() if f.check in checks
    )


def test_helpers_and_setters_that_nothing_calls() -> None:
    assert places(findings(), "timer-never-called") == [
        ("observability/req_time_stats.py", "ReqTimeStats.set_spec_verify_start_time", None),
        ("observability/req_time_stats.py", "ReqTimeStats.set_spec_verify_end_time", None),
        ("utils/common.py", "mark_start", None),
        ("utils/common.py", "mark_end", None),
    ]


def test_in_a_part_of_a_package_a_helper_may_have_callers_elsewhere() -> None:
    files = {path: source for path, source in sources().items() if path != "sglang/__init__.py"}
    tree = Tree("mini", "sglang", "", tuple(files), (), Layout(), files.__getitem__)
    told = [f for f in audit(tree, load_packs(), AS_IT_IS).findings if f.check == "timer-never-called"]

    assert {(f.severity, f.confidence) for f in told} == {("info", "low")}
    assert all(f.message.startswith("nothing in this part of the package mentions") for f in told)


def test_a_replay_beside_a_timed_one() -> None:
    """Only the draft's runner times its replay: the other two are told, with the place of that one."""
    told = [f for f in findings() if f.check == "replay-without-timer"]

    assert [(f.file.removeprefix(SRT), f.function) for f in told] == [
        ("model_executor/cuda_graph_runner.py", "CudaGraphRunner.replay"),
        ("speculative/eagle_draft_extend_cuda_graph_runner.py", "EAGLEDraftExtendCudaGraphRunner.replay"),
    ]
    assert all("eagle_draft_cuda_graph_runner.py:" in f.message for f in told)


def test_a_timer_in_the_captured_draft_is_silent() -> None:
    change = changed(
        "speculative/eagle_draft_worker.py",
        "            moved = empty(len(tokens))\n",
        "            begun = time.perf_counter()\n            moved = empty(len(tokens))\n"
        "            logger.info(time.perf_counter() - begun)\n",
    )
    draft = "speculative/eagle_draft_worker.py"

    assert places(findings(change), "silent-under-capture") == [(draft, "EagleDraftWorker.draft_forward", "draft")]
    assert places(findings(), "silent-under-capture") == []


def test_a_timer_around_the_replay_or_its_stand_in_speaks() -> None:
    change = changed(
        "speculative/eagle_draft_worker.py",
        "        columns = [draft_input.verified_id, *token_lists]\n",
        "        logger.info(time.perf_counter() - begun)\n        columns = [draft_input.verified_id, *token_lists]\n",
    )
    change = {
        file: source.replace(
            b"        forward_batch = draft_input.prepare_for_v2_draft(batch)\n",
            b"        begun = time.perf_counter()\n        forward_batch = draft_input.prepare_for_v2_draft(batch)\n",
        )
        for file, source in change.items()
    }

    assert places(findings(change), "silent-under-capture") == []


def test_a_narrowed_report_holds_the_findings_of_its_part() -> None:
    told = findings(options=Options(workers=("EAGLEWorker",), phases=("decode",)))
    stages = [(f.function, f.stage) for f in told if f.check == "untimed-stage"]

    assert stages == [("EAGLEWorker.forward_batch_generation", name) for name in ("draft", "verify", "draft_extend")]
    assert not [f for f in told if f.function.startswith(("EAGLEWorkerV2", "EagleDraftWorker"))]


MODED = """
class DeviceTimer:
    def __init__(self, reporter):
        self.start, self.end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    @contextmanager
    def wrap(self, metadata):
        self.start.record()
        yield
        self.end.record()


class ForwardBatch:
    def __init__(self, forward_mode):
        self.forward_mode = forward_mode


class ModelRunner:
    def __init__(self):
        self.device_timer = DeviceTimer(print)

    def forward(self, forward_batch):
        with self.device_timer.wrap({"category": forward_batch.forward_mode.name}):
            return self.model.forward(forward_batch)


class DFlashWorker:
    def __init__(self):
        self.draft_model_runner = ModelRunner()

    def forward_batch_generation(self, batch):
        block = ForwardBatch(forward_mode=ForwardMode.%s)
        return self.draft_model_runner.forward(block)
"""
HEAD = (
    "from contextlib import contextmanager\nfrom enum import Enum, auto\nimport torch\n\n\nclass ForwardMode(Enum):\n"
)


def moded(mode: str) -> list[tuple[int, str]]:
    members = "".join(f"    {name} = auto()\n" for name in ("EXTEND", "DECODE", "IDLE", "TARGET_VERIFY", "MIXED"))
    code = (HEAD + members + MODED % mode).encode()
    tree = Tree("m", "", "", ("dflash.py",), (), Layout(), lambda path: code)
    found = audit(tree, load_packs(), Options()).findings
    line = code.split(b"\n").index(f"        block = ForwardBatch(forward_mode=ForwardMode.{mode})".encode()) + 1
    return [(f.line - line, f.message) for f in found if f.check == "mislabelled-stage"]


def test_a_draft_that_is_built_as_a_verification_is_booked_as_one() -> None:
    ((line, message),) = moded("TARGET_VERIFY")

    assert line == 0
    assert message.startswith("a batch of the draft stage is built with the mode TARGET_VERIFY")
    assert message.endswith("book its time under verify")


def test_a_draft_with_a_mode_that_names_no_stage_is_left_alone() -> None:
    assert moded("DECODE") == []
