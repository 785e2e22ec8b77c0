"""What a report says: plain data, from which every format is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from timing_audit.runs.statistics import Interval, Quantiles


class Row(NamedTuple):
    """A line of the breakdown: the cycle, a part of it, the seams, or the rest. Times in nanoseconds."""

    name: str
    kind: str
    """`cycle`, `stage`, `function`, `seams` or `unattributed`."""
    stage: str
    depth: int
    calls: int
    calls_per_cycle: float
    host: Quantiles | None
    stream: Quantiles | None
    host_share: Interval | None
    stream_share: Interval | None
    gap: int | None
    spread: float | None
    """(highest - lowest) / median of the ranks' p50, on the leading clock."""
    raised: int
    across: int
    place: str


class Stratum(NamedTuple):
    """Cycles alike in batch size, steps and graph."""

    size: int
    steps: int
    graph: str
    cycles: int
    cycle: Quantiles


class RankRow(NamedTuple):
    """One process."""

    name: str
    file: str
    cycles: int
    host: Quantiles | None
    stream: Quantiles | None
    ended: str


@dataclass(frozen=True)
class RunReport:
    """Everything that a report says about one run's decode cycles."""

    engine: str
    engine_version: str
    worker: str
    manifest: str
    arguments: tuple[tuple[str, str], ...]
    device: tuple[tuple[str, str], ...]
    clock: str
    """`stream` where stream time was measured, else `host`."""
    launches: int
    windows: int
    cycles: int
    set_apart: tuple[tuple[str, int], ...]
    rows: tuple[Row, ...]
    start_to_start: Quantiles | None
    tokens_per_cycle: float | None
    ms_per_token: float | None
    bound: str
    headroom_ns: int | None
    strata: tuple[Stratum, ...]
    ranks: tuple[RankRow, ...]
    ranks_expected: int
    ranks_missing: tuple[str, ...]
    overwritten: int
    lost: int
    errors: int
    own_ns_per_cycle: int
    own_share: float
    outside: int
    faults: tuple[tuple[str, str], ...]
    verdict: str
    series: Sequence[int]
    """The cycle's time along the run, in up to 200 medians, for drawing."""
    histogram: Sequence[tuple[int, int]]
    """The cycle's distribution: the lower bound of a class, and how many cycles lie in it."""
    next: tuple[tuple[str, ...], ...]
