"""Device events that cannot give a time, and waits for the device on the hot path."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.checks.base import ERROR, HIGH, MEDIUM, NOTE, WARNING, Check, example
from timing_audit.model.checks import CheckPage
from timing_audit.model.evidence import Evidence
from timing_audit.model.report import Finding, Report


def _untimed(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for fault in evidence.events:
        if fault.kind == "untimed":
            yield check.at(fault.spot, f"the {fault.detail} event was made without timing: reading it raises")


def _unready(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for fault in evidence.events:
        if fault.kind == "unready":
            yield check.at(
                fault.spot,
                f"nothing waits for the end event, recorded on {fault.detail}, before it is read: reading it raises "
                "while the device still works",
                confidence=MEDIUM,
            )


def _streams(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for fault in evidence.events:
        if fault.kind == "streams":
            yield check.at(
                fault.spot,
                f"the two events are recorded on different streams ({fault.detail}): the time between them is that of "
                "neither",
                confidence=MEDIUM,
            )


def _syncs(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for sync in evidence.syncs:
        place = (sync.spot.file, sync.timer_line)
        if sync.timer_line and place in told:
            continue
        told.add(place)
        if sync.timer_line:
            message = f"the timer of line {sync.timer_line} makes the host wait for the device"
        elif sync.target == "event":
            message = "the host waits for an event on the hot path"
        else:
            message = "the host waits for the device on the hot path, and no timer needs it"
        free = not sync.timer_line and sync.target == "device"
        # Outside the stages the way to it may be a rare one.
        sure = HIGH if sync.timer_line or sync.spot.stage else MEDIUM
        yield check.at(sync.spot, message, severity=WARNING if free else NOTE, confidence=sure)


EVENT_WITHOUT_TIMING = Check(
    CheckPage(
        "event-without-timing",
        "The time between events that were made without timing.",
        "An event is for ordering unless it is made with enable_timing=True; elapsed_time() on such a one raises.",
        ERROR,
        "make both events with enable_timing=True",
        (
            example(
                "two plain events",
                """
import torch

def step(graph):
    start, end = torch.cuda.Event(), torch.cuda.Event()
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)  # finds: event-without-timing
""",
            ),
        ),
        (
            example(
                "events that time",
                """
import torch

def step(graph):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)
""",
            ),
        ),
    ),
    _untimed,
)

EVENT_READ_BEFORE_READY = Check(
    CheckPage(
        "event-read-before-ready",
        "Events that are read before the device has reached them.",
        "A record only enqueues. Reading the pair at once raises, or works by luck on a short region.",
        WARNING,
        "synchronize with the end event first, or keep the pair and ask `query()` in a later cycle",
        (
            example(
                "read at once",
                """
import torch

def step(graph):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    return start.elapsed_time(end)  # finds: event-read-before-ready
""",
            ),
        ),
        (
            example(
                "asked first",
                """
import torch

def step(graph):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    if end.query():
        return start.elapsed_time(end)
    return None
""",
            ),
        ),
    ),
    _unready,
)

BRACKET_ACROSS_STREAMS = Check(
    CheckPage(
        "bracket-across-streams",
        "A pair of events on two streams.",
        "Streams run beside each other. The time from an event on one to an event on another holds whatever order "
        "they happened to run in.",
        WARNING,
        "record both events on the stream that does the work",
        (
            example(
                "the end on a side stream",
                """
import torch

def copy(source, target, side):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    target.copy_(source)
    end.record(side)
    end.synchronize()
    return start.elapsed_time(end)  # finds: bracket-across-streams
""",
            ),
        ),
        (
            example(
                "both on the side stream",
                """
import torch

def copy(source, target, side):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(side):
        start.record()
        target.copy_(source)
        end.record()
    end.synchronize()
    return start.elapsed_time(end)
""",
            ),
        ),
    ),
    _streams,
)

SYNC_ON_HOT_PATH = Check(
    CheckPage(
        "sync-on-hot-path",
        "The host waits for the device in the cycle.",
        "While the host waits it launches nothing, and the device runs dry behind it. A timer that waits changes what "
        "it measures; that is told once for each such timer, as a note, and so is a wait for an event.",
        WARNING,
        "wait for an event that is needed, later, or measure with device events",
        (
            example(
                "a wait left behind",
                """
import torch

def verify(model, ids):
    logits = model(ids)
    torch.cuda.synchronize()  # finds: sync-on-hot-path
    return logits
""",
            ),
        ),
        (
            example(
                "one stream waits for another",
                """
import torch

side = torch.cuda.Stream()

def plan(batch):
    side.wait_stream(torch.cuda.current_stream())
    return batch
""",
            ),
        ),
    ),
    _syncs,
)

CHECKS = (EVENT_WITHOUT_TIMING, EVENT_READ_BEFORE_READY, BRACKET_ACROSS_STREAMS, SYNC_ON_HOT_PATH)
