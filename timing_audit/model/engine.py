"""What the packs say about the audited engine, as the program passes read it."""

from __future__ import annotations

from typing import NamedTuple


class EntryRule(NamedTuple):
    """Functions at which a hot path starts; `role` is `scheduler` or `worker`."""

    functions: tuple[str, ...]
    role: str
    phases: tuple[str, ...]


class PhaseRule(NamedTuple):
    """A phase of the engine.

    `modes` are the members of the mode enum with which it starts, `reaches` those that its code sets
    on the way; `flags` are attributes that are false in it.
    """

    name: str
    modes: tuple[str, ...]
    reaches: tuple[str, ...]
    flags: tuple[str, ...]


class StageRule(NamedTuple):
    """Entering one of `functions`, or a call written like one of `calls`, enters the stage.

    `phases` restricts it, empty for both.
    """

    stage: str
    functions: tuple[str, ...]
    calls: tuple[str, ...]
    phases: tuple[str, ...]


class Engine(NamedTuple):
    """`worker_calls` are the functions whose calls of `worker_attributes` enter a worker.

    `mode_enum` is the class whose members tell the phases apart, `never` the members that no scored
    phase holds (idle). `hints` maps (class, attribute) to the dotted classes that it may hold.
    """

    entries: tuple[EntryRule, ...]
    phases: tuple[PhaseRule, ...]
    stages: tuple[StageRule, ...]
    substages: tuple[StageRule, ...]
    cold: tuple[str, ...]
    capture: tuple[str, ...]
    leaves: tuple[str, ...]
    worker_calls: tuple[str, ...]
    worker_attributes: tuple[str, ...]
    mode_enum: str
    false_calls: tuple[str, ...]
    hints: tuple[tuple[str, str, tuple[str, ...]], ...]
