"""Which names of a tree are defined and never mentioned again: found by bytes, nothing is parsed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

DEFINITION = re.compile(rb"^([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)
CLOCKS = (
    b"perf_counter", b"process_time", b"monotonic", b"time.time", b"time_ns", b"default_timer", b"elapsed_time",
    b"enable_timing", b"record_function", b"range_push", b"nvtx", b"datetime.now", b"synchronize",
)  # fmt: skip
TESTING = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_|conftest)")


class Named(NamedTuple):
    """A definition by its bytes: where it begins and ends, and its last name."""

    path: str
    start: int
    end: int
    name: bytes


def defined_around_clocks(path: str, source: bytes) -> list[Named]:
    """The functions and classes of a file in whose lines a clock is named; tests time what they like."""
    if TESTING.search(path):
        return []
    hits = sorted(place for clock in CLOCKS if clock in source for place in _places(clock, source))
    if not hits:
        return []
    known = [named for named in _definitions(path, source) if not named.name.startswith((b"__", b"test"))]
    return [named for named in known if _any_between(hits, named.start, named.end)]


def never_mentioned(candidates: Sequence[Named], paths: Iterable[str], raw: Callable[[str], bytes]) -> list[Named]:
    """The candidates whose names stand nowhere outside their own definitions."""
    own: dict[str, list[Named]] = {}
    for named in candidates:
        own.setdefault(named.path, []).append(named)
    left: dict[bytes, list[Named]] = {}
    for path, named_here in own.items():
        source = raw(path)
        for named in named_here:
            if not _is_mentioned(named.name, source, named_here):
                left.setdefault(named.name, []).append(named)
    for path in paths:
        if not left:
            break
        source = raw(path)
        for name in [name for name in left if name in source]:
            if _is_mentioned(name, source, own.get(path, ())):
                del left[name]
    return [named for found in left.values() for named in found]


def _is_mentioned(name: bytes, source: bytes, defined: Iterable[Named]) -> bool:
    extents = [(named.start, named.end) for named in defined if named.name == name]
    for match in re.finditer(rb"(?<![\w])%s(?!\w)" % re.escape(name), source):
        outside = not any(start <= match.start() < end for start, end in extents)
        if outside and not source.endswith((b"def ", b"class "), 0, match.start()):
            return True
    return False


def _definitions(path: str, source: bytes) -> list[Named]:
    """Every definition; it ends before the first line that is indented no deeper."""
    found: list[Named] = []
    open_: list[tuple[int, int, bytes]] = []
    for match in DEFINITION.finditer(source):
        indent, start = len(match[1]), match.start()
        while open_ and open_[-1][0] >= indent:
            found.append(_closed(path, source, *open_.pop()))
        open_.append((indent, start, match[2]))
    found += [_closed(path, source, *item) for item in open_]
    return sorted(found, key=lambda named: named.start)


def _closed(path: str, source: bytes, indent: int, start: int, name: bytes) -> Named:
    header = source.find(b":\n", start)
    dedent = re.compile(rb"^[ \t]{0,%d}[^\s#)\]}]" % indent, re.MULTILINE).search(source, max(header, start) + 2)
    return Named(path, start, dedent.start() if dedent is not None else len(source), name)


def _places(word: bytes, source: bytes) -> Iterable[int]:
    place = source.find(word)
    while place >= 0:
        yield place
        place = source.find(word, place + 1)


def _any_between(places: list[int], start: int, end: int) -> bool:
    at = bisect_right(places, start)
    return at < len(places) and places[at] < end
