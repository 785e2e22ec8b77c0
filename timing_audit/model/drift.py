"""What changed in coverage between two scans, by identity and not by line number."""

from __future__ import annotations

from typing import NamedTuple

from timing_audit.model.baseline import Identity

LOST, UNTIMED, GAINED, MOVED, RENAMED, GONE = "lost", "untimed", "gained", "moved", "renamed", "gone"
KINDS = (LOST, UNTIMED, GAINED, MOVED, RENAMED, GONE)
WORSE = (LOST, UNTIMED)
GATED, FEWER_CLOCKS, NEW_WRAPPER, GONE_WRAPPER = "gated", "fewer-clocks", "new", "gone"
WORSE_WRAPPER = (GATED, FEWER_CLOCKS)


class Change(NamedTuple):
    """One function: `identity` is the new one where there is one, else the old; `was` differs where it moved.

    `phases` are those that the change is about, `before` and `after` the words by clock class, empty where
    the function was or is not hot. `why` says what the words do not. `depth` counts the calls from the entry point.
    """

    kind: str
    identity: Identity
    was: Identity | None
    line: int
    phases: tuple[str, ...]
    stage: str | None
    before: tuple[str, ...]
    after: tuple[str, ...]
    why: str = ""
    depth: int = 0

    @property
    def is_worse(self) -> bool:
        """Whether the gate fails on it."""
        return self.kind in WORSE


class WrapperChange(NamedTuple):
    """One wrapper of the target: new, gone, on fewer clocks, or timing only under a condition now."""

    kind: str
    identity: Identity
    clocks: tuple[str, ...]
    why: str

    @property
    def is_worse(self) -> bool:
        """Whether the gate fails on it."""
        return self.kind in WORSE_WRAPPER


class StageDrift(NamedTuple):
    """The hot functions of one stage in one phase: how many there are, and how many are timed by clock class."""

    phase: str
    stage: str | None
    hot: tuple[int, int]
    timed: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]


class Drift(NamedTuple):
    """All that changed from `old` to `new`; the labels name what was compared."""

    old: str
    new: str
    changes: tuple[Change, ...]
    wrappers: tuple[WrapperChange, ...]
    stages: tuple[StageDrift, ...]

    @property
    def worse(self) -> int:
        """How many changes the gate fails on."""
        return sum(change.is_worse for change in self.changes) + sum(change.is_worse for change in self.wrappers)

    def of(self, kind: str) -> tuple[Change, ...]:
        """The changes of one kind."""
        return tuple(change for change in self.changes if change.kind == kind)
