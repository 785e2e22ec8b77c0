"""`timing-audit hook`: what staged files lose, and inserted timers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from tests.golden import MINI
from tests.unit.ratchet.engines import DRAFT_SPAN, NO_DRAFT_SPAN, SPECULATIVE, WORKER, copy_engine, edit
from timing_audit.cli import run

Out = pytest.CaptureFixture[str]
V2 = "EAGLEWorkerV2.forward_batch_generation (decode+prefill)"
LOST = f"{V2}: `self.draft_worker.draft` is in no trace timer any more"


@pytest.fixture(scope="module")
def engine_with_baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mini engine and its baseline, to be copied."""
    root = copy_engine(tmp_path_factory.mktemp("engine"))
    target, file = str(root), str(root / "timing-audit-baseline.json")
    assert run(["scan", target, "-q", "-o", os.devnull, "--update-baseline", "--baseline", file]) == 0
    return root


@pytest.fixture
def engine(engine_with_baseline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out) -> Path:
    """A copy of the engine with its baseline, as the current folder."""
    root = tmp_path / "engine"
    shutil.copytree(engine_with_baseline, root)
    monkeypatch.chdir(root)
    capsys.readouterr()
    return root


def every_file() -> list[str]:
    return sorted(str(path) for path in Path("python").rglob("*.py"))


def hook(capsys: Out, *arguments: str) -> tuple[int, list[str]]:
    code = run(["hook", *arguments])
    return code, capsys.readouterr().out.splitlines()


def test_files_as_they_were_pass(engine: Path, capsys: Out) -> None:
    assert run(["hook", *every_file()]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_span_that_is_taken_out_is_named_with_its_place(engine: Path, capsys: Out) -> None:
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)

    assert run(["hook", WORKER]) == 1
    out, err = capsys.readouterr()
    line = (engine / WORKER).read_text().split("\n").index("    def forward_batch_generation(") + 1
    assert out == f"{WORKER}:{line}: {LOST}\n"
    assert err == (
        "timing-audit: 1 loss of coverage; if it is meant, or timed in a way that one file does not show: "
        "`timing-audit scan --update-baseline`\n"
    )


def test_only_the_files_that_are_given_are_looked_at(engine: Path, capsys: Out) -> None:
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    (engine / SPECULATIVE / "eagle_worker.py").write_text("def broken(:\n")

    assert hook(capsys, f"{SPECULATIVE}/spec_utils.py") == (0, [])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("OnPublish = Callable", "# a comment\n\n\nOnPublish = Callable"),
        ('spec_stage_span("draft"),', 'spec_stage_span("the draft"),'),
        ("from sglang.srt.speculative.spec_utils import generate_token_bitmask, spec_stage_span\n",
         "from sglang.srt.speculative import spec_utils\nfrom sglang.srt.speculative.spec_utils import "
         "generate_token_bitmask\n\nspec_stage_span = spec_utils.spec_stage_span\n"),
        ("            return result\n\n", "            self.more(result)\n            return result\n\n"),
        ("    def verify(self", "    def check(self"),
    ],
)  # fmt: skip
def test_what_is_no_loss(old: str, new: str, engine: Path, capsys: Out) -> None:
    edit(engine, WORKER, old, new)

    assert hook(capsys, WORKER) == (0, [])


@pytest.mark.parametrize(
    ("file", "old", "new", "why"),
    [
        (WORKER, "generate_token_bitmask, spec_stage_span\n", "generate_token_bitmask\n\nspec_stage_span = print\n",
         f"{V2}: no trace timer is left in it"),
        ("python/sglang/srt/managers/scheduler.py", "self.record_forward_metrics(batch)", "nullcontext()",
         "Scheduler.run_batch (decode+prefill): no device timer is left in it"),
        (f"{SPECULATIVE}/spec_utils.py", "    return profile_range(", "    if not DEBUG:\n        return None\n"
         "    return nullcontext(", "spec_stage_span: it times nothing for its callers any more"),
    ],
)  # fmt: skip
def test_what_is_a_loss(file: str, old: str, new: str, why: str, engine: Path, capsys: Out) -> None:
    edit(engine, file, old, new)

    code, lines = hook(capsys, file)
    assert code == 1
    assert [line.split(": ", 1)[1] for line in lines] == [why]


def test_a_file_that_moves_takes_its_coverage_along(engine: Path, capsys: Out) -> None:
    moved = f"{SPECULATIVE}/second_worker.py"
    (engine / WORKER).rename(engine / moved)
    assert hook(capsys, moved) == (0, [])

    edit(engine, moved, DRAFT_SPAN, NO_DRAFT_SPAN)
    code, lines = hook(capsys, moved)
    assert code == 1
    assert [line.split(": ", 1)[1] for line in lines] == [LOST]


