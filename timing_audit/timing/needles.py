"""Cheap tests on bytes: which bodies may have to do with time at all."""

from __future__ import annotations

import re
from collections.abc import Iterable

from timing_audit.timing.names import Vocabulary

ONLY_SITES = frozenset(("event-query", "event-synchronize", "synchronize", "ordering", "metric-hook"))
TIMERS = frozenset(("clock-read", "span", "open", "close", "event-create", "event-record", "event-elapsed"))


Words = frozenset[bytes]
WORD = re.compile(rb"[A-Za-z_]\w*")


class Needles:
    """The last names of calls that may matter; grows by aliases and by wrappers as they are found."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        timers = _terminals(vocabulary, TIMERS)
        self.clocks = _terminals(vocabulary, frozenset(("clock-read",)))
        self.names: set[str] = {*timers, *_terminals(vocabulary, ONLY_SITES)}
        self._words = {name.encode() for name in self.names}
        self._wrapping = {name.encode() for name in timers}

    def add(self, names: Iterable[str]) -> set[str]:
        """More names to look for; gives back those that are new."""
        fresh = {name for name in names if name} - self.names
        self.names |= fresh
        words = [name.encode() for name in fresh]
        self._words.update(words)
        self._wrapping.update(words)
        return fresh

    def may_time(self, words: Words) -> bool:
        """Whether a body with these words mentions any of the names."""
        return not self._words.isdisjoint(words)

    def may_wrap(self, words: Words) -> bool:
        """Whether a body with these words may call something by which it could time its caller's code."""
        return not self._wrapping.isdisjoint(words)

    def learn_aliases(self, bindings: Bindings, names: set[str]) -> set[str]:
        """Adds the other names that the sources give to `names`, and theirs; gives back all that is new."""
        found: set[str] = set()
        while names:
            names = self.add(other for name in names for other in bindings.others(name))
            found |= names
        return found


class Bindings:
    """Which names sources bind to what other names stand for.

    `import x as y`, `y = x`, `y = partial(x)`, a default `y=x`, attributes that keep the result of a call.
    The sources are searched once for all right-hand sides; the left one is read where a name is asked for.
    """

    def __init__(self, sources: Iterable[bytes]) -> None:
        self._places: dict[bytes, list[tuple[bytes, int, bytes]]] = {}
        for source in sources:
            for match in RIGHT.finditer(source):
                name = match[1].rpartition(b".")[2]
                self._places.setdefault(name, []).append((source, match.start(), match[2]))
            for match in AS.finditer(source):
                before = LAST_WORD.search(source, max(0, match.start() - WIDEST_LEFT), match.start())
                if before is not None:
                    self._places.setdefault(before[1], []).append((source, match.start(1), b"as"))

    def others(self, name: str) -> set[str]:
        """The names that are bound to `name`, or keep what calling it gives."""
        found = (_left(*place) for place in self._places.get(name.encode(), ()))
        return {other for other in found if other}


RIGHT = re.compile(rb"=[ \t]*\(?\s*(?:(?:functools\.)?partial\(\s*)?([A-Za-z_][\w.]*)[ \t]*([,)#(]|$)", re.MULTILINE)
AS = re.compile(rb"as[ \t]+(\w+)")
LAST_WORD = re.compile(rb"(\w+)[ \t]+$")
LEFT = re.compile(rb"(\.?)(\w+)[ \t]*(?::[^=\n]{1,60})?$")
WIDEST_LEFT = 120


def _left(source: bytes, at: int, ending: bytes) -> str:
    """The name on the left of an assignment; only an attribute is said to keep the result of a call."""
    if ending == b"as":
        match = WORD.match(source, at)
        return match[0].decode() if match else ""
    before = LEFT.search(source[max(0, at - WIDEST_LEFT) : at])
    if before is None or (ending == b"(" and not before[1] and b"partial(" not in source[at : at + WIDEST_LEFT]):
        return ""
    return before[2].decode()


def words_of(segment: bytes) -> Words:
    """The identifiers, keywords and other words of a piece of source."""
    return frozenset(WORD.findall(segment))


def _terminals(vocabulary: Vocabulary, kinds: frozenset[str]) -> frozenset[str]:
    calls = (name for rule in vocabulary.call_rules if rule.kind in kinds for name in rule.calls)
    return frozenset(name.rpartition(".")[2].replace("()", "") for name in calls)
