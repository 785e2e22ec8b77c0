"""Two sides of launches -> what differs. The launch is the unit; cycles of one launch are not independent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from timing_audit.errors import TimingAuditError
from timing_audit.runs.launches import ACCEPTED, CYCLE, PER_TOKEN, SEAMS, STAGES, STEP, Launch, Point, Side
from timing_audit.runs.statistics import (
    Interval,
    Weighted,
    block_difference,
    holm,
    launch_difference,
    least_p,
    median,
    middle,
    permutation,
    total,
)

LAUNCHES, LEVEL = 5, 0.05
TESTED = (CYCLE, PER_TOKEN)
METRICS = (CYCLE, *STAGES, SEAMS, STEP, PER_TOKEN, ACCEPTED)


class CompareRow(NamedTuple):
    """One metric on both sides: milliseconds, or tokens."""

    metric: str
    a: float
    b: float
    spread_a: float
    spread_b: float
    """(highest - lowest) / 2 of the launches, as a share of the side's value."""
    difference: Interval
    p: float | None
    """None where only the interval is given."""
    shown: bool
    worse: bool


class Comparison(NamedTuple):
    """What a comparison says."""

    a: Side
    b: Side
    clock: str
    unit: str
    """`launch` or `window`."""
    differs: tuple[tuple[str, str, str], ...]
    rows: tuple[CompareRow, ...]
    least_p: float
    common: float
    """The share of cycles that have a counterpart of their batch size on the other side."""
    sizes: tuple[int, ...]


class _Sizes(NamedTuple):
    """Batch sizes that both sides ran, and how much each weighs."""

    weights: dict[int, float]
    common: float


def compare(a: Side, b: Side) -> Comparison:
    """Compares within batch sizes. Raises TimingAuditError where the sides have none in common."""
    sizes = _common(a, b)
    unit = "launch" if min(len(a.launches), len(b.launches)) >= LAUNCHES else "window"
    rows = [row for row in (_row(metric, a, b, sizes, unit) for metric in METRICS) if row is not None]
    lowest = least_p(len(a.launches), len(b.launches)) if unit == "launch" else 2 / 401
    return Comparison(
        a, b, a.clock, unit, _differs(a, b), tuple(_corrected(rows)), lowest, sizes.common, tuple(sorted(sizes.weights))
    )


def _common(a: Side, b: Side) -> _Sizes:
    counts = [_counts(side) for side in (a, b)]
    both = set(counts[0]) & set(counts[1])
    if not both:
        raise TimingAuditError("the sides have no batch size in common: there is nothing to compare like with like")
    shares = {size: sum(count[size] / sum(count.values()) for count in counts) for size in both}
    common = sum(count[size] for count in counts for size in both) / sum(sum(count.values()) for count in counts)
    return _Sizes({size: share / sum(shares.values()) for size, share in shares.items()}, common)


def _counts(side: Side) -> dict[int, int]:
    counts: dict[int, int] = {}
    for launch in side.launches:
        for point in launch.points:
            counts[point.size] = counts.get(point.size, 0) + 1
    return counts


def _row(metric: str, a: Side, b: Side, sizes: _Sizes, unit: str) -> CompareRow | None:
    left = [value for value in (_value(metric, launch, sizes) for launch in a.launches) if value is not None]
    right = [value for value in (_value(metric, launch, sizes) for launch in b.launches) if value is not None]
    if not left or not right or median(left) <= 0 or median(right) <= 0:
        return None
    p: float | None
    if unit == "launch" and min(len(left), len(right)) >= LAUNCHES:
        difference, p = launch_difference(left, right), permutation(left, right)
    else:
        difference, p = _by_blocks(metric, a, b, sizes)
    if metric not in (*TESTED, *STAGES):
        p = None
    worse = (difference.value > 0) != (metric == ACCEPTED)
    shown = p < LEVEL if p is not None else difference.low > 0 or difference.high < 0
    return CompareRow(metric, median(left), median(right), _half(left), _half(right), difference, p, shown, worse)


def _corrected(rows: Sequence[CompareRow]) -> list[CompareRow]:
    """Holm over the stages; cycle time and time per token stand alone."""
    stages = [row for row in rows if row.metric in STAGES]
    corrected = dict(zip((row.metric for row in stages), holm([row.p or 0.0 for row in stages]), strict=True))
    return [
        row._replace(p=corrected[row.metric], shown=corrected[row.metric] < LEVEL) if row.metric in corrected else row
        for row in rows
    ]


def _half(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / 2 / median(values)


def _value(metric: str, launch: Launch, sizes: _Sizes) -> float | None:
    """A launch's value: within each batch size, then by the weights that both sides share."""
    found, weights = 0.0, 0.0
    for size, weight in sizes.weights.items():
        series = _series(metric, [point for point in launch.points if point.size == size])
        if series:
            found += weight * _statistic(metric)(series)
            weights += weight
    return found / weights if weights else None


def _statistic(metric: str) -> Callable[[Sequence[Weighted]], float]:
    return total if metric in (PER_TOKEN, ACCEPTED) else middle


def _series(metric: str, points: Sequence[Point]) -> list[Weighted]:
    """The metric of each cycle as a value and its weight; milliseconds, or tokens."""
    if metric == ACCEPTED:
        return [(point.tokens, point.requests) for point in points if point.requests]
    if metric == PER_TOKEN:
        return [
            (point.times.get(STEP, point.times[CYCLE]) / 1e6 * point.requests, point.tokens)
            for point in points
            if point.tokens and point.requests
        ]
    return [(point.times[metric] / 1e6, 1) for point in points if metric in point.times]


def _by_blocks(metric: str, a: Side, b: Side, sizes: _Sizes) -> tuple[Interval, float]:
    """By blocks of cycles, each brought to the level of its batch size, so that the mix of sizes does not count."""
    of = _statistic(metric)
    points = [[point for launch in side.launches for point in launch.points] for side in (a, b)]
    levels = {}
    for size in sizes.weights:
        pooled = _series(metric, [point for side in points for point in side if point.size == size])
        levels[size] = of(pooled) if pooled else 0.0
    whole = sum(level * sizes.weights[size] for size, level in levels.items())
    scaled = []
    for side in points:
        series: list[Weighted] = []
        for point in side:
            if levels.get(point.size, 0.0) > 0:
                scale = whole / levels[point.size]
                series += [(value * scale, weight) for value, weight in _series(metric, [point])]
        scaled.append(series)
    return block_difference(scaled[0], scaled[1], of)


def _differs(a: Side, b: Side) -> tuple[tuple[str, str, str], ...]:
    names = sorted({*a.facts, *b.facts})
    pairs = [(name, a.facts.get(name, "unset"), b.facts.get(name, "unset")) for name in names]
    return tuple(pair for pair in pairs if pair[1] != pair[2])
