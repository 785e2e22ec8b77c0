"""Which names of a tree are defined and never mentioned again: found by bytes, nothing is parsed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

DEFINITION = re.compile(rb"\n([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
CLOCKS = (
    b"perf_counter", b"process_time", b"monotonic", b"time.time", b"time_ns", b"default_timer", b"elapsed_time",
    b"enable_timing", b"record_function", b"range_push", b"nvtx", b"datetime.now", b"synchronize",
)  # fmt: skip
PROSE = re.compile(
    rb"`|\.(?:[ \t\"']|$)|[ \t]+(?!(?:as|if|for|or|and|in|is|else|not|import|async|from)\b)[A-Za-z]", re.MULTILINE
)
HEADER = re.compile(rb":[ \t]*(?:#[^\n]*)?\n")
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
    return _holding(path, source, hits)


class Mentions:
    """Strikes out, file by file, the names that stand anywhere outside their own definitions."""

    def __init__(self, candidates: Sequence[Named], raw: Callable[[str], bytes]) -> None:
        self._raw = raw
        self._own: dict[str, list[Named]] = {}
        for named in candidates:
            self._own.setdefault(named.path, []).append(named)
        self._left: dict[bytes, list[Named]] = {}
        for path, named_here in self._own.items():
            source = raw(path)
            for named in named_here:
                if not _is_mentioned(named.name, source, named_here):
                    self._left.setdefault(named.name, []).append(named)

    @property
    def left(self) -> list[Named]:
        """The candidates that nothing mentioned so far."""
        return sorted(named for found in self._left.values() for named in found)

    @property
    def home(self) -> list[str]:
        """The files that define candidates: those that time things mention timers most."""
        return sorted(self._own)

    def drop(self, named: Named) -> None:
        """Asks no more about a candidate."""
        self._left[named.name] = [other for other in self._left.get(named.name, ()) if other != named]
        if not self._left[named.name]:
            del self._left[named.name]

    def read(self, paths: Iterable[str]) -> None:
        """Looks through more files."""
        for path in paths:
            if not self._left:
                return
            source = self._raw(path)
            for name in [name for name in self._left if name in source]:
                if _is_mentioned(name, source, self._own.get(path, ())):
                    del self._left[name]


def _is_mentioned(name: bytes, source: bytes, defined: Iterable[Named]) -> bool:
    extents = [(named.start, named.end) for named in defined if named.name == name]
    for place in _places(name, source):
        whole = not _in_word(source[place - 1 : place]) and not _in_word(
            source[place + len(name) : place + len(name) + 1]
        )
        outside = whole and not any(start <= place < end for start, end in extents)
        if outside and not source.endswith((b"def ", b"class "), 0, place) and not _is_prose(source, place, len(name)):
            return True
    return False


def _is_prose(source: bytes, place: int, length: int) -> bool:
    """Whether a name stands in a comment, or in a sentence of a docstring: what follows it is no code."""
    line = source[source.rfind(b"\n", 0, place) + 1 : place]
    return b"#" in line or PROSE.match(source, place + length) is not None


def _in_word(byte: bytes) -> bool:
    return byte.isalnum() or byte == b"_"


def _holding(path: str, source: bytes, hits: list[int]) -> list[Named]:
    """The definitions around some places; one ends before the first line that is indented no deeper."""
    # The line end in front is quicker to find than any begin of a line; places in the source are those behind it.
    found = [(match.start(), len(match[1]), match[2]) for match in DEFINITION.finditer(b"\n" + source)]
    holding: list[Named] = []
    for order, (start, indent, name) in enumerate(found):
        if name.startswith((b"__", b"test")):
            continue
        following = (other for other, deep, _ in found[order + 1 :] if deep <= indent)
        if _any_between(hits, start, next(following, len(source))):
            named = Named(path, start, _end(source, indent, start), name)
            if _any_between(hits, named.start, named.end):
                holding.append(named)
    return holding


def _end(source: bytes, indent: int, start: int) -> int:
    first = source.find(b"\n", start + indent)
    if first < 0 or _is_whole(source[start:first]):
        return first + 1 or len(source)
    header = HEADER.search(source, start)
    body = header.end() if header is not None else first + 1
    dedent = re.compile(rb"^[ \t]{0,%d}[^\s#)\]}]" % indent, re.MULTILINE).search(source, body)
    return dedent.start() if dedent is not None else len(source)


def _is_whole(line: bytes) -> bool:
    """Whether a definition stands on one line: `def f(): return 1`."""
    code = line.partition(b"#")[0].rstrip()
    return code.count(b"(") == code.count(b")") and not code.endswith(b":")


def _places(word: bytes, source: bytes) -> Iterable[int]:
    place = source.find(word)
    while place >= 0:
        yield place
        place = source.find(word, place + 1)


def _any_between(places: list[int], start: int, end: int) -> bool:
    at = bisect_right(places, start)
    return at < len(places) and places[at] < end
