"""Statistics against values worked out by hand, and against definitions."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timing_audit.runs.statistics import blocks, holm, least_p, median, permutation, quantile, quantiles, ratio

TIMES = st.lists(st.integers(0, 10**9), min_size=1, max_size=300)


def test_quantiles_interpolate() -> None:
    assert [quantile([10, 20, 30, 40, 50], share) for share in (0, 0.5, 0.9, 1)] == [10, 30, 46, 50]
    assert quantile([7], 0.99) == 7
    assert quantiles([]) is None


@given(TIMES)
def test_quantiles_are_ordered_and_inside(times: list[int]) -> None:
    found = quantiles(times)
    assert found is not None
    assert min(times) <= found.p50 <= found.p90 <= found.p99 <= max(times)
    assert found.number == len(times)


@given(st.integers(1, 100_000))
def test_blocks_part_the_cycles_without_gap_or_overlap(length: int) -> None:
    parts = blocks(length)
    assert parts[0][0] == 0 and parts[-1][1] == length
    assert all(a[1] == b[0] for a, b in pairwise(parts))
    assert len(parts) <= 401


@given(TIMES)
def test_the_whole_is_all_of_itself(times: list[int]) -> None:
    found = ratio(times, times)
    if sum(times) == 0:
        assert found is None
    else:
        assert found is not None and found.value == found.low == found.high == 1


def test_permutation_of_five_against_five_apart_is_two_in_252() -> None:
    assert permutation([1, 2, 3, 4, 5], [11, 12, 13, 14, 15]) == pytest.approx(2 / 252)
    assert least_p(5, 5) == pytest.approx(2 / 252)
    # No difference: every way to part them is at least as extreme.
    assert permutation([1, 2, 3], [1, 2, 3]) == 1


def test_permutation_counts_ways_by_hand() -> None:
    # 2 against 2 of 1, 2, 3, 10: differences of means are 5, 4, 3, 3, 4, 5 over the six ways.
    assert permutation([1, 2], [3, 10]) == pytest.approx(2 / 6)
    assert permutation([1, 3], [2, 10]) == pytest.approx(4 / 6)


def test_holm_multiplies_the_smallest_most_and_never_falls() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_median_of_even_numbers_lies_between() -> None:
    assert median([4, 1, 3, 2]) == 2.5
