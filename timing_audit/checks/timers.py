"""Timers that say less than they seem to: never called, silent, around a launch, beside a replay."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.checks.base import HIGH, LOW, MEDIUM, NOTE, WARNING, Check, example
from timing_audit.model.checks import CheckPage
from timing_audit.model.evidence import Evidence
from timing_audit.model.report import Finding, Report

HOT = ("decode", "prefill")
SILENT = {
    "compiled": "a compiler takes this code over, and the timer with it",
    "recorded": "it stands between the start and the end of a recording, and the recorded graph does not hold it",
    "captured": "with graphs on, a replay stands in for every hot call of this code, and its Python does not run",
}


def _never_called(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for unused in evidence.unused:
        where = "the target" if unused.whole else "this part of the package"
        yield check.at(
            unused.spot,
            f"nothing in {where} mentions {unused.name}, a timing helper ({unused.form})",
            severity=WARNING if unused.whole else NOTE,
            confidence=HIGH if unused.whole else LOW,
        )


def _replays(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for replay in evidence.replays:
        siblings = ", ".join(replay.covered)
        yield check.at(
            replay.spot,
            f"no device timer covers the graph replay behind {replay.text}; one covers its siblings, at {siblings}",
            confidence=HIGH if replay.shared else MEDIUM,
        )


def _silent(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for silent in evidence.silent:
        sure = HIGH if silent.why != "captured" else MEDIUM
        yield check.at(silent.spot, f"this {silent.clock} timer is silent: {SILENT[silent.why]}", confidence=sure)


def _launches(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for launch in evidence.launches:
        place = f"line {launch.work_line}"
        yield check.at(
            launch.spot,
            f"this host clock times the launch of {launch.work} ({place}) and not its work: nothing between its "
            "ends waits for the device",
            severity=WARNING if launch.spot.phase in HOT else NOTE,
            confidence=MEDIUM if launch.named else HIGH,
        )


TIMER_NEVER_CALLED = Check(
    CheckPage(
        "timer-never-called",
        "A timing helper or setter that nothing calls.",
        "It looks as if something were measured with it. Nobody calls it: what it is named for is not measured.",
        WARNING,
        "use it around what it is named for, or delete it",
        (
            example(
                "a pair that is left over",
                """
import time

totals = {}

def mark_start(name):  # finds: timer-never-called
    totals[name] -= time.perf_counter()

def mark_end(name):  # finds: timer-never-called
    totals[name] += time.perf_counter()
""",
            ),
        ),
        (
            example(
                "a pair in use",
                """
import time

totals = {}

def mark_start(name):
    totals[name] -= time.perf_counter()

def mark_end(name):
    totals[name] += time.perf_counter()

def step(worker):
    mark_start("draft")
    worker.draft()
    mark_end("draft")
""",
            ),
        ),
    ),
    _never_called,
)

REPLAY_WITHOUT_TIMER = Check(
    CheckPage(
        "replay-without-timer",
        "A graph replay without a device timer, where others like it have one.",
        "A replay is one call for the host and the whole stage for the device. Where siblings are timed, the figures "
        "look complete, and this one is missing from them.",
        WARNING,
        "wrap it in the device timer that its siblings have",
        (
            example(
                "two runners, one timer",
                """
import torch

class DraftRunner:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()

    def step(self, log):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        log(start.elapsed_time(end))

class ExtendRunner:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        self.graph.replay()  # finds: replay-without-timer
""",
            ),
        ),
        (
            example(
                "no replay is timed: that is a gap, and no sibling's",
                """
import torch

class DraftRunner:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()

    def step(self):
        self.graph.replay()
""",
            ),
        ),
    ),
    _replays,
)

SILENT_UNDER_CAPTURE = Check(
    CheckPage(
        "silent-under-capture",
        "A timer inside code that is captured into a graph, or compiled.",
        "The Python of captured code runs once, while the graph is recorded. Its timer gives one sample then, and none "
        "in any cycle that replays the graph.",
        WARNING,
        "put the timer around the replay",
        (
            example(
                "inside a recording",
                """
import time
import torch

def capture(model, ids):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        start = time.perf_counter()  # finds: silent-under-capture
        out = model(ids)
        spent = time.perf_counter() - start
    return graph, out, spent
""",
            ),
            example(
                "in compiled code",
                """
import time
import torch

@torch.compile
def select(scores, k):
    start = time.perf_counter()  # finds: silent-under-capture
    best = scores.topk(k)
    return best, time.perf_counter() - start
""",
            ),
        ),
        (
            example(
                "around the recording",
                """
import time
import torch

def capture(model, ids):
    graph = torch.cuda.CUDAGraph()
    start = time.perf_counter()
    with torch.cuda.graph(graph):
        model(ids)
    torch.cuda.synchronize()
    return graph, time.perf_counter() - start
""",
            ),
        ),
    ),
    _silent,
)

HOST_CLOCK_AROUND_DEVICE_WORK = Check(
    CheckPage(
        "host-clock-around-device-work",
        "A host clock around work on the device, with no wait between its ends.",
        "Calls that run on the device return when the work is enqueued. Between two reads of a host clock with no wait "
        "for the device lies the launch: microseconds, whatever the work takes.",
        WARNING,
        "time it with two device events, or let the host wait for the device before the clock is read",
        (
            example(
                "a timer around a draft",
                """
import time

class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
        return self

    def __exit__(self, *exc):
        self.spent = time.perf_counter() - self.start

def propose(draft_model, ids):
    with Timer() as timer:  # finds: host-clock-around-device-work
        tokens = draft_model(ids)
    return tokens, timer.spent
""",
            ),
            example(
                "a replay",
                """
import time
import torch

graph = torch.cuda.CUDAGraph()

def step(log):
    start = time.perf_counter()  # finds: host-clock-around-device-work
    graph.replay()
    log(time.perf_counter() - start)
""",
            ),
        ),
        (
            example(
                "closed by a wait",
                """
import time
import torch

def verify(model, ids):
    torch.cuda.synchronize()
    start = time.perf_counter()
    logits = model(ids)
    torch.cuda.synchronize()
    return logits, time.perf_counter() - start
""",
            ),
            example(
                "a value is read back",
                """
import time

def accept(model, ids):
    start = time.perf_counter()
    count = model(ids).argmax().item()
    return count, time.perf_counter() - start
""",
            ),
            example(
                "work of the host",
                """
import time

def parse(lines):
    start = time.perf_counter()
    rows = [line.split() for line in lines]
    return rows, time.perf_counter() - start
""",
            ),
        ),
    ),
    _launches,
)

CHECKS = (TIMER_NEVER_CALLED, REPLAY_WITHOUT_TIMER, SILENT_UNDER_CAPTURE, HOST_CLOCK_AROUND_DEVICE_WORK)
