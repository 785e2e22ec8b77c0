"""Cheap tests on bytes: which bodies may have to do with time at all."""

from __future__ import annotations

import re
from collections.abc import Iterable

from timing_audit.timing.names import Vocabulary

KINDS = frozenset(
    (
        "clock-read", "span", "open", "close", "event-create", "event-record", "event-elapsed", "event-query",
        "event-synchronize", "synchronize", "ordering", "metric-hook",
    )
)  # fmt: skip


def mentions(segment: bytes, names: Iterable[str]) -> bool:
    """Whether a source holds one of some names as a word."""
    return any(
        name.encode() in segment and re.search(rb"\b%s\b" % name.encode(), segment) is not None for name in names
    )


class Needles:
    """The last names of calls that may matter; grows by aliases and by wrappers as they are found."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        calls = (name for rule in vocabulary.call_rules if rule.kind in KINDS for name in rule.calls)
        self.names: set[str] = {name.rpartition(".")[2].replace("()", "") for name in calls}
        self.clocks = frozenset(
            name.rpartition(".")[2]
            for rule in vocabulary.call_rules
            if rule.kind == "clock-read"
            for name in rule.calls
        )
        self._pattern: re.Pattern[bytes] | None = None
        self._alias: re.Pattern[bytes] | None = None

    def add(self, names: Iterable[str]) -> None:
        """More names to look for."""
        fresh = {name for name in names if name} - self.names
        if fresh:
            self.names |= fresh
            self._pattern = self._alias = None

    def may_time(self, segment: bytes) -> bool:
        """Whether the source of a body mentions any of the names."""
        if self._pattern is None:
            self._pattern = re.compile(rb"\b(?:" + self._alternatives() + rb")\b")
        return self._pattern.search(segment) is not None

    def learn_aliases(self, source: bytes) -> bool:
        """Other names that a module gives to known ones; true when it found new ones.

        `import x as y`, `y = x`, a default `y=x`, and attributes that keep the result of a call.
        """
        if self._alias is None:
            names = self._alternatives()
            self._alias = re.compile(
                rb"\b(?:" + names + rb")\s+as\s+(\w+)"
                rb"|(\w+)\s*(?::[^=\n]{1,60})?=\s*(?:[\w.]*\.)?(?:" + names + rb")\s*(?:[,)#]|$)"
                rb"|\.(\w+)\s*(?::[^=\n]{1,60})?=\s*\(?\s*(?:[\w.]*\.)?(?:" + names + rb")\(",
                re.MULTILINE,
            )
        found: set[str] = set()
        for line in self._lines(source):
            found |= {name.decode() for groups in self._alias.findall(line) for name in groups if name}
        before = len(self.names)
        self.add(found)
        return len(self.names) > before

    def _lines(self, source: bytes) -> set[bytes]:
        """The lines that mention a known name and could bind another: the expression for that is slow."""
        self.may_time(b"")
        assert self._pattern is not None
        found = set()
        for match in self._pattern.finditer(source):
            start, end = source.rfind(b"\n", 0, match.start()) + 1, source.find(b"\n", match.end())
            line = source[start : end if end >= 0 else len(source)]
            if b"=" in line or b" as " in line:
                found.add(line)
        return found

    def _alternatives(self) -> bytes:
        return b"|".join(re.escape(name).encode() for name in sorted(self.names))
