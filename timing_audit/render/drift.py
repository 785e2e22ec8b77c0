"""What changed against a baseline: for a terminal, and as the `drift` of the JSON report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from timing_audit.model.baseline import CLOCK_NAMES, Identity
from timing_audit.model.drift import (
    GAINED,
    GATED,
    GONE,
    GONE_WRAPPER,
    LOST,
    MOVED,
    NEW_WRAPPER,
    RENAMED,
    UNTIMED,
    WORSE,
    Change,
    Drift,
    StageDrift,
    WrapperChange,
)  # fmt: skip
from timing_audit.render.text import BOLD, GREEN, RED, Style

MOST_FILES = 3
TITLES = {
    LOST: ("lost coverage", RED),
    UNTIMED: ("newly hot and untimed", RED),
    GAINED: ("gained coverage", GREEN),
    MOVED: ("moved to another file", BOLD),
    RENAMED: ("renamed, by their bodies", BOLD),
    GONE: ("no longer hot", BOLD),
}
WRAPPERS = {NEW_WRAPPER: "new", GONE_WRAPPER: "gone", GATED: "now times"}


def render_drift(drift: Drift, style: Style) -> str:
    """The whole text; `style.top` limits what got no worse, and longer lists of what did."""
    return "\n".join(_lines(drift, style)).rstrip("\n") + "\n"


def verdict(drift: Drift) -> str:
    """What got worse, in one phrase."""
    parts = [f"{len(drift.of(kind)):,} {TITLES[kind][0]}" for kind in (LOST, UNTIMED) if drift.of(kind)]
    gated = sum(change.is_worse for change in drift.wrappers)
    parts += [f"{gated} wrapper times less" if gated == 1 else f"{gated} wrappers time less"] if gated else []
    return ", ".join(parts) or "nothing got worse"


def drift_document(drift: Drift) -> dict[str, object]:
    """The drift as plain data."""
    return {
        "old": drift.old,
        "new": drift.new,
        "worse": drift.worse,
        "changes": [_change_row(change) for change in drift.changes],
        "wrappers": [_wrapper_row(change) for change in drift.wrappers],
        "stages": [_stage_row(stage) for stage in drift.stages],
    }


def change_text(change: Change) -> str:
    """What happened to a function, without its place."""
    if change.was is not None and change.kind in (MOVED, RENAMED):
        return f"{change.identity.qualname}: {_origin(change, change.was)}{_about(change)}"
    return f"{change.identity.qualname}{_about(change)}"


def _lines(drift: Drift, style: Style) -> Iterator[str]:
    code = RED if drift.worse else GREEN
    yield f"{style.paint(BOLD, f'{drift.new} against {drift.old}')}: {style.paint(code, verdict(drift))}"
    yield ""
    yield from _table(drift.stages, style)
    for kind, (title, color) in TITLES.items():
        changes = drift.of(kind)
        shown = changes if style.top is None else changes[: _most_of(kind, style.top)]
        if changes:
            first = f", the first {len(shown)}" if len(shown) < len(changes) else ""
            yield style.paint(color, f"{title}: {len(changes):,}{first}") if shown else f"{title}: {len(changes):,}"
            yield from (f"  {_place(change, style)} {change_text(change)}" for change in shown)
            yield from _most(changes[len(shown) :])
            yield ""
    if drift.wrappers:
        yield style.paint(BOLD, "the tree's own timers")
        yield from (f"  {_wrapper(change)}" for change in drift.wrappers)
        yield ""


def _most_of(kind: str, top: int) -> int:
    """What got no worse gets a third of the lines."""
    return top if kind in WORSE else -(-top // 3)


def _most(rest: Sequence[Change]) -> Iterator[str]:
    """Where most of the others are."""
    files = Counter(change.identity.file for change in rest).most_common(MOST_FILES)
    if files:
        yield f"  and {len(rest):,} more, most in " + ", ".join(f"{file} ({count})" for file, count in files)


def _table(stages: Sequence[StageDrift], style: Style) -> Iterator[str]:
    """Stages whose figures differ; the others are of no news."""
    told = [stage for stage in stages if any(old != new for old, new in (stage.hot, *stage.timed))]
    if not told:
        return
    yield style.paint(
        BOLD, f"{'hot functions counted, timed':<28}{'hot':>16}" + "".join(f"{c:>13}" for c in CLOCK_NAMES)
    )
    for stage in told:
        name = f"{stage.phase} {stage.stage or 'outside stages'}"
        yield f"{name:<28}{_step(*stage.hot):>16}" + "".join(f"{_step(*pair):>13}" for pair in stage.timed)
    yield ""


def _step(old: int, new: int) -> str:
    return f"{new:,}" if old == new else f"{old:,} -> {new:,}"


def _place(change: Change, style: Style) -> str:
    if change.kind == GONE:
        return change.identity.file
    return f"{style.prefix}{change.identity.file}:{change.line}"


def _origin(change: Change, was: Identity) -> str:
    """Where and under which name it was."""
    if change.kind == MOVED:
        return f"was in {was.file}"
    return f"was {was.qualname}" + (f" in {was.file}" if was.file != change.identity.file else "")


def _about(change: Change) -> str:
    if change.kind in (MOVED, RENAMED):
        return f" ({change.why})" if change.why else ""
    where = ", ".join([change.stage or "no stage", "+".join(change.phases)])
    words = _words(change.before, change.after)
    return ": " + "; ".join(part for part in (where, words, change.why) if part)


def _words(before: Sequence[str], after: Sequence[str]) -> str:
    """The clocks whose word changed; of what went, those it had."""
    if before and after:
        steps = zip(CLOCK_NAMES, before, after, strict=True)
        return ", ".join(f"{clock} {old} -> {new}" for clock, old, new in steps if old != new)
    known = zip(CLOCK_NAMES, before or after, strict=True)
    return ", ".join(f"{clock} {word}" for clock, word in known if word not in ("untimed", "excluded"))


def _wrapper(change: WrapperChange) -> str:
    what = WRAPPERS.get(change.kind, "")
    told = " ".join(part for part in (what, change.why if change.kind != NEW_WRAPPER else "") if part)
    gate = f", {change.why}" if change.kind == NEW_WRAPPER and change.why else ""
    clocks = "+".join(change.clocks)
    return f"{change.identity.file} {change.identity.qualname} ({clocks}): {told}{gate}"


# Plain data.


def _change_row(change: Change) -> dict[str, object]:
    return {
        "kind": change.kind,
        "worse": change.is_worse,
        "file": change.identity.file,
        "qualname": change.identity.qualname,
        "line": change.line or None,
        "was": None if change.was is None else {"file": change.was.file, "qualname": change.was.qualname},
        "phases": list(change.phases),
        "stage": change.stage,
        "before": _clocks(change.before),
        "after": _clocks(change.after),
        "why": change.why,
    }


def _clocks(words: Sequence[str]) -> dict[str, str] | None:
    return dict(zip(CLOCK_NAMES, words, strict=True)) if words else None


def _wrapper_row(change: WrapperChange) -> dict[str, object]:
    return {
        "kind": change.kind, "worse": change.is_worse, "file": change.identity.file,
        "qualname": change.identity.qualname, "clocks": list(change.clocks), "why": change.why,
    }  # fmt: skip


def _stage_row(stage: StageDrift) -> dict[str, object]:
    timed = zip(CLOCK_NAMES, stage.timed, strict=True)
    return {
        "phase": stage.phase, "stage": stage.stage, "hot": _pair(*stage.hot),
        "timed": {clock: _pair(*pair) for clock, pair in timed},
    }  # fmt: skip


def _pair(old: int, new: int) -> dict[str, int]:
    return {"old": old, "new": new}
