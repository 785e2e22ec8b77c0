"""What is to be inserted, refused and written, as plain data: made before any file is touched."""

from __future__ import annotations

from typing import NamedTuple

from timing_audit.model.report import Timed
from timing_audit.model.source import Skipped

CYCLE, STAGE, FUNCTION = "cycle", "stage", "function"
LINES, BLOCK = "lines", "block"


class HotCall(NamedTuple):
    """A call of the hot path that a probe may be put around.

    `timed` says on which clocks a bracket already times it by itself. `refusal` is why its function takes no
    probe. `workers` are the classes under which it runs.
    """

    file: str
    line: int
    column: int
    end_line: int
    kind: str
    function: str
    phases: tuple[str, ...]
    stage: str
    callee: str
    workers: tuple[str, ...]
    timed: Timed
    refusal: str


class Choice(NamedTuple):
    """What the user wants inserted; no `stages`, `workers` or `phases` means all of them."""

    detail: str = STAGE
    backend: str = "region"
    layout: str = LINES
    stages: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    permanent: bool = False


class Probe(NamedTuple):
    """One timer to insert; `lines` are those of the statement around which it is put."""

    id: int
    name: str
    kind: str
    phase: str
    stage: str
    file: str
    line: int
    end_line: int
    function: str
    attribute: str


class Refusal(NamedTuple):
    """A region that gets no probe, and why."""

    file: str
    line: int
    function: str
    kind: str
    stage: str
    reason: str


class Edit(NamedTuple):
    """Consecutive lines of a written file and what stood in their place; `line` is the first, from 1."""

    line: int
    new: bytes
    old: bytes


class FileChange(NamedTuple):
    """One file before and after; None where it does not exist."""

    path: str
    before: bytes | None
    after: bytes | None
    edits: tuple[Edit, ...] = ()


class Plan(NamedTuple):
    """Everything that apply will do. `timed` counts regions that need no probe; `notes` are for the user.

    `skipped` are the files that could not be read or parsed, and so hold no probe.
    """

    probes: tuple[Probe, ...]
    refusals: tuple[Refusal, ...]
    timed: int
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()


class Helper(NamedTuple):
    """The tree's own way to time a named stage: `module.name("stage")`."""

    module: str
    name: str
    clock: str
