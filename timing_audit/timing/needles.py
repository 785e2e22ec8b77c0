"""Cheap tests on bytes: which bodies may have to do with time at all."""

from __future__ import annotations

import re
from collections.abc import Iterable

from timing_audit.timing.names import Vocabulary

ONLY_SITES = frozenset(("event-query", "event-synchronize", "synchronize", "ordering", "metric-hook"))
TIMERS = frozenset(("clock-read", "span", "open", "close", "event-create", "event-record", "event-elapsed"))


class Needles:
    """The last names of calls that may matter; grows by aliases and by wrappers as they are found."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        timers = _terminals(vocabulary, TIMERS)
        self.clocks = _terminals(vocabulary, frozenset(("clock-read",)))
        self.names: set[str] = {*timers, *_terminals(vocabulary, ONLY_SITES)}
        self._only_sites = self.names - timers
        self._mention: re.Pattern[bytes] | None = None
        self._calling: re.Pattern[bytes] | None = None

    def add(self, names: Iterable[str]) -> set[str]:
        """More names to look for; gives back those that are new."""
        fresh = {name for name in names if name} - self.names
        if fresh:
            self.names |= fresh
            self._mention = self._calling = None
        return fresh

    def may_time(self, segment: bytes) -> bool:
        """Whether the source of a body mentions any of the names."""
        if self._mention is None:
            self._mention = re.compile(rb"\b(?:" + _any_of(self.names) + rb")\b")
        return self._mention.search(segment) is not None

    def may_wrap(self, segment: bytes) -> bool:
        """Whether a body calls something by which it could time its caller's code."""
        if self._calling is None:
            self._calling = re.compile(rb"\b(?:" + _any_of(self.names - self._only_sites) + rb")\(")
        return self._calling.search(segment) is not None

    def learn_aliases(self, sources: Iterable[bytes], names: set[str]) -> set[str]:
        """Adds the other names that sources give to `names`, and theirs; gives back all that is new.

        `import x as y`, `y = x`, `y = partial(x)`, a default `y=x`, attributes that keep the result of a call.
        """
        sources = list(sources)
        found: set[str] = set()
        while names:
            mention, alias = re.compile(rb"\b(?:" + _any_of(names) + rb")\b"), _alias(names)
            bound = {
                name.decode()
                for source in sources
                for line in _binding_lines(mention, source)
                for groups in alias.findall(line)
                for name in groups
                if name
            }
            names = self.add(bound)
            found |= names
        return found


def mentions(segment: bytes, names: set[str]) -> bool:
    """Whether a source holds one of some names as a word."""
    if not any(name.encode() in segment for name in names):
        return False
    return re.search(rb"\b(?:" + _any_of(names) + rb")\b", segment) is not None


def _terminals(vocabulary: Vocabulary, kinds: frozenset[str]) -> frozenset[str]:
    calls = (name for rule in vocabulary.call_rules if rule.kind in kinds for name in rule.calls)
    return frozenset(name.rpartition(".")[2].replace("()", "") for name in calls)


def _any_of(names: Iterable[str]) -> bytes:
    return b"|".join(re.escape(name).encode() for name in sorted(names))


def _alias(names: set[str]) -> re.Pattern[bytes]:
    known = rb"(?:[\w.]*\.)?(?:" + _any_of(names) + rb")"
    return re.compile(
        rb"\b(?:" + _any_of(names) + rb")\s+as\s+(\w+)"
        rb"|(\w+)\s*(?::[^=\n]{1,60})?=\s*" + known + rb"\s*(?:[,)#]|$)"
        rb"|(\w+)\s*=\s*(?:functools\.)?partial\(\s*" + known + rb"\b"
        rb"|\.(\w+)\s*(?::[^=\n]{1,60})?=\s*\(?\s*" + known + rb"\(",
        re.MULTILINE,
    )


def _binding_lines(mention: re.Pattern[bytes], source: bytes) -> set[bytes]:
    """The lines that mention a name and could bind another: the expression for that is slow."""
    found = set()
    for match in mention.finditer(source):
        start, end = source.rfind(b"\n", 0, match.start()) + 1, source.find(b"\n", match.end())
        line = source[start : end if end >= 0 else len(source)]
        if b"=" in line or b" as " in line:
            found.add(line)
    return found
