"""Sets of values, and the collections that hold them."""

from __future__ import annotations

from collections.abc import Iterable

from timing_audit.model.program import NOTHING, Bag, Row, Value, Values


DEEPEST = 4
"""Collections nested deeper than this hold nothing that is followed."""


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


def joined(values: Values, depth: int = DEEPEST) -> Values:
    """The same with one collection for all of them, and one tuple for all of a length.

    What a collection holds grows while a program is read; without this every step would leave a value behind.
    """
    plain = [value for value in values if type(value) is not Bag and type(value) is not Row]
    if len(plain) == len(values):
        return values
    if not depth:
        return frozenset(plain)
    bags = [value.values for value in values if isinstance(value, Bag)]
    rows: dict[int, list[Row]] = {}
    for value in values:
        if isinstance(value, Row):
            rows.setdefault(len(value.items), []).append(value)
    held: list[Value] = [Bag(joined(union(bags), depth - 1))] if bags else []
    for alike in rows.values():
        columns = zip(*[row.items for row in alike], strict=True)
        held.append(Row(tuple(joined(union(column), depth - 1) for column in columns)))
    return frozenset((*plain, *held))


def flat(value: Bag | Row) -> Values:
    """The elements of a collection, positions forgotten."""
    return value.values if isinstance(value, Bag) else union(value.items)


def bag(values: Values) -> Values:
    """A collection of these values."""
    return frozenset((Bag(shallow(values)),))
