"""Where calls lead, line by line: comments of the programs say `resolved`, `external` or `frontier: reason`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.tracing import Program, explorer, split_files
from timing_audit.program.frontier import Frontier
from timing_audit.program.walk import Walker

TOLD = re.compile(r"# (resolved|external|frontier)(?:: (.+))?$")

INSIDE = """
import functools

from sglang.srt.layers.attention import Backend

class Plain:
    pass

class Job:
    def run(self):
        return 1

class Callable:
    def __call__(self):
        return 1

def helper():
    return 1

def main():
    helper()  # resolved
    Plain()  # resolved
    Job().run()  # resolved
    Callable()()  # resolved
    (lambda: 1)()  # resolved
    later = functools.partial(helper)  # external
    later()  # resolved
    Backend()  # resolved

# --- file: sglang/srt/layers/attention.py
class Backend:
    pass
"""

OUTSIDE = """
import json
import torch
from torch import nn

class Net(nn.Module):
    pass

class Pop:
    def clone(self):
        return 1

    def append(self, item):
        return 1

    def encode(self):
        return 1

def main(unknown):
    len([])  # external
    json.dumps({})  # external
    torch.zeros(1).clone()  # external
    names = []
    names.append(1)  # external
    "text".encode()  # external
    {}.items()  # external
    Net().clone()  # external
    unknown.has_no_definition_anywhere()  # external
    (unknown == 1).clone()  # external
    Pop.__new__(Pop)  # external
    torch.add(1, 2, out=unknown)  # external
"""

UNKNOWN = """
from abc import ABC
from typing import NamedTuple

class Base(ABC):
    pass

class Pair(NamedTuple):
    left: int

class Other:
    def run(self):
        return 1

class Holder:
    def __init__(self, unheard_of):
        self.job = None
        self.hook = None
        self.given = unheard_of

    def main(self, given, fn, jobs):
        self.job.run()  # frontier: the receiver `self.job` is only ever None
        self.hook()  # frontier: `self.hook` is only ever None
        self.given()  # frontier: `given` of Holder is unknown
        self.lost.run()  # frontier: the receiver `self.lost` is unknown
        given.run()  # frontier: the receiver `given` is unknown
        fn()  # frontier: nothing is passed as `fn`
        jobs[0]()  # frontier: `jobs[0]` is unknown
        Base().run()  # frontier: `run` of Base is unknown
        Pair(1).run()  # frontier: `run` of Pair is unknown
        missing = None
        missing()  # frontier: `missing` is only ever None
"""


def judged(text: str) -> Iterator[tuple[str, int, str, str]]:
    graph = explorer(Program(split_files(text)), lambda data: b"def main" in data)
    path = graph.trace(graph.entry_states(("main",)))
    frontier = Frontier(graph.evaluator, graph.engine)
    for state in path.steps:
        assert state.frame.function is not None
        walker = Walker(graph.evaluator, graph.phases, graph.engine, state.frame, state.phase)
        walker.run(graph.library.body(state.frame.function))
        for call in walker.calls:
            yield (state.frame.path, call.line, *frontier.judge(state.frame, call))


@pytest.mark.parametrize("text", [INSIDE, OUTSIDE, UNKNOWN], ids=["inside", "outside", "unknown"])
def test_a_call_leads_where_its_line_says(text: str) -> None:
    told = {
        (file, line): (match[1], match[2] or "")
        for file, source in split_files(text).items()
        for line, written in enumerate(source.splitlines(), 1)
        if (match := TOLD.search(written)) is not None
    }
    last = {(file, line): (kind, reason) for file, line, kind, reason in judged(text)}

    assert {place: last[place] for place in told} == told


def test_a_name_that_an_unread_file_defines_may_be_meant() -> None:
    text = "def main(unknown):\n    unknown.step()\n"
    behind = "# --- file: sglang/srt/layers/x.py\ndef step(): pass\n"
    unread = "# --- file: other.py\ndef step(): pass\n"

    assert [kind for *_, kind, _ in set(judged(text))] == ["external"]
    assert [kind for *_, kind, _ in set(judged(text + behind))] == ["external"]
    assert [kind for *_, kind, _ in set(judged(text + unread))] == ["frontier"]


def test_a_mixin_is_no_entry_point_where_something_inherits_it() -> None:
    text = """
class LoopMixin:
    def event_loop(self):
        self.work()

class Scheduler(LoopMixin):
    def __init__(self):
        self.size = 1

    def work(self):
        return self.size
"""
    graph = explorer(Program(split_files(text)), lambda data: True)

    roots = graph.entry_states(("event_loop",))

    assert {state.frame.receiver.qualname for state in roots if state.frame.receiver is not None} == {"Scheduler"}
