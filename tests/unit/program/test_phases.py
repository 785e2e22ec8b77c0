"""Which phases reach a function, over small programs.

The programs lie in tests/callgraph/phases.toml; a comment at each `def` names the phases in which it runs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tracing import shapes, trace_program
from timing_audit.program.hotpath import HotPath

FOLDER = Path(__file__).resolve().parents[2] / "callgraph"
DEFINITION = re.compile(r"def (\w+)\(.*\):  # (both|decode|prefill|never)$")
PHASES = {"both": ["decode", "prefill"], "decode": ["decode"], "prefill": ["prefill"], "never": []}


def phases_of(path: HotPath, name: str) -> list[str]:
    """The phases in which a function of the program, not of the shared file, was reached."""
    states = [s for s in path.steps if s.frame.path == "main.py" and s.frame.function is not None]
    return sorted(
        {s.phase.name for s in states if s.frame.function and s.frame.function.qualname.split(".")[-1] == name}
    )


@pytest.mark.parametrize("code", shapes(FOLDER, only=("phases",)))
def test_functions_run_in_these_phases(code: str) -> None:
    program = code.partition("# --- file: modes.py")[0]
    defined = [line.strip() for line in program.splitlines() if line.strip().startswith("def ")]
    marked = [DEFINITION.match(line) for line in defined]
    assert all(marked), "every def says its phases"
    path = trace_program(code, "main")
    expected = {mark[1]: PHASES[mark[2]] for mark in marked if mark is not None}
    assert {name: phases_of(path, name) for name in expected} == expected
