"""Sets of values, and the collections that hold them."""

from __future__ import annotations

from collections.abc import Iterable

from timing_audit.model.program import NOTHING, Bag, Row, Values


def union(sets: Iterable[Values]) -> Values:
    """All values of some sets."""
    return NOTHING.union(*sets)


def shallow(values: Values) -> Values:
    """Values to be held by a collection: collections inside collections inside collections are dropped."""
    return frozenset(
        value
        if not isinstance(value, (Bag, Row))
        else Bag(frozenset(inner for inner in flat(value) if not isinstance(inner, (Bag, Row))))
        for value in values
    )


def flat(value: Bag | Row) -> Values:
    """The elements of a collection, positions forgotten."""
    return value.values if isinstance(value, Bag) else union(value.items)


def bag(values: Values) -> Values:
    """A collection of these values."""
    return frozenset((Bag(shallow(values)),))
