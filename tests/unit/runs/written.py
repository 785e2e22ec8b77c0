"""Run files made by hand: what a process would have written."""

from __future__ import annotations

from pathlib import Path

from tests.unit.runtime.probed import PROBES
from timing_audit.runtime.ring import KIND_SHIFT, STREAM_SPAN, TOKENS, VALUES, WINDOW, Ring

CYCLE, DRAFT, VERIFY = 1, 2, 3


def facts(**changed: object) -> dict[str, object]:
    return {
        "format": 1, "manifest": "m", "engine": "sglang", "engine_version": "0.5.9",
        "probes": [list(probe[:8]) for probe in PROBES], "pid": 1, "host": "h", "role": "scheduler", "launch": "l",
        "worker": "EAGLEWorker", "ranks": {"tp": 0}, "server_args": {"speculative_algorithm": "EAGLE", "tp_size": 1},
        "environment": {}, "device": {}, "modes": ["DECODE", "EXTEND", "IDLE"], "notes": [], "started_ns": 1,
        "cost": {"off_ps": 80_000, "host_ps": 300_000}, **changed,
    }  # fmt: skip


def span(probe: int, start: int, end: int, thread: int = 1) -> list[int]:
    return [probe, thread, start, end]


def stream(probe: int, start: int, offset: int, length: int) -> list[int]:
    return [probe | STREAM_SPAN << KIND_SHIFT, start, offset, length]


def values(start: int, size: int, mode: int = 1) -> list[int]:
    return [CYCLE | VALUES << KIND_SHIFT, start, size | mode << 32, 0]


def tokens(start: int, count: int, requests: int) -> list[int]:
    return [TOKENS << KIND_SHIFT, start, count, requests]


def window(number: int) -> list[int]:
    return [WINDOW << KIND_SHIFT, number, 1, 0]


def write(path: Path, words: list[int], **changed: object) -> Path:
    """A run file with these records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ring = Ring(str(path), facts(**changed), 4096, 1 << 20)
    ring.append(words)
    return path


def steady(count: int, cycle_ns: int = 10_000, draft_ns: int = 1_000, verify_ns: int = 8_000) -> list[int]:
    """Cycles one after the other: draft, a seam of 500 ns, verify; 100 ns before and 400 after them."""
    words: list[int] = []
    for number in range(count):
        start = 1_000_000 + number * (cycle_ns + 200)
        middle = start + 100 + draft_ns + 500
        words += span(DRAFT, start + 100, start + 100 + draft_ns)
        words += span(VERIFY, middle, middle + verify_ns)
        words += span(CYCLE, start, start + cycle_ns)
        words += values(start, 2) + tokens(start, 5, 2)
    return words
