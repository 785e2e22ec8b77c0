"""Percentages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from timing_audit.model.report import percent


@given(st.integers(1, 10**6), st.data())
def test_only_nothing_is_0_and_only_all_is_100(whole: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, whole))
    assert (percent(part, whole) == "0 %") == (part == 0)
    assert (percent(part, whole) == "100 %") == (part == whole)


def test_a_share_of_nothing_is_no_number() -> None:
    assert percent(0, 0) == "-"
    assert percent(1, 3) == "33 %"
