"""The call graph of small programs, edge by edge.

The programs lie in tests/callgraph, one shape each. A comment `# -> target, target (how)` names what the
calls on its line run; the graph that is reached from `main` must hold these edges and no others. A call of a
decorated function is an edge to the function and one to its wrapper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tracing import Program, explorer, shapes, split_files
from timing_audit.program.hotpath import Explorer

FOLDER = Path(__file__).resolve().parents[2] / "callgraph"
EXPECTED = re.compile(r"#\s*->\s*(.+?)\s*$")
TARGET = re.compile(r"([\w./:]+)(?:\s+\((.+)\))?")


class Arrow(NamedTuple):
    """What a line runs; `how` is empty where the program does not say."""

    file: str
    line: int
    target: str
    how: str


def wanted(files: dict[str, str]) -> Iterator[Arrow]:
    for file, text in files.items():
        for line, written in enumerate(text.splitlines(), 1):
            comment = EXPECTED.search(written)
            for part in comment[1].split(", ") if comment is not None else ():
                target = TARGET.fullmatch(part)
                assert target is not None, f"{file}:{line}: cannot read {part!r}"
                yield Arrow(file, line, target[1], target[2] or "")


def found(graph: Explorer) -> Iterator[Arrow]:
    """The edges that are followed."""
    path = graph.trace(graph.entry_states(("main",)))
    bodies = {state.frame for state in path.steps}
    for state in path.steps:
        for edge in graph.edges(state.frame, state.phase):
            function = edge.target.function
            if function is not None and edge.target in bodies:
                yield Arrow(state.frame.path, edge.line, f"{function.path}:{function.qualname}", edge.how)


def fitted(arrows: set[Arrow], model: set[Arrow]) -> set[Arrow]:
    """The found edges as the program writes them: without the file and the means where it leaves them out."""
    with_file = {arrow.target for arrow in model if ":" in arrow.target}
    told = {arrow._replace(how="") for arrow in model if arrow.how}
    fit = set()
    for arrow in arrows:
        short = arrow if arrow.target in with_file else arrow._replace(target=arrow.target.partition(":")[2])
        bare = short._replace(how="")
        fit.add(short if bare in told else bare)
    return fit


@pytest.mark.parametrize("code", shapes(FOLDER, but=("phases",)))
def test_a_program_has_these_edges_and_no_others(code: str) -> None:
    files = split_files(code)
    expected = set(wanted(files))
    graph = explorer(Program(files), lambda data: True)
    assert sorted(fitted(set(found(graph)), expected)) == sorted(expected)
