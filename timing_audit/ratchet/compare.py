"""Two baselines -> what changed in coverage, and what of it got worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from timing_audit.model.baseline import CLOCK_NAMES, Baseline, FunctionRecord, Identity, OwnTimer, WrapperRecord
from timing_audit.model.drift import (
    FEWER_CLOCKS,
    GAINED,
    GATED,
    GONE,
    GONE_WRAPPER,
    KINDS,
    LOST,
    MOVED,
    NEW_WRAPPER,
    RENAMED,
    UNTIMED,
    Change,
    Drift,
    StageDrift,
    WrapperChange,
)  # fmt: skip
from timing_audit.model.report import COVERED, EXCLUDED
from timing_audit.model.report import UNTIMED as UNTIMED_WORD

RANKS = {"direct": 2, "outside": 2, "partial": 1, "untimed": 0}
"""`excluded` has no rank: what is not counted is neither better nor worse."""

Record = TypeVar("Record", FunctionRecord, WrapperRecord)


def compare(old: Baseline, new: Baseline) -> Drift:
    """Everything that changed, what got worse first."""
    before = {record.identity: record for record in old.functions}
    after = {record.identity: record for record in new.functions}
    pairs = _pairs(before, after)
    was = set(pairs.values())
    own = old.has_timers and new.has_timers
    changes = [change for new_id, old_id in pairs.items() for change in _both(before[old_id], after[new_id], own)]
    changes += [_fresh(record, record.phases) for record in new.functions if _is_gap(record, pairs)]
    changes += [_gone(record) for record in old.functions if record.identity not in was]
    ordered = sorted(changes, key=_rank)
    return Drift(old.label, new.label, tuple(ordered), tuple(_wrappers(old, new)), tuple(_stages(old, new)))


def _rank(change: Change) -> tuple[object, ...]:
    """Kind first; what was timed best or changed most; then decode, stages, and what is near the entry point."""
    known = [RANKS.get(word, 0) for word in change.before]
    steps = [abs(_step(*pair)) for pair in zip(change.before, change.after, strict=False)]
    size = 0 if change.kind == UNTIMED else max(steps or known or [0])
    return (
        KINDS.index(change.kind), -size, "decode" not in change.phases, change.stage is None, change.depth,
        change.identity,
    )  # fmt: skip


def own_losses(old: Iterable[OwnTimer], new: Iterable[OwnTimer], made: Mapping[str, int] | None = None) -> list[str]:
    """What a function's own brackets time no more, though it is still there.

    `made` counts every call of the function now, by what is written; without it a call that is in no bracket
    any more cannot be told from one that is made no more, and only gates are looked at.
    """
    old, new, losses = tuple(old), tuple(new), []
    for clock in CLOCK_NAMES:
        mine, theirs = _of_clock(old, clock), _of_clock(new, clock)
        if mine and not theirs:
            losses.append(f"no {clock} timer is left in it")
            continue
        losses += [f"`{call}` is in no {clock} timer any more" for call in _fallen(mine, theirs, made)]
        if any(not timer.gate for timer in mine) and theirs and all(timer.gate for timer in theirs):
            losses.append(f"its {clock} timers time only if {theirs[0].gate}")
    return losses


def _of_clock(timers: Iterable[OwnTimer], clock: str) -> list[OwnTimer]:
    return [timer for timer in timers if timer.clock == clock]


def _fallen(old: Iterable[OwnTimer], new: Iterable[OwnTimer], made: Mapping[str, int] | None) -> list[str]:
    if made is None:
        return []
    timed = Counter(call for timer in old for call in set(timer.calls))
    still = Counter(call for timer in new for call in timer.calls)
    return sorted(call for call in timed if made.get(call, 0) > still[call] and not still[call])


# Which old function is which new one.


def _pairs(
    before: Mapping[Identity, FunctionRecord], after: Mapping[Identity, FunctionRecord]
) -> dict[Identity, Identity]:
    """New identity -> old one: the same, or moved, or renamed where only one pair fits."""
    pairs = {identity: identity for identity in after if identity in before}
    for key in (_by_name_and_body, _by_name, _by_body):
        was = set(pairs.values())
        gone = [record for identity, record in before.items() if identity not in was]
        fresh = [record for identity, record in after.items() if identity not in pairs]
        pairs.update(_unique(gone, fresh, key))
    return pairs


def _unique(
    gone: Iterable[Record], fresh: Iterable[Record], key: Callable[[Record], object]
) -> Iterator[tuple[Identity, Identity]]:
    left, right = _singles(gone, key), _singles(fresh, key)
    for value, record in right.items():
        if value in left:
            yield record.identity, left[value].identity


def _singles(records: Iterable[Record], key: Callable[[Record], object]) -> dict[object, Record]:
    """The records whose key no other one has; those without a key are left out."""
    keyed = [(value, record) for record in records if (value := key(record))]
    counts = Counter(value for value, _ in keyed)
    return {value: record for value, record in keyed if counts[value] == 1}


def _by_name_and_body(record: FunctionRecord) -> object:
    return (record.identity.qualname, record.fingerprint) if record.fingerprint else None


def _by_name(record: FunctionRecord) -> object:
    return record.identity.qualname


def _by_body(record: FunctionRecord) -> object:
    return record.fingerprint


# Functions.


def _both(old: FunctionRecord, new: FunctionRecord, own: bool) -> Iterator[Change]:
    """The changes of a function that is hot on both sides."""
    steps = [_step(left, right) for left, right in zip(old.words, new.words, strict=True)]
    gates = own_losses(old.timers, new.timers) if own and min(steps) >= 0 else []
    if min(steps) < 0 or gates:
        yield _change(LOST, old, new, new.phases, "; ".join(gates))
    elif max(steps) > 0:
        yield _change(GAINED, old, new, new.phases)
    added = tuple(phase for phase in new.phases if phase not in old.phases)
    if new.coverage == UNTIMED_WORD and (added or old.coverage == EXCLUDED) and min(steps) >= 0:
        why = f"was hot in {' and '.join(old.phases)} only" if added else "did no work of its own before"
        yield _change(UNTIMED, old, new, added or new.phases, why)
    if old.identity != new.identity:
        kind = MOVED if old.identity.qualname == new.identity.qualname else RENAMED
        yield _change(kind, old, new, new.phases, "" if old.fingerprint == new.fingerprint else "its body changed too")


def _step(before: str, after: str) -> int:
    if EXCLUDED in (before, after):
        return 0
    return RANKS[after] - RANKS[before]


def _change(kind: str, old: FunctionRecord, new: FunctionRecord, phases: tuple[str, ...], why: str = "") -> Change:
    was = old.identity if old.identity != new.identity else None
    return Change(kind, new.identity, was, new.line, phases, new.stage, old.words, new.words, why, new.depth)


def _is_gap(record: FunctionRecord, pairs: Mapping[Identity, Identity]) -> bool:
    return record.identity not in pairs and record.coverage == UNTIMED_WORD


def _fresh(record: FunctionRecord, phases: tuple[str, ...]) -> Change:
    return Change(UNTIMED, record.identity, None, record.line, phases, record.stage, (), record.words, "", record.depth)


def _gone(record: FunctionRecord) -> Change:
    return Change(GONE, record.identity, None, 0, record.phases, record.stage, record.words, ())


# Wrappers and stages.


def _wrappers(old: Baseline, new: Baseline) -> Iterator[WrapperChange]:
    before = {record.identity: record for record in old.wrappers}
    after = {record.identity: record for record in new.wrappers}
    gone = [record for identity, record in before.items() if identity not in after]
    fresh = [record for identity, record in after.items() if identity not in before]
    moved = dict(_unique(gone, fresh, lambda record: record.identity.qualname))
    for identity, record in sorted(after.items()):
        was = before.get(moved.get(identity, identity))
        if was is None:
            yield WrapperChange(NEW_WRAPPER, identity, record.clocks, _gate(record.gate))
        else:
            yield from wrapper_losses(was, record)
    for identity, record in sorted(before.items()):
        if identity not in after and identity not in moved.values():
            yield WrapperChange(GONE_WRAPPER, identity, record.clocks, "")


def wrapper_losses(old: WrapperRecord, new: WrapperRecord) -> Iterator[WrapperChange]:
    """What a wrapper that is on both sides does no more."""
    missing = tuple(clock for clock in old.clocks if clock not in new.clocks)
    if missing:
        yield WrapperChange(FEWER_CLOCKS, new.identity, missing, f"no longer on the {' and '.join(missing)} clock")
    if new.gate and not old.gate:
        yield WrapperChange(GATED, new.identity, new.clocks, _gate(new.gate))


def _gate(gate: str) -> str:
    return gate if not gate or gate.startswith("only ") else f"only if {gate}"


def _stages(old: Baseline, new: Baseline) -> Iterator[StageDrift]:
    sides = (_tally(old), _tally(new))
    keys = {key for side in sides for key in side}
    for phase, stage in sorted(keys, key=lambda key: (key[0], key[1] is None, key[1] or "")):
        counts = [side.get((phase, stage), (0, 0, 0, 0)) for side in sides]
        columns = list(zip(*counts, strict=True))
        yield StageDrift(phase, stage, columns[0], (columns[1], columns[2], columns[3]))


def _tally(baseline: Baseline) -> dict[tuple[str, str | None], tuple[int, int, int, int]]:
    found: dict[tuple[str, str | None], tuple[int, int, int, int]] = {}
    for record in baseline.functions:
        if record.coverage == EXCLUDED:
            continue
        timed = tuple(int(word in COVERED) for word in record.words)
        for phase in record.phases:
            hot, host, device, trace = found.get((phase, record.stage), (0, 0, 0, 0))
            found[phase, record.stage] = (hot + 1, host + timed[0], device + timed[1], trace + timed[2])
    return found
