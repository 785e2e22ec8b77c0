"""What a baseline keeps of a scan: the coverage of hot functions and the wrappers that time them, by identity."""

from __future__ import annotations

from typing import NamedTuple

CLOCK_NAMES = ("host", "device", "trace")


class Identity(NamedTuple):
    """A function or wrapper as it is known across releases; several definitions of one name are one."""

    file: str
    qualname: str


class OwnTimer(NamedTuple):
    """A bracket that a function's own file shows, with the calls inside as they are written, each as often as made.

    `gate` is the function's own condition; that of a wrapper is the wrapper's.
    """

    clock: str
    gate: str
    label: str
    calls: tuple[str, ...]


class FunctionRecord(NamedTuple):
    """A hot function: `words` is how it is timed, by clock class.

    `line` and `depth`, the calls from the entry point, are no part of a baseline file: 0 where it was read from one.
    """

    identity: Identity
    fingerprint: str
    phases: tuple[str, ...]
    stage: str | None
    coverage: str
    words: tuple[str, str, str]
    timers: tuple[OwnTimer, ...] = ()
    line: int = 0
    depth: int = 0


class WrapperRecord(NamedTuple):
    """A wrapper of the target that times hot functions.

    `aliases` are other names that its module binds to it, `alone` tells that its file shows by itself what it does.
    """

    identity: Identity
    clocks: tuple[str, ...]
    forms: tuple[str, ...]
    gate: str
    aliases: tuple[str, ...] = ()
    alone: bool = False


class Baseline(NamedTuple):
    """The hot functions and wrappers of one scan, sorted; `has_timers` is false for one made from a scan's JSON."""

    package: str
    version: str
    functions: tuple[FunctionRecord, ...]
    wrappers: tuple[WrapperRecord, ...]
    has_timers: bool = True

    @property
    def label(self) -> str:
        """How texts name it."""
        return f"{self.package} {self.version}".strip() or "the baseline"
