"""What changed, for a terminal: what got worse first, and about a screen of it."""

from __future__ import annotations

from timing_audit.model.baseline import Identity
from timing_audit.model.drift import (
    GAINED,
    GATED,
    GONE,
    LOST,
    RENAMED,
    UNTIMED,
    Change,
    Drift,
    StageDrift,
    WrapperChange,
)
from timing_audit.render.drift import render_drift, verdict
from timing_audit.render.text import Style

TIMED, BARE = ("direct", "outside", "untimed"), ("untimed",) * 3


def change(kind: str, number: int = 0, **more: object) -> Change:
    before, after = (BARE, TIMED) if kind == GAINED else (TIMED, BARE)
    made = Change(kind, Identity(f"a{number % 5}.py", f"f{number}"), None, number, ("decode",), "draft", before, after)
    return made._replace(**more)  # type: ignore[arg-type]


def drift(*changes: Change, wrappers: tuple[WrapperChange, ...] = (), stages: tuple[StageDrift, ...] = ()) -> Drift:
    return Drift("engine 1", "engine 2", changes, wrappers, stages)


def test_each_kind_says_what_matters_for_it() -> None:
    renamed = change(RENAMED, was=Identity("b.py", "g"), why="its body changed too")
    gone, fresh = change(GONE, after=()), change(UNTIMED, 7, before=(), after=BARE, stage=None)

    text = render_drift(drift(change(LOST, 3, why="no host timer is left"), fresh, renamed, gone), Style(prefix="p/"))

    assert text == (
        "engine 2 against engine 1: 1 lost coverage, 1 newly hot and untimed\n\n"
        "lost coverage: 1\n"
        "  p/a3.py:3 f3: draft, decode; host direct -> untimed, device outside -> untimed; no host timer is left\n"
        "\n"
        "newly hot and untimed: 1\n"
        "  p/a2.py:7 f7: no stage, decode\n\n"
        "renamed, by their bodies: 1\n"
        "  p/a0.py:0 f0: was g in b.py (its body changed too)\n\n"
        "no longer hot: 1\n"
        "  a0.py f0: draft, decode; host direct, device outside\n"
    )


def test_stages_whose_figures_stay_are_no_news() -> None:
    same = StageDrift("decode", "verify", (9, 9), ((0, 0), (0, 0), (0, 0)))
    other = StageDrift("decode", "draft", (9, 12), ((0, 3), (1, 1), (2, 0)))

    text = render_drift(drift(stages=(same, other)), Style())

    assert "verify" not in text
    assert "decode draft                         9 -> 12       0 -> 3            1       2 -> 0\n" in text


def test_a_wrapper_that_times_less_is_counted() -> None:
    gated = WrapperChange(GATED, Identity("a.py", "span"), ("trace",), "only if DEBUG")

    assert verdict(drift(wrappers=(gated,))) == "1 wrapper times less"
    assert "a.py span (trace): now times only if DEBUG" in render_drift(drift(wrappers=(gated,)), Style())
    assert verdict(drift(change(GAINED))) == "nothing got worse"


def test_it_fits_a_screen_unless_all_is_asked_for() -> None:
    many = tuple(change(kind, number) for kind in (LOST, UNTIMED, GAINED, GONE) for number in range(50))

    short, long = render_drift(drift(*many), Style(top=10)), render_drift(drift(*many), Style(top=None))

    assert short.count("\n") <= 50
    assert "  and 40 more, most in a0.py (8), a1.py (8), a2.py (8)\n" in short
    assert long.count("\n") > 200
    assert "more, most in" not in long
