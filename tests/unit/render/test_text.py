"""The text for a terminal."""

from __future__ import annotations

import re

from tests.golden import mini_report
from timing_audit.model.report import Clocks, FrontierFact, FunctionFact
from timing_audit.model.source import Skipped
from timing_audit.render.text import Style, rank, render_text


def fact(
    name: str, *, stage: str | None = None, depth: int = 1, loops: int = 0, coverage: str = "untimed"
) -> FunctionFact:
    clocks = Clocks(coverage, "untimed", "untimed")
    via = ("a.py:1",) * depth
    return FunctionFact(
        "a.py", name, 1, 2, "hot", False, ("decode",), stage, None, (), via, coverage, clocks, "", loops, 1
    )  # fmt: skip


def test_stages_go_first_then_the_shallow_then_loops() -> None:
    facts = [
        fact("deep", depth=9), fact("loop", depth=2, loops=3), fact("plain", depth=2),
        fact("stage", stage="draft", depth=9), fact("timed", stage="draft", coverage="outside"),
    ]  # fmt: skip
    assert [found.qualname for found in rank(facts)] == ["stage", "loop", "plain", "deep"]


def test_the_answer_comes_before_everything_but_the_head() -> None:
    lines = render_text(mini_report()).split("\n")
    assert lines[3] == "EAGLEWorker decode: 0 of 3 stages timed; 2 timers, graph capture only (53-55, 56-58)"


def test_it_fits_a_screen_unless_all_is_asked_for() -> None:
    short, long = render_text(mini_report()), render_text(mini_report(), Style(top=None))
    assert short.count("\n") <= 65
    assert long.count("\n") > short.count("\n")
    assert "inside: sglang/srt/" in long


def test_top_shapes_the_list_of_untimed_functions() -> None:
    assert "the first 3 of" in render_text(mini_report(), Style(top=3))


def test_every_place_can_be_clicked() -> None:
    places = re.findall(r"(\S*\.py)\S*", render_text(mini_report(), Style(prefix="python/")))
    named = [place for place in places if "/" in place]
    assert len(named) > 20
    assert all(place.startswith("python/sglang/srt/") for place in named)


def test_the_last_line_is_the_next_command() -> None:
    last = render_text(mini_report()).rstrip("\n").split("\n")[-1]
    assert last == "next: timing-audit scan fixtures/mini_sglang --worker EAGLEWorker --phase decode --all"


def test_skipped_files_are_named_with_the_reason() -> None:
    broken = mini_report()._replace(skipped=tuple(Skipped(f"{n}.py", "syntax error near line 1") for n in range(7)))
    text = render_text(broken)
    assert "skipped, 7 files\n  0.py: syntax error near line 1\n" in text
    assert "6.py" not in text
    assert "6.py" in render_text(broken, Style(top=None))


def test_colour_changes_nothing_but_colour() -> None:
    coloured = render_text(mini_report(), Style(color=True))
    assert "\033[" in coloured
    assert re.sub(r"\033\[\d+m", "", coloured).split() == render_text(mini_report()).split()


def test_the_largest_share_of_the_frontier_stands_below_the_percentages() -> None:
    report = mini_report()
    first, *rest = report.summary.rows
    rows = (first._replace(resolved=97, frontier=3), *(row._replace(resolved=100, frontier=0) for row in rest))
    lines = render_text(report._replace(summary=report.summary._replace(rows=rows))).split("\n")

    (place,) = [number for number, line in enumerate(lines) if line.startswith("  frontier: ")]
    assert lines[place] == (
        "  frontier: 3 of 100 calls, 3 % may lead to functions that are not counted here, EAGLEWorker decode at worst"
    )
    assert lines[place - 1].endswith("not counted: parts of timers, stubs, and what does no work of its own")


def test_all_lists_every_call_of_the_frontier_with_its_reason() -> None:
    call = FrontierFact("a.py", 3, 5, "run", "self.hook", "`self.hook` is only ever None", ("decode",), ("Eagle",))
    report = mini_report()
    report = report._replace(summary=report.summary._replace(frontier=(call,)))

    assert "  a.py:3 run: self.hook(...): `self.hook` is only ever None" in render_text(report, Style(top=None))
    assert "self.hook" not in render_text(report)
