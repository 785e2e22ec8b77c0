"""Statement lines and exclusive regions, on whatever bodies and brackets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from timing_audit.model.report import Timed
from timing_audit.model.timing import Bracket, Clock
from timing_audit.syntax.module import Module
from timing_audit.timing.lines import Lines, statement_lines
from timing_audit.timing.regions import own_statements, regions_of

NOWHERE = Timed(False, False, False)


def lines_of(source: str) -> list[tuple[int, int]]:
    return [(lines.start, lines.end) for lines in statement_lines(Module("m.py", source.encode()).body(1))]


def test_what_takes_no_time_is_no_statement() -> None:
    source = 'def f(x):\n    """Doc."""\n    import a\n    def g():\n        pass\n    pass\n    return x\n'
    assert lines_of(source) == []


def test_heads_count_and_so_do_returns_that_call() -> None:
    source = "def f(x):\n    if g(\n        x\n    ):\n        a = 1\n    for i in x:\n        h()\n    return h()\n"
    assert lines_of(source) == [(2, 4), (5, 5), (6, 6), (7, 7), (8, 8)]


def test_statements_of_one_line_are_one() -> None:
    assert lines_of("def f():\n    a(); b()\n    if c(): d()\n") == [(2, 2), (3, 3)]


def test_branches_of_try_are_read_in_order() -> None:
    heads = ("try", "except E", "else", "finally")
    source = "def f():\n" + "".join(f"    {head}:\n        a()\n" for head in heads)
    assert lines_of(source) == [(3, 3), (5, 5), (7, 7), (9, 9)]


spans = st.tuples(st.integers(1, 40), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
brackets = st.lists(st.tuples(spans, st.sampled_from(Clock)), max_size=8).map(
    lambda found: [Bracket("m.py", *span, clock, None, "", "", "", (span,), (), "") for span, clock in found]
)


@given(st.sets(st.integers(1, 40)), brackets, st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_every_statement_is_in_one_region_and_timed_as_its_brackets_say(
    rows: set[int], found: list[Bracket], outside: tuple[bool, bool, bool]
) -> None:
    hot = [(Lines(row, row), ("decode",)) for row in sorted(rows)]
    statements = own_statements(hot, (), found)
    regions = regions_of(statements, lambda statement: ("decode", ""), Timed(*outside))
    for row in rows:
        (region,) = [region for region in regions if region.start <= row <= region.end]
        for clock, timed, far in zip(Clock, region.timed, outside, strict=True):
            near = any(b.start_line <= row <= b.end_line for b in found if b.clock is clock)
            assert timed == (near or far)


@given(st.sets(st.integers(1, 40), min_size=1), brackets)
def test_the_innermost_bracket_is_a_shortest_one(rows: set[int], found: list[Bracket]) -> None:
    for statement in own_statements([(Lines(row, row), ("decode",)) for row in rows], (), found):
        for clock, place in zip(Clock, statement.innermost, strict=True):
            row = statement.lines.start
            lengths = [
                b.end_line - b.start_line for b in found if b.clock is clock and b.start_line <= row <= b.end_line
            ]
            assert (place is None) == (not lengths)
            if place is not None:
                assert found[place].end_line - found[place].start_line == min(lengths)
