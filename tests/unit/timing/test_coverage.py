"""Coverage of small workers, whose truth one sees."""

from __future__ import annotations

from functools import cache
from textwrap import dedent

from timing_audit.examples import example_tree
from timing_audit.model.pack import Packs
from timing_audit.model.report import FunctionFact, Report, Row, StageRow
from timing_audit.packs.load import load_packs
from timing_audit.pipeline import audit

HEAD = """\
import time
import torch
from torch.profiler import record_function

"""
DRAFT = """
    def draft(self, batch):
        return self.look_up(batch)

    def look_up(self, batch):
        return batch.guess()

    def verify(self, batch):
        return batch.check()
"""


@cache
def packs() -> Packs:
    return load_packs()


def scan(body: str, rest: str = DRAFT) -> Report:
    """A worker whose forward_batch_generation has this body."""
    inner = "".join(f"        {line}\n" if line else "\n" for line in dedent(body).strip("\n").split("\n"))
    method = f"    def forward_batch_generation(self, batch):\n{inner}"
    return audit(example_tree(f"{HEAD}class EAGLEWorker:\n{method}{rest}"), packs())


def decode(report: Report) -> Row:
    return next(row for row in report.summary.rows if row.phase == "decode")


def stage(report: Report, name: str) -> StageRow:
    return next(stage for stage in decode(report).stages if stage.stage == name)


def function(report: Report, name: str) -> FunctionFact:
    return next(fact for fact in report.functions if fact.qualname == f"EAGLEWorker.{name}")


def test_no_bracket_no_coverage() -> None:
    report = scan("self.draft(batch)\nself.verify(batch)")
    assert [(row.stage, row.calls, any(row.timed)) for row in decode(report).stages] == [
        ("draft", 1, False), ("verify", 1, False),
    ]  # fmt: skip
    assert decode(report).tallies.host.untimed == decode(report).functions == 4


def test_a_span_around_the_call_times_the_stage_and_all_that_it_calls() -> None:
    report = scan("""
        with record_function("draft"):
            self.draft(batch)
        self.verify(batch)
    """)
    assert stage(report, "draft").timed == (False, False, True)
    assert stage(report, "verify").timed == (False, False, False)
    assert [function(report, name).clocks.trace for name in ("draft", "look_up", "verify")] == [
        "outside", "outside", "untimed",
    ]  # fmt: skip
    assert function(report, "forward_batch_generation").clocks.trace == "partial"
    assert function(report, "draft").coverage == "untimed", "a profiler's range is neither host nor device"


def test_a_pair_of_clock_reads_is_a_host_timer() -> None:
    report = scan("""
        start = time.perf_counter()
        self.draft(batch)
        took = time.perf_counter() - start
        self.verify(batch)
        return took
    """)
    assert stage(report, "draft").timed == (True, False, False)
    assert [(timer.start_line, timer.end_line) for timer in stage(report, "draft").timers] == [(7, 9)]
    assert function(report, "look_up").coverage == "outside"


def test_a_stage_is_timed_only_where_every_call_that_enters_it_is() -> None:
    report = scan("""
        if batch.small:
            with record_function("draft"):
                self.draft(batch)
        else:
            self.draft(batch)
    """)
    row = stage(report, "draft")
    assert (row.calls, row.timed_calls.trace, row.timed.trace) == (2, 1, False)
    assert function(report, "draft").clocks.trace == "untimed"


def test_a_bracket_around_two_stages_is_the_cycles_and_times_neither() -> None:
    report = scan("""
        with record_function("all"):
            self.draft(batch)
            self.verify(batch)
    """)
    assert not any(any(row.timed) for row in decode(report).stages)
    assert [timer.label for timer in decode(report).cycle] == ["all"]
    assert decode(report).tallies.trace.untimed == decode(report).functions
    assert [bracket.is_cycle for bracket in report.brackets] == [True]


def test_brackets_inside_the_cycles_still_count() -> None:
    report = scan("""
        with record_function("all"):
            with record_function("draft"):
                self.draft(batch)
            self.verify(batch)
    """)
    assert stage(report, "draft").timed.trace
    assert not stage(report, "verify").timed.trace
    assert [timer.label for timer in decode(report).cycle] == ["all"]


def test_the_entry_functions_whole_body_times_the_stage() -> None:
    inner = """
    def draft(self, batch):
        with record_function("draft"):
            self.prepare(batch)
            self.look_up(batch)

    def prepare(self, batch):
        batch.sort()

    def look_up(self, batch):
        batch.guess()
"""
    report = scan("self.draft(batch)", inner)
    assert stage(report, "draft").timed.trace
    assert function(report, "draft").clocks.trace == "direct"
    part = scan("self.draft(batch)", inner.replace("            self.look_up", "        self.look_up"))
    assert not stage(part, "draft").timed.trace
    assert [timer.label for timer in stage(part, "draft").inside] == ["draft"]
    assert function(part, "draft").clocks.trace == "partial"
    assert function(part, "look_up").clocks.trace == "untimed"


def test_a_bracket_further_up_the_chain_times_a_stage_that_is_alone_in_it() -> None:
    inner = (
        """
    def step(self, batch):
        batch.count()
        return self.draft(batch)
"""
        + DRAFT
    )
    report = scan('with record_function("step"):\n    self.step(batch)\nself.verify(batch)', inner)
    assert stage(report, "draft").timed.trace
    assert not stage(report, "verify").timed.trace


def test_a_wrappers_own_body_covers_nothing() -> None:
    inner = (
        """
    def timed(self):
        return record_function("x")
"""
        + DRAFT
    )
    report = scan("with self.timed():\n    self.draft(batch)\nself.verify(batch)", inner)
    assert stage(report, "draft").timed.trace
    assert function(report, "timed").reason == "it is part of a timer"
    assert {site.phase for site in report.sites if site.function == "EAGLEWorker.timed"} <= {"other"}
    assert [bracket.function for bracket in report.brackets] == ["EAGLEWorker.forward_batch_generation"]


def test_recursion_does_not_time_itself() -> None:
    inner = """
    def draft(self, batch):
        if batch:
            self.draft(batch[1:])
"""
    report = scan("self.draft(batch)", inner)
    assert function(report, "draft").clocks == ("untimed", "untimed", "untimed")


def test_regions_split_where_stage_or_timer_changes() -> None:
    report = scan("""
        batch.sort()
        with record_function("draft"):
            self.draft(batch)
        self.verify(batch)
    """)
    inside = [r for r in report.regions if r.function == "EAGLEWorker.forward_batch_generation"]
    assert [(r.start_line, r.stage, r.timed.trace) for r in inside] == [
        (7, None, False), (9, "draft", True), (10, "verify", False),
    ]  # fmt: skip