def test_deleted_files_and_other_kinds_of_file_are_passed_over(engine: Path, capsys: Out) -> None:
    (engine / WORKER).unlink()
    (engine / "notes.txt").write_text("spec_stage_span")

    assert hook(capsys, WORKER, "notes.txt", "no/such/file.py", "python") == (0, [])


def test_excludes_hold_for_the_files_that_are_given(engine: Path, capsys: Out) -> None:
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    (engine / "timing-audit.toml").write_text('excludes = ["eagle_worker_v2.py"]\n')

    assert hook(capsys, WORKER) == (0, [])


def test_what_cannot_be_parsed_is_skipped_with_3(engine: Path, capsys: Out) -> None:
    (engine / WORKER).write_text("def broken(:\n")

    assert run(["hook", WORKER]) == 3
    assert capsys.readouterr().err == f"timing-audit: {WORKER} was skipped: syntax error near line 1\n"


def test_batches_say_what_one_run_says(engine: Path, capsys: Out) -> None:
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    edit(engine, "python/sglang/srt/managers/scheduler.py", "self.record_forward_metrics(batch)", "nullcontext()")

    _, together = hook(capsys, *every_file())
    alone = [line for file in every_file() for line in hook(capsys, file)[1]]
    assert together == alone
    assert len(together) == 2


def test_a_thousand_arguments(engine: Path, capsys: Out) -> None:
    folder = engine / "python" / "sglang" / "more stuff"
    folder.mkdir()
    names = [folder / f"module {number}.py" for number in range(1000)]
    for name in names:
        name.write_text("def broken(:\n")
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)

    code, lines = hook(capsys, *map(str, names), WORKER)
    assert code == 1
    assert len(lines) == 1, "what the baseline does not speak of is not even parsed"


def test_without_a_baseline_the_command_that_writes_one_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(["hook", "a.py"]) == 2
    what = "there is no baseline timing-audit-baseline.json; `timing-audit scan --update-baseline` writes it"
    assert capsys.readouterr().err == f"timing-audit: {what}\n"


def test_files_of_no_package_are_known_by_the_end_of_their_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    timed = "import time\ndef step(w):\n    t = time.monotonic()\n    w.run()\n    print(time.monotonic() - t)\n"
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "loop.py").write_text(timed)
    monkeypatch.chdir(tmp_path)
    assert run(["scan", "lib", "--entry", "step", "-q", "-o", os.devnull, "--update-baseline"]) == 0
    assert hook(capsys, "lib/loop.py") == (0, [])

    (tmp_path / "lib" / "loop.py").write_text("def step(w):\n    w.run()\n")
    assert hook(capsys, "lib/loop.py") == (1, ["lib/loop.py:1: step (decode+prefill): no host timer is left in it"])


# Inserted timers.

PROBED = "import sglang.probes  # timing: probe 0a1b\n\ndef f(x):\n    with p[3]: x()  # timing: probe ffee:3\n"


def test_inserted_timers_are_found_by_their_marks(tmp_path: Path, capsys: Out) -> None:
    file = tmp_path / "a b.py"
    file.write_bytes(b"\xff\xfe not even text\n" + PROBED.encode())

    assert run(["hook", "--no-probes", str(file), str(tmp_path / "gone.py")]) == 1
    out, err = capsys.readouterr()
    assert out == f"{file}:2: an inserted timer, 0a1b\n{file}:5: an inserted timer, ffee:3\n"
    assert err == "timing-audit: 2 inserted timers; take them out: `timing-audit strip`\n"


def test_other_words_of_ours_are_no_inserted_timers(tmp_path: Path, capsys: Out) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1  # timing: ignore[untimed-stage] known\n# timing: probes are described in docs\n")

    assert hook(capsys, "--no-probes", str(file)) == (0, [])


def test_json_keeps_to_its_schema(engine: Path, capsys: Out) -> None:
    schema = json.loads((files("timing_audit.render") / "schema" / "hook-1.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    (engine / "probed.py").write_text(PROBED)

    for arguments, key in ((["hook", WORKER], "losses"), (["hook", "--no-probes", "probed.py"], "probes")):
        assert run([*arguments, "--format", "json"]) == 1
        document = json.loads(capsys.readouterr().out)
        jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
        assert document[key]
        assert document["next"][0][0] == "timing-audit"


def test_it_imports_nothing_that_it_does_not_need(engine: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "timing_audit", "hook", WORKER],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(MINI.parents[1])},
    ).stderr  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in shown.splitlines()}

    assert "tree_sitter" in imported
    assert not imported & {"libcst", "jinja2", "timing_audit.pipeline", "timing_audit.program.hotpath"}
