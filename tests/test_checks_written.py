"""Timers as people write them, and what the checks say beside the coverage gaps."""

from __future__ import annotations

import pytest

from tests.checking import faults

TIMER_CLASS_THAT_WAITS = """
import time, torch

class Timer:
    def __enter__(self):
        torch.cuda.synchronize()
        self.start = time.perf_counter()
    def __exit__(self, *exc):
        torch.cuda.synchronize()
        self.spent = time.perf_counter() - self.start

def step(model, ids):
    with Timer():
        return model(ids)
"""

START_AND_STOP_METHODS = """
import time

class Timer:
    def start(self):
        self.begun = time.perf_counter()
    def stop(self):
        self.spent = time.perf_counter() - self.begun

def step(model, ids):
    timer = Timer()
    timer.start()
    out = model(ids)
    timer.stop()
    return out
"""

WAIT_IN_A_CALLEE = """
import time

class Worker:
    def accept(self, ids):
        return self.model(ids).argmax().item()
    def step(self, ids, log):
        start = time.perf_counter()
        self.accept(ids)
        log(time.perf_counter() - start)
"""

LAUNCH_IN_A_CALLEE = """
import time

class Worker:
    def draft(self, ids):
        return self.model(ids)
    def step(self, ids, log):
        start = time.perf_counter()
        self.draft(ids)
        log(time.perf_counter() - start)
"""

UNDER_ONE_FLAG = """
import time, torch

def step(model, ids, log, debug):
    if debug:
        torch.cuda.synchronize()
        start = time.perf_counter()
    out = model(ids)
    if debug:
        torch.cuda.synchronize()
        log(time.perf_counter() - start)
    return out
"""

COLLECTIVE = """
import time
import torch.distributed as dist

def launched(tensor, log):
    start = time.perf_counter()
    dist.all_reduce(tensor)
    log(time.perf_counter() - start)

def waited(tensor, log):
    start = time.perf_counter()
    dist.all_reduce(tensor, async_op=True).wait()
    log(time.perf_counter() - start)
"""

DECORATED_LAUNCH = """
import functools, time

def timed(function):
    @functools.wraps(function)
    def inner(*args):
        start = time.perf_counter()
        out = function(*args)
        print(time.perf_counter() - start)
        return out
    return inner

@timed
def draft(model, ids):
    return model(ids)
"""

LAPS_AND_DICTS = """
import time

def step(worker, log):
    laps = [time.perf_counter()]
    starts = {}
    for name in ("draft", "verify"):
        starts[name] = time.perf_counter()
        worker.run(name)
        log(name, time.perf_counter() - starts[name])
        laps.append(time.perf_counter())
    return laps
"""

STAMPS = """
import time

def step(batch):
    now = time.perf_counter()
    for request in batch:
        request.entered = now
        request.seen = time.monotonic()
"""

DEADLINE_AND_LEASE = """
import time

class Lease:
    def __init__(self):
        self._last = time.monotonic()
    def renew(self):
        self._last = time.monotonic()
    def holds(self, wait):
        end = time.monotonic() + wait
        return time.monotonic() - self._last < 5 and end - time.monotonic() > 0
"""

OVERWRITTEN = """
import time

def step(worker, log):
    start = time.perf_counter()
    worker.draft()
    start = time.perf_counter()
    worker.verify()
    log(time.perf_counter() - start)
"""

LEFT_LOOP = """
import time

def serve(worker, log):
    while True:
        start = time.perf_counter()
        item = worker.get()
        if item is None:
            break
        worker.run(item)
        log(time.perf_counter() - start)
"""

POPPED_WHATEVER_HAPPENS = """
from torch.cuda import nvtx

def step(worker):
    nvtx.range_push("step")
    try:
        if worker.idle:
            return None
        return worker.run()
    finally:
        nvtx.range_pop()
"""

UNBALANCED = """
from torch.cuda import nvtx

def one(worker):
    nvtx.range_push("a")
    worker.run()
    nvtx.range_pop()
    nvtx.range_pop()

def other(worker):
    nvtx.range_push("a")
    nvtx.range_push("b")
    worker.run()
    nvtx.range_pop()
"""

READ_IN_A_LATER_CYCLE = """
import torch

class Timer:
    def __init__(self):
        self.pending = []
    def around(self, graph):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        self.pending.append((start, end))
    def drain(self, log):
        while self.pending and self.pending[0][1].query():
            start, end = self.pending.pop(0)
            log(start.elapsed_time(end))

def step(graph, log, timer=Timer()):
    timer.around(graph)
    timer.drain(log)
"""

PLAIN_EVENTS_IN_ATTRIBUTES = """
import torch

class Runner:
    def __init__(self):
        self.start = torch.cuda.Event()
        self.end = torch.cuda.Event()
    def step(self, graph):
        self.start.record()
        graph.replay()
        self.end.record()
        self.end.synchronize()
        return self.start.elapsed_time(self.end)
"""

STREAM_ENTERED_HALFWAY = """
import torch

def step(graph, side, log):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(side):
        graph.replay()
        end.record()
    end.synchronize()
    log(start.elapsed_time(end))
"""

