"""Which definitions hold clocks, and which names stand nowhere else: by bytes."""

from __future__ import annotations

import pytest

from timing_audit.evidence.mentions import Mentions, defined_around_clocks

HELPERS = b'''"""mark_end ends what mark_start starts."""
import time

def mark_start(name):
    """Until mark_end."""
    starts[name] = time.perf_counter()

def mark_end(name): return time.perf_counter() - starts.pop(name)

class Timer:
    def lap(
        self,
        name,
    ):
        # lap of lap
        self.laps[name] = time.perf_counter()

    def reset(self):
        self.laps = {}

def plain():
    return 1
'''


def left(**files: bytes) -> list[str]:
    sources = {f"{name}.py": source for name, source in files.items()}
    candidates = [named for path, source in sources.items() for named in defined_around_clocks(path, source)]
    mentions = Mentions(candidates, sources.__getitem__)
    mentions.read(sources)
    return [named.name.decode() for named in mentions.left]


def test_definitions_that_hold_a_clock() -> None:
    names = [named.name for named in defined_around_clocks("m.py", HELPERS)]

    assert names == [b"mark_start", b"mark_end", b"Timer", b"lap"]


def test_a_definition_ends_before_the_next_line_that_is_no_deeper() -> None:
    ends = {named.name: HELPERS[: named.end].count(b"\n") for named in defined_around_clocks("m.py", HELPERS)}

    assert ends == {b"mark_start": 7, b"mark_end": 8, b"lap": 17, b"Timer": 20}


def test_prose_and_comments_are_no_mentions() -> None:
    assert left(m=HELPERS) == ["mark_start", "mark_end", "Timer", "lap"]


@pytest.mark.parametrize(
    "user",
    [
        b"mark_start('x')",
        b"from m import mark_start\n",
        b"from m import (\n    mark_start,\n)",
        b"hooks = [mark_start]",
        b"call(getattr(m, 'mark_start'))",
        b"m.mark_start = None",
        b"begin = mark_start if debug else None",
        b"@mark_start\ndef f(): pass",
    ],
)
def test_code_that_mentions(user: bytes) -> None:
    assert left(m=HELPERS, user=user) == ["mark_end", "Timer", "lap"]


@pytest.mark.parametrize(
    "user", [b"remark_start()", b"mark_started = 1", b"x = 1  # mark_start(x)", b"def mark_start(): pass"]
)
def test_code_that_does_not(user: bytes) -> None:
    assert "mark_start" in left(m=HELPERS, user=user)


def test_tests_may_time_what_they_like() -> None:
    assert defined_around_clocks("sglang/test/helpers.py", HELPERS) == []
    assert defined_around_clocks("sglang/srt/test_speed.py", HELPERS) == []


def test_a_candidate_that_is_dropped_is_asked_about_no_more() -> None:
    candidates = defined_around_clocks("m.py", HELPERS)
    mentions = Mentions(candidates, {"m.py": HELPERS}.__getitem__)
    mentions.drop(candidates[0])

    assert candidates[0] not in mentions.left
