"""The facts of a report, as plain data: what renderers, checks and plans read."""

from __future__ import annotations

from typing import NamedTuple

from timing_audit.model.source import Skipped

ROLES = ("hot", "capture", "cold", "kernel", "compiled")
COVERED = ("direct", "outside")
WORDS = ("direct", "outside", "partial", "untimed", "excluded")
CONFIDENCE = {"exact": "high", "hierarchy": "medium", "hinted": "medium", "unique name": "low", "same name": "low"}
"""How sure a call is, by how it was resolved."""
UNTIMED, EXCLUDED = "untimed", "excluded"


class Clocks(NamedTuple):
    """How a function is timed, one word a clock class."""

    host: str
    device: str
    trace: str


class Timed(NamedTuple):
    """Whether something is timed, by clock class."""

    host: bool
    device: bool
    trace: bool


class FunctionFact(NamedTuple):
    """A function of the audited files.

    `via` is the call chain from the entry point: the `def` line of the entry, then every call.
    `workers` names every worker under which it runs; code of the scheduler runs under all of them.
    `fingerprint` is a hash of what a hot function says, empty where it says too little or is not hot.
    """

    file: str
    qualname: str
    line: int
    end_line: int
    role: str
    captured: bool
    phases: tuple[str, ...]
    stage: str | None
    substage: str | None
    workers: tuple[str, ...]
    via: tuple[str, ...]
    coverage: str
    clocks: Clocks
    reason: str
    loops: int
    statements: int
    fingerprint: str = ""


class EdgeFact(NamedTuple):
    """A call on the hot path; `how` it was resolved, `kind` what makes the call, `loops` what it is repeated by."""

    file: str
    line: int
    column: int
    caller: str
    callee_file: str
    callee: str
    callee_line: int
    how: str
    kind: str
    phases: tuple[str, ...]
    loops: tuple[str, ...]


class SiteFact(NamedTuple):
    """A site with the phase in which it runs; `rule` is the pack's rule that named it."""

    file: str
    line: int
    column: int
    kind: str
    purpose: str
    function: str
    phase: str
    hops: tuple[str, ...]
    gate: str
    rule: str


class BracketFact(NamedTuple):
    """A bracket with the phase in which it runs.

    `stage` is the one it is in or around; `is_cycle` tells the cycle's bracket, which covers nothing inside it.
    """

    file: str
    start_line: int
    end_line: int
    clock: str
    function: str
    phase: str
    label: str
    hops: tuple[str, ...]
    gate: str
    stage: str | None
    is_cycle: bool


class RegionFact(NamedTuple):
    """Consecutive hot statements that the same brackets time; no two regions share a line."""

    file: str
    start_line: int
    end_line: int
    function: str
    stage: str | None
    phase: str
    timed: Timed


class Finding(NamedTuple):
    """What a check reports."""

    check: str
    severity: str
    confidence: str
    file: str
    line: int
    end_line: int
    function: str
    stage: str | None
    message: str
    hint: str


class Timer(NamedTuple):
    """A bracket as the rows of the summary refer to it."""

    file: str
    start_line: int
    end_line: int
    clock: str
    function: str
    label: str
    hops: tuple[str, ...]
    gate: str


class Count(NamedTuple):
    """Figures by clock class, which are never added together."""

    host: int
    device: int
    trace: int


class StageRow(NamedTuple):
    """A stage of one worker in one phase.

    `calls` enter it, of which `timed_calls` lie in a bracket around it alone; `timers` are those
    brackets and `inside` the ones deeper in it. `file` and `line` are the first entering call.
    """

    stage: str
    file: str
    line: int
    calls: int
    timed_calls: Count
    timed: Timed
    timers: tuple[Timer, ...]
    inside: tuple[Timer, ...]


class Tally(NamedTuple):
    """Hot functions by how they are timed in one clock class; the parts add up to all of them."""

    direct: int
    outside: int
    partial: int
    untimed: int
    excluded: int


class Tallies(NamedTuple):
    """One tally a clock class."""

    host: Tally
    device: Tally
    trace: Tally


class Part(NamedTuple):
    """A part of the cycle: a stage, a substage, or `rest`. Each hot function is in one; together they are the row's."""

    name: str
    functions: int
    tallies: Tallies


class Row(NamedTuple):
    """What one worker does in one phase, with the counts behind every percentage.

    `worker` is null where the hot path was entered at given functions; `launched_with` are the names that
    choose the worker. `resolved`, `external` and `frontier` count the calls on its path by where they lead.
    """

    worker: str | None
    launched_with: tuple[str, ...]
    phase: str
    file: str
    line: int
    functions: int
    tallies: Tallies
    statements: int
    timed_statements: Count
    parts: tuple[Part, ...]
    stages: tuple[StageRow, ...]
    cycle: tuple[Timer, ...]
    resolved: int
    external: int
    frontier: int


class WrapperFact(NamedTuple):
    """Something of the target that times what its callers supply, and how it comes to a clock."""

    file: str
    line: int
    name: str
    clock: str
    hops: tuple[str, ...]
    gate: str
    uses: int
    hot_uses: int
    unwrapped: tuple[str, ...]
    """Stages that its docstring names and that no use of it is around."""
    forms: tuple[str, ...] = ()
    """How it is used: `context`, `decorator`, `callable`, `start`, `stop`."""
    clocks: tuple[str, ...] = ()
    """Every clock class that it times on; `clock` is the first."""


class FrontierFact(NamedTuple):
    """A call on the hot path that may land in the tree and was not resolved; `text` is the callee as written."""

    file: str
    line: int
    column: int
    function: str
    text: str
    reason: str
    phases: tuple[str, ...]
    workers: tuple[str, ...]


class Parsed(NamedTuple):
    """How much of the tree was read."""

    files: int
    parsed_files: int
    parsed_lines: int


class Summary(NamedTuple):
    """The rows, and what holds for all of them."""

    rows: tuple[Row, ...]
    frontier: tuple[FrontierFact, ...]
    wrappers: tuple[WrapperFact, ...]
    parsed: Parsed


class Target(NamedTuple):
    """What was audited."""

    label: str
    package: str
    version: str
    entries: tuple[str, ...]


class Report(NamedTuple):
    """Everything that a scan found; `next` are argument vectors of what to run now."""

    target: Target
    functions: tuple[FunctionFact, ...]
    edges: tuple[EdgeFact, ...]
    sites: tuple[SiteFact, ...]
    brackets: tuple[BracketFact, ...]
    regions: tuple[RegionFact, ...]
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]
    summary: Summary
    next: tuple[tuple[str, ...], ...]


def percent(part: int, whole: int) -> str:
    """A share for people: 0 % and 100 % only where that is exact, a dash where there is nothing to share."""
    if whole == 0:
        return "-"
    rounded = round(100 * part / whole)
    if 0 < part < whole:
        rounded = min(max(rounded, 1), 99)
    return f"{rounded} %"