RECORDED_EVENTS = """
import torch

def capture(model, ids):
    graph = torch.cuda.CUDAGraph()
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    with torch.cuda.graph(graph):
        start.record()
        out = model(ids)
        end.record()
    return graph, out
"""

WAIT_AFTER_A_FAILURE = """
import torch

def step(model, ids):
    try:
        return model(ids)
    except RuntimeError:
        torch.cuda.synchronize()
        raise
"""

NAMED_IN_PROSE = '''
import time
from contextlib import contextmanager

@contextmanager
def stage(log):
    start = time.perf_counter()
    yield
    log(time.perf_counter() - start)

def step(worker):
    """Not in a stage of its own yet."""
    return worker.run()  # stage(log) would do
'''

CLASS_THAT_NOTHING_NAMES = """
import time

class Stopwatch:
    def start(self):
        self.begun = time.perf_counter()
    def stop(self):
        return time.perf_counter() - self.begun
"""

WRONG_NAMES = """
from torch.profiler import record_function

class Worker:
    def step(self, batch):
        with record_function("verify"):
            tree = self.draft_worker.draft(batch)
        with record_function("draft_extend"):
            return self.draft_worker.draft_extend(tree)
"""

CLOCK_FUNCTION = """
import time, torch

def now():
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()

def step(model, ids, log):
    start = now()
    out = model(ids)
    log(now() - start)
    return out
"""

START_HANDED_ON = """
import time

def since(start):
    return time.perf_counter() - start

def cutoff(age):
    return time.time() - age

def step(model, ids, log):
    start = time.perf_counter()
    out = model(ids)
    log(since(start), cutoff(30))
    return out
"""

FUNCTIONS_THAT_WAIT = """
import time, torch

totals = {}

def begin(name):
    torch.cuda.synchronize()
    totals[name] -= time.perf_counter()

def end(name):
    torch.cuda.synchronize()
    totals[name] += time.perf_counter()

def step(model, ids):
    begin("draft")
    out = model(ids)
    end("draft")
    return out
"""

LAUNCH, SYNC, UNPAIRED = "host-clock-around-device-work", "sync-on-hot-path", "unpaired-clock-read"
WRITTEN: dict[str, tuple[str, list[tuple[int, str, str]]]] = {
    "a timer class that waits at both ends": (TIMER_CLASS_THAT_WAITS, [(6, SYNC, "info")]),
    "a start and a stop method around a launch": (START_AND_STOP_METHODS, [(12, LAUNCH, "warning")]),
    "the wait is in a callee": (WAIT_IN_A_CALLEE, []),
    "the launch is in a callee": (LAUNCH_IN_A_CALLEE, [(8, LAUNCH, "warning")]),
    "start, wait and stop under one flag": (UNDER_ONE_FLAG, [(6, SYNC, "info")]),
    "a function that waits and reads the clock": (CLOCK_FUNCTION, []),
    "a start that is handed to who ends it": (START_HANDED_ON, [(11, LAUNCH, "warning")]),
    "functions that wait, start and stop": (FUNCTIONS_THAT_WAIT, [(11, SYNC, "info")]),
    "a collective, launched and waited for": (COLLECTIVE, [(6, LAUNCH, "warning")]),
    "a decorator around a launch": (DECORATED_LAUNCH, [(13, LAUNCH, "warning")]),
    "laps in a list, starts in a dict": (LAPS_AND_DICTS, []),
    "time stamps that others read": (STAMPS, []),
    "a deadline and a lease": (DEADLINE_AND_LEASE, []),
    "a start that another overwrites": (OVERWRITTEN, [(5, UNPAIRED, "warning")]),
    "a loop that is left in mid-measurement": (LEFT_LOOP, [(9, "bracket-skipped-by-exit", "warning")]),
    "a range that is popped whatever happens": (POPPED_WHATEVER_HAPPENS, []),
    "a pop too many, and a push": (UNBALANCED, [(8, UNPAIRED, "warning"), (11, UNPAIRED, "warning")]),
    "events that are read in a later cycle": (READ_IN_A_LATER_CYCLE, []),
    "plain events kept in attributes": (
        PLAIN_EVENTS_IN_ATTRIBUTES,
        [(12, SYNC, "info"), (13, "event-without-timing", "error")],
    ),
    "a stream that is entered halfway": (
        STREAM_ENTERED_HALFWAY,
        [(11, SYNC, "info"), (12, "bracket-across-streams", "warning")],
    ),
    "events inside a recording": (RECORDED_EVENTS, [(9, "silent-under-capture", "warning")]),
    "a wait where something failed": (WAIT_AFTER_A_FAILURE, []),
    "a helper that only a sentence names": (NAMED_IN_PROSE, [(6, "timer-never-called", "warning")]),
    "a class that nothing names": (CLASS_THAT_NOTHING_NAMES, [(4, "timer-never-called", "warning")]),
    "a draft that is called a verification": (WRONG_NAMES, [(6, "mislabelled-stage", "warning")]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_as_people_write_it(name: str) -> None:
    code, wanted = WRITTEN[name]

    assert faults(code) == wanted
