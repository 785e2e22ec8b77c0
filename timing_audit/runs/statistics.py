"""Small statistics: quantiles, ratios with their intervals, exact permutations; every draw has a fixed seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from random import Random
from typing import NamedTuple

DRAWS, MOST_BLOCKS, BLOCK = 400, 400, 50
LOW, HIGH = 0.025, 0.975
MOST_EXACT, MOST_POINTS = 200_000, 2_000

Weighted = tuple[float, float]


class Quantiles(NamedTuple):
    """A distribution in nanoseconds."""

    number: int
    p50: int
    p90: int
    p99: int
    mean: int


class Interval(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def quantile(ordered: Sequence[int], share: float) -> int:
    """The value below which `share` of the sorted values lie, by linear interpolation."""
    place = (len(ordered) - 1) * share
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return round(ordered[below] + (ordered[above] - ordered[below]) * (place - below))


def quantiles(values: Sequence[int]) -> Quantiles | None:
    """The distribution; None where there are no values."""
    if not values:
        return None
    ordered = sorted(values)
    p50, p90, p99 = (quantile(ordered, share) for share in (0.5, 0.9, 0.99))
    return Quantiles(len(ordered), p50, p90, p99, round(sum(ordered) / len(ordered)))


def median(values: Sequence[float]) -> float:
    """The middle value."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def blocks(length: int) -> list[tuple[int, int]]:
    """Stretches of neighbouring cycles: these are not independent, so they are drawn together."""
    size = max(BLOCK, -(-length // MOST_BLOCKS))
    if length < 10 * size:
        size = max(1, length // 20)
    return [(start, min(start + size, length)) for start in range(0, length, size)]


def ratio(parts: Sequence[int], wholes: Sequence[int]) -> Interval | None:
    """The sum of the parts by the sum of the wholes, by a bootstrap over blocks."""
    total = sum(wholes)
    if total <= 0:
        return None
    pairs = [(sum(parts[a:b]), sum(wholes[a:b])) for a, b in blocks(len(wholes))]
    random, found = Random(1), []
    for _ in range(DRAWS if len(pairs) > 1 else 0):
        drawn = random.choices(pairs, k=len(pairs))
        below = sum(pair[1] for pair in drawn)
        if below:
            found.append(sum(pair[0] for pair in drawn) / below)
    value = sum(parts) / total
    return Interval(value, *_bounds(found, value))


def _bounds(found: list[float], value: float) -> tuple[float, float]:
    if not found:
        return value, value
    found.sort()
    return found[int(LOW * (len(found) - 1))], found[round(HIGH * (len(found) - 1))]


def _above(a: float, b: float) -> float:
    """How much b is above a, as a share of a; nothing is above nothing."""
    return b / a - 1 if a else 0.0


def block_difference(
    a: Sequence[Weighted], b: Sequence[Weighted], of: Callable[[Sequence[Weighted]], float]
) -> tuple[Interval, float]:
    """How much a statistic of b is above that of a, as a share; and a two-sided p, by a bootstrap over blocks."""
    a, b = _thinned(a), _thinned(b)
    value = _above(of(a), of(b))
    random = Random(2)
    found = [_above(of(_drawn(random, a)), of(_drawn(random, b))) for _ in range(DRAWS)]
    opposite = min(sum(one <= 0 for one in found), sum(one >= 0 for one in found))
    p = min(1.0, 2 * (opposite + 1) / (len(found) + 1))
    return Interval(value, *_bounds(found, value)), p


def _thinned(values: Sequence[Weighted]) -> Sequence[Weighted]:
    """Neighbours summed up where there are more than a bootstrap needs."""
    size = -(-len(values) // MOST_POINTS)
    if size < 2:
        return values
    groups = [values[at : at + size] for at in range(0, len(values), size)]
    return [(sum(value for value, _ in group), sum(weight for _, weight in group)) for group in groups]


def middle(values: Sequence[Weighted]) -> float:
    """The median of the values, each by its weight."""
    return median([value / weight for value, weight in values])


def total(values: Sequence[Weighted]) -> float:
    """The sum of the values by the sum of the weights."""
    return sum(value for value, _ in values) / sum(weight for _, weight in values)


def _drawn(random: Random, values: Sequence[Weighted]) -> list[Weighted]:
    parts = blocks(len(values))
    return [one for a, b in random.choices(parts, k=len(parts)) for one in values[a:b]]


def permutation(a: Sequence[float], b: Sequence[float]) -> float:
    """The two-sided p of the difference of means: exact over all ways to part the launches, else over many draws.

    Not of medians: launches that do not overlap at all would reach 12/252 only, for medians leave out who swaps.
    """
    pooled, whole = [*a, *b], sum(a) + sum(b)
    seen = abs(sum(a) / len(a) - sum(b) / len(b))
    count, extreme = 0, 0
    for chosen in _partitions(len(pooled), len(a)):
        left = sum(pooled[i] for i in chosen)
        count += 1
        extreme += abs(left / len(a) - (whole - left) / len(b)) >= seen * (1 - 1e-12) - 1e-12 * whole
    return extreme / count


def _partitions(size: int, left: int) -> list[tuple[int, ...]]:
    if comb(size, left) <= MOST_EXACT:
        return list(combinations(range(size), left))
    random = Random(3)
    drawn = [tuple(sorted(random.sample(range(size), left))) for _ in range(20_000)]
    return [tuple(range(left)), *drawn]


def least_p(left: int, right: int) -> float:
    """The smallest p that a permutation over so many launches could reach."""
    ways = comb(left + right, left)
    return (2 if left == right else 1) / ways


def holm(values: Sequence[float]) -> list[float]:
    """p values corrected for their number."""
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, highest = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, values[place] * (len(values) - rank)))
        corrected[place] = highest
    return corrected


def launch_difference(a: Sequence[float], b: Sequence[float]) -> Interval:
    """How much the median of b's launches is above that of a's, as a share of a's, drawing launches."""
    value = median(b) / median(a) - 1
    random = Random(4)
    pairs = [(random.choices(a, k=len(a)), random.choices(b, k=len(b))) for _ in range(DRAWS)]
    return Interval(value, *_bounds([median(right) / median(left) - 1 for left, right in pairs], value))
