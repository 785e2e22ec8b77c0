"""The generated modules as an audit reads them: they choose what to do while they run, which no inference follows."""

from __future__ import annotations

import re

REGION = re.compile(rb"^(\w+) = _recorder\.probe\(\d+\)$", re.MULTILINE)
RANGE = re.compile(rb'^(\w+) = Range\("', re.MULTILINE)
CLOCKS = b"""\
import time
import torch


class Interval:
    def __init__(self):
        self.begin = torch.cuda.Event(enable_timing=True)
        self.begin.record()

    def end(self):
        self.last = torch.cuda.Event(enable_timing=True)
        self.last.record()

    def elapsed(self):
        return self.begin.elapsed_time(self.last)


class Probe:
    def __enter__(self):
        self.interval = Interval()
        self.start = time.perf_counter_ns()

    def __exit__(self, kind, error, trace):
        self.taken = time.perf_counter_ns() - self.start
        self.interval.end()


"""
RANGES = b"import torch\n\n"
KEPT = b"""

class Kept:
    def __init__(self):
"""
WAYS = ((REGION, CLOCKS, b"Probe()"), (RANGE, RANGES, b'torch.profiler.record_function("probe")'))


def readable(data: bytes) -> bytes:
    """A module with the same objects that says plainly what they time; other modules as they are."""
    for pattern, plain, made in WAYS:
        names = pattern.findall(data)
        if names:
            # Attributes tell the search by bytes which names to look for; the objects are the module's own.
            objects = b"".join(b"%b = %b\n" % (name, made) for name in names)
            return plain + objects + KEPT + b"".join(b"        self.%b = %b\n" % (name, made) for name in names)
    return data
