"""Starts and stops: what is missing, what is skipped, and clocks that do not go together."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.checks.base import ERROR, NOTE, WARNING, Check, example
from timing_audit.model.checks import CheckPage
from timing_audit.model.evidence import Evidence
from timing_audit.model.report import Finding, Report

HOT = ("decode", "prefill")


def _unpaired(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for loose in evidence.loose:
        if loose.kind != "exit":
            severity = WARNING if loose.spot.phase in HOT else NOTE
            yield check.at(loose.spot, loose.detail, severity=severity)


def _skipped(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for loose in evidence.loose:
        if loose.kind == "exit":
            raises = loose.detail.startswith("raise")
            yield check.at(
                loose.spot, loose.detail, severity=NOTE if raises or loose.spot.phase not in HOT else WARNING
            )


def _mixed(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for mixed in evidence.mixed:
        spot = mixed.spot
        yield check.at(
            spot._replace(line=spot.end_line),
            f"the instant of line {spot.end_line} is of the {mixed.end_family} clock and the one of line {spot.line} "
            f"of the {mixed.start_family} clock: their difference means nothing",
        )


def _steps(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for interval in evidence.intervals:
        yield check.at(
            interval.spot,
            f"this interval is measured with {interval.clock}, which steps when the time of day is set",
            severity=WARNING if interval.spot.phase in HOT else NOTE,
        )


UNPAIRED_CLOCK_READ = Check(
    CheckPage(
        "unpaired-clock-read",
        "A start that nothing ends, or an end that nothing started.",
        "The code reads as if it measured something, and no figure comes of it.",
        WARNING,
        "end it, or take it out",
        (
            example(
                "a range that is not ended",
                """
import time

class RoundTrip:
    def on_abort(self, batch):
        self._aborted = time.perf_counter()  # finds: unpaired-clock-read
        self.engine.drop(batch)
""",
            ),
        ),
        (
            example(
                "started in one method, ended in another",
                """
import time

class RoundTrip:
    def on_launch(self, batch):
        self._launched = time.perf_counter()
        self.engine.launch(batch)

    def on_result(self, batch):
        self.engine.wait(batch)
        self.log(time.perf_counter() - self._launched)
""",
            ),
            example(
                "a deadline and a time stamp",
                """
import time

def serve(queue, budget):
    deadline = time.monotonic() + budget
    rows = []
    while time.monotonic() < deadline:
        rows.append({"at": time.time(), "item": queue.get()})
    return rows
""",
            ),
        ),
    ),
    _unpaired,
)

BRACKET_SKIPPED_BY_EXIT = Check(
    CheckPage(
        "bracket-skipped-by-exit",
        "An exit between a start and its end.",
        "What leaves early is not counted, so the figures hold the other cases only; a range on a stack stays open and "
        "takes in all that follows.",
        WARNING,
        "end it in `finally`, or use a `with` statement",
        (
            example(
                "an early return",
                """
import time

def verify(worker, batch, log):
    start = time.perf_counter()
    if batch.empty:
        return None  # finds: bracket-skipped-by-exit
    out = worker.target(batch)
    log(time.perf_counter() - start)
    return out
""",
            ),
        ),
        (
            example(
                "ended whatever happens",
                """
import time

def verify(worker, batch, log):
    start = time.perf_counter()
    try:
        if batch.empty:
            return None
        return worker.target(batch)
    finally:
        log(time.perf_counter() - start)
""",
            ),
        ),
    ),
    _skipped,
)

MIXED_CLOCKS = Check(
    CheckPage(
        "mixed-clocks",
        "The difference of two clocks that have nothing to do with each other.",
        "Each clock counts from a zero of its own. The difference is a number and no duration.",
        ERROR,
        "read both instants from the same clock",
        (
            example(
                "a wall clock from a counter",
                """
import time

def queued(request):
    received = time.time()
    request.wait()
    return time.perf_counter() - received  # finds: mixed-clocks
""",
            ),
        ),
        (
            example(
                "one clock",
                """
import time

def queued(request):
    received = time.monotonic()
    request.wait()
    return time.monotonic() - received
""",
            ),
        ),
    ),
    _mixed,
)

WALL_CLOCK_INTERVAL = Check(
    CheckPage(
        "wall-clock-interval",
        "An interval on a clock that can step.",
        "The time of day is set by hand and by the network. An interval across such a step is wrong by any amount, and "
        "may be negative.",
        WARNING,
        "use time.perf_counter()",
        (
            example(
                "time.time()",
                """
import time

def step(worker):
    start = time.time()  # finds: wall-clock-interval
    worker.step()
    return time.time() - start
""",
            ),
        ),
        (
            example(
                "a counter",
                """
import time

def step(worker):
    start = time.perf_counter()
    worker.step()
    return time.perf_counter() - start
""",
            ),
            example(
                "a time stamp",
                """
import time

def stamp(row):
    row.at = time.time()
""",
            ),
        ),
    ),
    _steps,
)

CHECKS = (UNPAIRED_CLOCK_READ, BRACKET_SKIPPED_BY_EXIT, MIXED_CLOCKS, WALL_CLOCK_INTERVAL)
