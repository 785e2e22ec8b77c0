"""Which lines a body's brackets time, and the exclusive regions that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from timing_audit.model.report import Timed
from timing_audit.model.timing import Bracket, Clock, Site
from timing_audit.timing.lines import Lines

HOST, DEVICE, TRACE = Clock.HOST, Clock.DEVICE, Clock.TRACE


class Statement(NamedTuple):
    """A statement with its phases and, by clock, the innermost bracket around it: its place in the list of brackets."""

    lines: Lines
    phases: tuple[str, ...]
    innermost: tuple[int | None, int | None, int | None]


class Region(NamedTuple):
    """Consecutive statements of one key that the same brackets time."""

    start: int
    end: int
    phase: str
    stage: str
    timed: Timed


def contains(bracket: Bracket, line: int, end_line: int, column: int = 0) -> bool:
    """Whether a bracket times a range of lines; later items of its `with` lie inside it too."""
    if any(start <= line and end_line <= end for start, end in bracket.covers):
        return True
    if not bracket.inside or not bracket.covers or line >= bracket.covers[0][0]:
        return False
    return (line, column) >= min(bracket.inside)


def innermost(brackets: Sequence[Bracket], clock: Clock, lines: Lines) -> int | None:
    """The shortest bracket of a clock class around a statement; of equal ones the later."""
    around = [
        (bracket.end_line - bracket.start_line, -bracket.start_line, -place, place)
        for place, bracket in enumerate(brackets)
        if bracket.clock is clock and contains(bracket, lines.start, lines.end)
    ]
    return min(around)[-1] if around else None


def own_statements(
    found: Iterable[tuple[Lines, tuple[str, ...]]], sites: Sequence[Site], brackets: Sequence[Bracket]
) -> list[Statement]:
    """The statements that can be timed: all but those that are a timer's own and in no bracket."""
    own = {site.line for site in sites}
    kept = []
    for span, phases in found:
        around = (innermost(brackets, HOST, span), innermost(brackets, DEVICE, span), innermost(brackets, TRACE, span))
        is_timer = any(span.start <= line <= span.end for line in own)
        if not is_timer or any(place is not None for place in around):
            kept.append(Statement(span, phases, around))
    return kept


def regions_of(
    statements: Sequence[Statement], place: Callable[[Statement], tuple[str, str]], outside: Timed
) -> list[Region]:
    """Runs of statements with one phase, stage and set of innermost brackets; `place` tells phase and stage.

    `outside` are the clocks that time the whole function from its callers.
    """
    found = []
    keyed = [(place(statement), statement) for statement in statements]
    for ((phase, stage), around), run in groupby(keyed, key=lambda pair: (pair[0], pair[1].innermost)):
        members = [statement for _, statement in run]
        timed = Timed(*(near is not None or far for near, far in zip(around, outside, strict=True)))
        found.append(Region(members[0].lines.start, members[-1].lines.end, phase, stage, timed))
    return found
