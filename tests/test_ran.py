"""The hot path against what really ran: function entries recorded while an engine served.

The recordings are not part of the repository: `TIMING_AUDIT_TRUTH` names the folder that holds them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tracing import room_to_recurse, trace_release
from timing_audit.source.target import open_target

VERSION = "0.5.15"
RECALL = 0.97
TRUTH = os.environ.get("TIMING_AUDIT_TRUTH", "")
# Behind the hot path's boundary, and what wraps functions at run time.
BEHIND = ("layers/", "models/", "hardware_backend/", "plugins/hook_registry.py")
# The files that one EAGLE cycle passes through: the recordings show all of their hot functions that this
# configuration has, so what else we say of them can be looked at.
CYCLE = ("speculative/eagle_", "speculative/base_spec_worker.py", "managers/scheduler.py", "managers/tp_worker.py")


class Ran(NamedTuple):
    """A function by file and qualname, `<locals>` removed."""

    file: str
    qualname: str


@cache
def recordings() -> tuple[Path, ...]:
    folder = Path(TRUTH) / VERSION / "ran"
    return tuple(sorted(folder.glob("*.json"))) if TRUTH else ()


def ran_in_decode(recording: Path) -> set[Ran]:
    """The functions that ran at least every other decode cycle."""
    data = json.loads(recording.read_text())
    rows = [row for phase in ("decode", "loop") for row in data[phase]]
    return {
        Ran(file, plain(qualname)) for file, qualname, _, count in rows
        if count >= data["decode_cycles"] / 2 and is_in_scope(file) and is_function(qualname)
    }  # fmt: skip


def plain(qualname: str) -> str:
    return qualname.replace(".<locals>", "")


def is_in_scope(file: str) -> bool:
    inside = file.removeprefix("sglang/srt/")
    return inside != file and not inside.startswith(BEHIND)


def is_function(qualname: str) -> bool:
    """Whether a row is of a `def`: modules, lambdas, comprehensions and class bodies run too."""
    last = qualname.rpartition(".")[2]
    return not last.startswith("<") and not (last[:1].isupper() and "_" not in last)


def listed(title: str, functions: Iterable[Ran]) -> str:
    return "\n".join([title, *(f"  {file}: {qualname}" for file, qualname in sorted(functions))])


@pytest.mark.long
@pytest.mark.network
@pytest.mark.skipif(not recordings(), reason="TIMING_AUDIT_TRUTH names no folder with recordings")
def test_what_ran_in_every_decode_cycle_is_said_to_be_hot(release: Callable[[str], Path]) -> None:
    with room_to_recurse():
        path = trace_release(open_target(str(release(VERSION))))
    hot = {
        Ran(state.frame.path, state.frame.function.qualname)
        for state in path.steps
        if state.frame.function is not None and state.phase.name == "decode"
    }
    ran = set[Ran]().union(*map(ran_in_decode, recordings()))
    missed, found = ran - hot, ran & hot
    of_cycle = {function for function in hot if function.file.removeprefix("sglang/srt/").startswith(CYCLE)}
    print(listed(f"missed {len(missed)} of {len(ran)}, recall {len(found) / len(ran):.3f}", missed))  # noqa: T201 the figures are what one runs this test for
    print(listed(f"in the cycle's files {len(of_cycle & ran)} of {len(of_cycle)} ran; the rest:", of_cycle - ran))  # noqa: T201 the figures are what one runs this test for
    assert len(found) / len(ran) >= RECALL, listed("missed:", missed)
