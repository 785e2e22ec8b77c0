"""The hot path cases of tests/data/cases.jsonl; what each of them expects stands there in prose."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from tests.tracing import Program, engine, explorer, split_files, trace_program
from timing_audit.program.hotpath import HotPath
from timing_audit.program.library import Library

CASES = Path(__file__).resolve().parents[2] / "data" / "cases.jsonl"
ENTRY = "*forward_batch_generation"


@cache
def inputs() -> dict[str, str]:
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row["input"] for row in rows if row["area"] == "hotpath"}


def hot(path: HotPath) -> set[tuple[str, int]]:
    """The hot functions by qualname and line; no case has one name in two files."""
    functions = [state.frame.function for state in path.steps]
    return {(function.qualname, function.line) for function in functions if function is not None}


def hot_of(case: str) -> set[tuple[str, int]]:
    return hot(trace_program(inputs()[case], ENTRY))


def test_every_hot_path_case_has_a_test() -> None:
    named = {name.removeprefix("test_").replace("_", "-") for name in globals() if name.startswith("test_hotpath_")}
    assert named == set(inputs())


def test_hotpath_init_time_timers_do_not_count() -> None:
    assert hot_of("hotpath-init-time-timers-do-not-count") == {
        ("SpecWorker.forward_batch_generation", 14),
        ("SpecWorker._run", 17),
    }


def test_hotpath_attribute_type() -> None:
    assert hot_of("hotpath-attribute-type") == {("Worker.forward_batch_generation", 16), ("TreeDrafter.propose", 2)}


def test_hotpath_inherited_entry_and_super() -> None:
    assert hot_of("hotpath-inherited-entry-and-super") == {
        ("BaseWorker.forward_batch_generation", 2),
        ("BaseWorker.draft", 5),
        ("BaseWorker.finish", 8),
        ("ChainWorker.draft", 13),
        ("ChainWorker.prep", 16),
    }


def test_hotpath_through_properties() -> None:
    assert hot_of("hotpath-through-properties") == {
        ("Outer.forward_batch_generation", 21),
        ("Outer.ready", 15),
        ("Outer.inner", 11),
        ("Outer._check", 18),
        ("Draft.extend", 2),
    }


def test_hotpath_across_modules() -> None:
    text = inputs()["hotpath-across-modules"]
    assert hot(trace_program(text, ENTRY)) == {
        ("W.forward_batch_generation", 11),
        ("build", 1),
        ("commit", 1),
        ("_write", 5),
    }
    assert sorted(split_files(text)) == [
        "pkg/__init__.py", "pkg/ghost.py", "pkg/helpers.py", "pkg/kernels.py", "pkg/worker.py",
    ]  # fmt: skip


def test_hotpath_dynamic_call_is_unresolved() -> None:
    """The candidates by prefix may be offered elsewhere; here nothing is taken for resolved."""
    graph = explorer(Program(split_files(inputs()["hotpath-dynamic-call-is-unresolved"])), lambda data: True)
    path = graph.trace(graph.entry_states((ENTRY,)))
    assert hot(path) == {("W.forward_batch_generation", 2)}
    assert [edge for state in path.steps for edge in graph.edges(state.frame, state.phase)] == []


def test_a_file_that_is_not_python_is_a_problem_and_no_obstacle() -> None:
    files = {
        "broken.py": "def f(:\n",
        "main.py": "import broken\n\ndef main():\n    broken.f()\n    g()\n\ndef g():\n    pass\n",
    }
    graph = explorer(Program(files), lambda data: True)
    assert hot(graph.trace(graph.entry_states(("main",)))) == {("main", 3), ("g", 7)}
    assert [(problem.file, "line 1" in problem.reason) for problem in graph.library.problems] == [("broken.py", True)]


@pytest.mark.parametrize(("glob", "expected"), [("main", {("main", 1)}), ("Nobody.main", set())])
def test_entries_are_what_the_globs_name(glob: str, expected: set[tuple[str, int]]) -> None:
    assert hot(trace_program("def main():\n    pass\n", glob)) == expected


def test_a_module_is_parsed_once_and_only_when_a_path_leads_there() -> None:
    files = {
        "main.py": "import near\n\ndef main():\n    near.f()\n",
        "near.py": "def f():\n    pass\n",
        "far.py": "x = 1\n",
    }
    graph = explorer(Program(files), lambda data: b"def main" in data)
    graph.trace(graph.entry_states(("main",)))
    assert [unit.path for unit in graph.library.units] == ["main.py", "near.py"]
    library = Library(Program(files), engine().leaves)
    assert library.unit("near.py") is library.named("near")
