"""The mini engine runs, decodes what plain decode decodes, and does what its expected.json says."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import NamedTuple

import pytest

MINI = Path(__file__).resolve().parents[1] / "fixtures" / "mini_sglang"
ROOT = MINI / "python"
TINY = ["--draft-us", "1", "--verify-us", "2", "--extend-us", "1"]
WORKERS = ["eagle", "eagle_v2", "standalone", "ngram"]
RUNS = [
    ["--worker", "none"],
    ["--worker", "none", "--no-cuda-graph"],
    ["--worker", "none", "--overlap"],
    *(["--worker", worker] for worker in WORKERS),
    *(["--worker", worker, "--no-cuda-graph"] for worker in WORKERS),
    ["--worker", "eagle_v2", "--overlap", "--device-timer"],
]
STAGE_ENTRIES = {
    "EAGLEWorker.draft": "draft",
    "EagleDraftWorker.draft": "draft",
    "NGRAMWorker._prepare_for_speculative_decoding": "draft",
    "EAGLEWorker.verify": "verify",
    "EAGLEWorkerV2.verify": "verify",
    "NgramVerifyInput.verify": "verify",
    "EAGLEWorker.forward_target_extend": "target_extend",
    "EAGLEWorker.forward_draft_extend": "draft_extend",
    "EAGLEWorker.forward_draft_extend_after_decode": "draft_extend",
    "EagleDraftWorker._draft_extend_for_prefill": "draft_extend",
    "EagleDraftWorker._draft_extend_for_decode": "draft_extend",
}
TIMING_CALL = re.compile(
    r"perf_counter\(\)|cuda\.Event\(|cuda\.synchronize\(|return record_function\(|_event\.(record|elapsed_time)\("
    r'|\.wrap\(|spec_stage_span\("|return profile_range\(|set_time_batch\(batch|record_forward_metrics\(batch\):$'
)
BODIES_THAT_CALL_THE_TARGET = ("EAGLEWorkerV2.forward_batch_generation", "NGRAMWorker.forward_batch_generation")


@pytest.fixture(scope="module")
def engine() -> Iterator[ModuleType]:
    """run.py as a module; what it imports is forgotten afterwards."""
    path, modules = list(sys.path), set(sys.modules)
    spec = importlib.util.spec_from_file_location("mini_sglang_run", MINI / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name == "ledger" or name.split(".")[0] == "sglang":
            del sys.modules[name]


@pytest.mark.parametrize("steps", ["1", "2", "5"])
@pytest.mark.parametrize("run", [run for run in RUNS if "none" not in run], ids=" ".join)
def test_speculation_decodes_what_plain_decode_decodes(engine: ModuleType, run: list[str], steps: str) -> None:
    load = [*TINY, "--requests", "7", "--tokens", "17", "--seed", "3"]
    plain = engine.run(["--worker", "none", *load])
    assert engine.run([*run, "--steps", steps, *load])["outputs"] == plain["outputs"]


def test_every_request_gets_its_tokens_and_grammar(engine: ModuleType) -> None:
    outputs = engine.run(["--worker", "eagle", *TINY, "--requests", "6", "--tokens", "20"])["outputs"]
    assert [len(tokens) for tokens in outputs] == [20] * 6
    assert all(token % 2 == 0 for i in (2, 5) for token in outputs[i])
    assert len({tuple(tokens) for tokens in outputs}) == 6


@pytest.mark.parametrize("run", RUNS, ids=" ".join)
def test_runs_repeat_and_leave_no_slots_behind(engine: ModuleType, run: list[str]) -> None:
    first, second = (engine.run([*run, *TINY, "--seed", "5"]) for _ in range(2))
    assert (first["outputs"], first["cycles"]) == (second["outputs"], second["cycles"])
    assert first["slots_in_use"] == 0


def test_a_good_draft_saves_cycles(engine: ModuleType) -> None:
    load = [*TINY, "--requests", "1", "--tokens", "41", "--steps", "4"]
    assert engine.run(["--worker", "none", *load])["cycles"] == 40
    assert 8 <= engine.run(["--worker", "eagle", *load])["cycles"] < 30


@pytest.mark.parametrize("worker", ["eagle", "eagle_v2", "standalone"])
def test_ledger_books_what_the_models_were_asked_to_do(engine: ModuleType, worker: str) -> None:
    times = ["--draft-us", "20", "--verify-us", "200", "--extend-us", "30"]
    command = ["--worker", worker, "--requests", "3", "--tokens", "24", "--steps", "3", *times]
    result = engine.run(command)
    decode, cycles = result["ledger"]["decode"], result["cycles"]
    assert {stage: account["forwards"] for stage, account in decode.items()} == {
        "draft": 2 * cycles,
        "verify": cycles,
        "draft_extend": cycles,
        "other": 0,
    }
    assert decode["draft"]["requested_s"] == pytest.approx(cycles * 40e-6)
    assert result["ledger"]["prefill"]["target_extend"]["forwards"] == 1
    booked = sum(account["measured_s"] for account in decode.values())
    asked = sum(account["requested_s"] for account in decode.values())
    assert decode["verify"]["requested_s"] / asked == pytest.approx(200 / 270)
    assert all(account["measured_s"] >= account["requested_s"] for account in decode.values())
    assert booked <= result["wall_s"]


def test_the_engines_device_timer_agrees_with_the_ledger(engine: ModuleType) -> None:
    result = engine.run(["--worker", "eagle_v2", "--device-timer", "--verify-us", "300", "--tokens", "12"])
    booked = sum(account["measured_s"] for account in result["ledger"]["decode"].values())
    assert booked <= result["device_timer_s"]["decode"] <= result["wall_s"]


def test_command_line_prints_json() -> None:
    command = [sys.executable, str(MINI / "run.py"), "--worker", "eagle_v2", "--overlap", *TINY, "--tokens", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["worker"] == "EAGLEWorkerV2"


def test_overlap_is_refused_for_workers_that_cannot(engine: ModuleType) -> None:
    with pytest.raises(SystemExit) as refused:
        engine.run(["--worker", "ngram", "--overlap"])
    assert refused.value.code == 2


class Def(NamedTuple):
    """A function definition, as expected.json names it."""

    file: str
    qualname: str


def find_defs() -> tuple[dict[Def, int], dict[tuple[str, int], Def]]:
    """The `def` line of every function, and each function by its first line, decorators included."""
    lines: dict[Def, int] = {}
    by_first_line: dict[tuple[str, int], Def] = {}

    def visit(node: ast.AST, file: str, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                name = f"{prefix}{child.name}."
            if isinstance(child, ast.FunctionDef):
                definition = Def(file, name[:-1])
                lines[definition] = child.lineno
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                by_first_line[file, first] = definition
            visit(child, file, name)

    for path in sorted(ROOT.rglob("*.py")):
        visit(ast.parse(path.read_text()), path.relative_to(ROOT).as_posix(), "")
    return lines, by_first_line


LINES, BY_FIRST_LINE = find_defs()
EXPECTED = json.loads((MINI / "expected.json").read_text())
EXPECTED_FUNCTIONS = {Def(entry["file"], entry["qualname"]): entry for entry in EXPECTED["functions"]}


def test_expected_names_every_function_on_its_line() -> None:
    assert {definition: entry["line"] for definition, entry in EXPECTED_FUNCTIONS.items()} == LINES


@pytest.mark.parametrize("site", EXPECTED["sites"], ids=lambda site: f"{site['file']}:{site['line']}")
def test_expected_sites_hold_their_text(site: dict[str, object]) -> None:
    lines = (ROOT / str(site["file"])).read_text().splitlines()
    assert lines[int(str(site["line"])) - 1].strip() == site["text"]


def test_expected_misses_no_timing_call() -> None:
    listed = {(site["file"], site["line"]) for site in EXPECTED["sites"]}
    found = {
        (path.relative_to(ROOT).as_posix(), number)
        for path in ROOT.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if TIMING_CALL.search(line)
    }
    assert found - listed == set()


def test_brackets_lie_between_listed_sites() -> None:
    listed = {(site["file"], site["line"]) for site in EXPECTED["sites"]}
    ends = {(bracket["file"], end) for bracket in EXPECTED["brackets"] for end in (bracket["open"], bracket["close"])}
    assert {(file, line) for file, line in ends if line is not None} <= listed


def test_readme_has_a_line_for_every_file() -> None:
    readme = (MINI.parent / "README.md").read_text()
    names = [path.relative_to(ROOT / "sglang").as_posix() for path in ROOT.rglob("*.py")]
    assert [name for name in names if f"`{name}`" not in readme] == []


class Seen:
    """When each function ran: at start-up, at capture, or while serving, in which phase and stage."""

    def __init__(self) -> None:
        self.startup: set[Def] = set()
        self.capture: set[Def] = set()
        self.in_worker: dict[Def, set[tuple[str, str | None]]] = defaultdict(set)
        self.in_loop: set[Def] = set()
        self.workers: dict[Def, set[str]] = defaultdict(set)
        self.counts: dict[Def, int] = defaultdict(int)

    def trace(self, engine: ModuleType, argv: list[str]) -> None:
        """Run the engine once and note every call."""
        calls: list[tuple[list[Def], str]] = []
        phase = ""

        def note(frame: FrameType, event: str, _: object) -> None:
            nonlocal phase
            if event != "call" or (called := definition_of_code(frame.f_code)) is None:
                return
            if called.qualname == "Scheduler.run_batch":
                phase = "decode" if frame.f_locals["batch"].forward_mode.is_decode() else "prefill"
            calls.append((stack_of(frame), phase))

        sys.setprofile(note)
        try:
            worker = engine.run(argv)["worker"]
        finally:
            sys.setprofile(None)
        for stack, phase in calls:
            self._book(stack, phase, worker)

    def _book(self, stack: list[Def], phase: str, worker: str) -> None:
        called, names = stack[0], [definition.qualname for definition in stack]
        if "Scheduler.run_batch" in names[1:]:
            self.in_worker[called].add((phase, stage_of(names, phase)))
        elif names[-1].startswith("Scheduler.event_loop"):
            self.in_loop.add(called)
        else:
            self.startup.add(called)
            if any(name.endswith(".run_once") for name in names[1:]):
                self.capture.add(called)
            return
        self.workers[called].add(worker)
        self.counts[called] += 1


@cache
def definition_of_code(code: CodeType) -> Def | None:
    path = Path(code.co_filename)
    if ROOT not in path.parents:
        return None
    return BY_FIRST_LINE.get((path.relative_to(ROOT).as_posix(), code.co_firstlineno))


def stack_of(frame: FrameType) -> list[Def]:
    stack, at = [], frame
    while at is not None:
        if (definition := definition_of_code(at.f_code)) is not None:
            stack.append(definition)
        at = at.f_back  # type: ignore[assignment]
    return stack


def stage_of(names: list[str], phase: str) -> str | None:
    """The innermost stage on the stack; two workers call the target right from their bodies."""
    for name, caller in zip(names, [*names[1:], ""], strict=True):
        if name in STAGE_ENTRIES:
            return STAGE_ENTRIES[name]
        if name == "TpModelWorker.forward_batch_generation" and caller in BODIES_THAT_CALL_THE_TARGET:
            return "verify" if phase == "decode" else "target_extend"
    return None


@pytest.fixture(scope="module")
def seen(engine: ModuleType) -> Seen:
    seen = Seen()
    for run in RUNS:
        seen.trace(engine, [*run, *TINY, "--requests", "6", "--tokens", "9"])
    return seen


def expected_where(*labels: str) -> list[tuple[Def, dict[str, object]]]:
    return [(key, entry) for key, entry in EXPECTED_FUNCTIONS.items() if entry["label"] in labels and entry["sure"]]


def test_hot_functions_run_in_the_phases_and_stages_expected(seen: Seen) -> None:
    for definition, entry in expected_where("decode", "prefill", "both"):
        if definition in seen.in_loop:
            continue
        stages = entry["stages"]
        assert isinstance(stages, dict)
        listed = {(phase, stage) for phase in stages for stage in stages[phase]}
        assert seen.in_worker[definition] == listed, definition


def test_loop_functions_stay_within_what_is_expected(seen: Seen) -> None:
    for definition in seen.in_loop | set(seen.in_worker):
        entry = EXPECTED_FUNCTIONS[definition]
        if entry["label"] == "leaf":
            continue
        assert entry["label"] in ("decode", "prefill", "both"), definition
        listed = {(phase, stage) for phase, stages in entry["stages"].items() for stage in stages}
        assert seen.in_worker[definition] <= listed, definition


def test_every_hot_function_runs_under_the_workers_expected(seen: Seen) -> None:
    for definition, entry in expected_where("decode", "prefill", "both"):
        assert seen.workers[definition] == set(entry["worker"]), definition  # type: ignore[call-overload]


def test_capture_functions_run_at_start_up_only(seen: Seen) -> None:
    for definition, _ in expected_where("capture"):
        assert definition in seen.startup, definition
        assert definition not in seen.workers, definition


def test_cold_functions_do_not_run_while_serving(seen: Seen) -> None:
    assert [definition for definition, _ in expected_where("cold") if definition in seen.workers] == []


def test_captured_functions_are_those_that_a_capture_runs(seen: Seen) -> None:
    hot = {key for key, entry in EXPECTED_FUNCTIONS.items() if entry["label"] in ("decode", "prefill", "both")}
    assert seen.capture & hot == {key for key in hot if EXPECTED_FUNCTIONS[key]["captured"]}


@pytest.mark.parametrize(
    ("worker", "file", "owner"),
    [("eagle", "eagle_worker", "EAGLEWorker"), ("eagle_v2", "eagle_draft_worker", "EagleDraftWorker")],
)
def test_captured_python_does_not_run_at_replay(engine: ModuleType, worker: str, file: str, owner: str) -> None:
    counts = []
    draft_forward = Def(f"sglang/srt/speculative/{file}.py", f"{owner}.draft_forward")
    for graph in ([], ["--no-cuda-graph"]):
        traced = Seen()
        traced.trace(engine, ["--worker", worker, *graph, *TINY, "--requests", "2", "--tokens", "9"])
        counts.append((traced.counts[draft_forward], traced.counts[draft_forward._replace(qualname=f"{owner}.draft")]))
    (replayed, cycles), (eager, eager_cycles) = counts
    assert (replayed, eager) == (0, eager_cycles)
    assert cycles == eager_cycles > 0
