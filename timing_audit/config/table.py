"""One TOML table, read field by field: what is missing, wrong or unknown becomes a fault, never an exception."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from timing_audit.model.timing import Clock

PHASES = ("decode", "prefill")
_CLOCKS = tuple(clock.value for clock in Clock)


class Fault(NamedTuple):
    """What is wrong in a file of TOML, and where."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class Table:
    """A TOML table under `where` (`rule perf-counter`); remembers which keys were asked for.

    `lines` tells where its keys stand, as far as that is known; the others stand at the table's own `line`.
    """

    def __init__(
        self, values: Mapping[str, object], file: str, line: int, where: str, lines: Mapping[str, int] | None = None
    ) -> None:
        self.line = line
        self._lines = lines or {}
        self._file = file
        self.where = where
        self._values = values
        self._asked: set[str] = set()
        self.faults: list[Fault] = []

    def fault(self, message: str, line: int = 0) -> None:
        """Note what is wrong, at the table's own line unless told otherwise."""
        prefix = f"{self.where}: " if self.where else ""
        self.faults.append(Fault(self._file, line or self.line, prefix + message))

    def _at(self, key: str, message: str) -> None:
        self.fault(message, self._lines.get(key, 0))

    def text(self, key: str, *, required: bool = False, choices: Iterable[str] = ()) -> str:
        """A string, empty if absent."""
        value = self._get(key, required)
        if value is None:
            return ""
        if not isinstance(value, str) or not value.strip():
            self._at(key, f"`{key}` must be a string that is not empty")
            return ""
        known = tuple(choices)
        if known and value not in known:
            self._at(key, f"`{key}` is `{value}`{_near(value, known)}; it is one of {', '.join(known)}")
            return ""
        return value

    def texts(self, key: str, *, required: bool = False, choices: Iterable[str] = ()) -> tuple[str, ...]:
        """A list of strings, empty if absent."""
        value = self._get(key, required)
        if value is None:
            return ()
        if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
            self._at(key, f"`{key}` must be a list of strings that is not empty")
            return ()
        known = tuple(choices)
        for item in value:
            if known and item not in known:
                self._at(key, f"`{key}` has `{item}`{_near(item, known)}; it is one of {', '.join(known)}")
        return tuple(value)

    def flag(self, key: str) -> bool:
        """A boolean, false if absent."""
        value = self._get(key, required=False)
        if value is not None and not isinstance(value, bool):
            self._at(key, f"`{key}` must be true or false")
        return value is True

    def position(self, key: str) -> int | None:
        """The position of an argument, counted from 0."""
        value = self._get(key, required=False)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self._at(key, f"`{key}` must be the position of an argument, counted from 0")
            return None
        return value

    def clock(self, *, required: bool) -> Clock | None:
        """The field `clock`."""
        value = self.text("clock", required=required, choices=_CLOCKS)
        return Clock(value) if value else None

    def tables(self, key: str) -> tuple[Mapping[str, object], ...]:
        """An array of tables (`[[key]]`), empty if absent."""
        value = self._get(key, required=False)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self._at(key, f"`{key}` must be an array of tables: [[{key}]]")
            return ()
        return tuple(value)

    def table(self, key: str, *, required: bool = False) -> Mapping[str, object]:
        """A table of its own (`[rule.key]`), empty if absent."""
        value = self._get(key, required)
        if value is None:
            return {}
        if not isinstance(value, dict) or not value:
            self._at(key, f"`{key}` must be a table that is not empty")
            return {}
        return value

    def refuse_unknown(self) -> None:
        """Note every key that nobody asked for, with the near match."""
        for key in self._values:
            if key not in self._asked:
                self._at(key, f"unknown key `{key}`{_near(key, self._asked)}")

    def _get(self, key: str, required: bool) -> object:
        self._asked.add(key)
        value = self._values.get(key)
        if value is None and required:
            self._at(key, f"`{key}` is missing")
        return value


def _near(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f", did you mean `{close[0]}`?" if close else ""
