"""A report -> the records of a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from timing_audit.model.baseline import Baseline, FunctionRecord, Identity, OwnTimer, WrapperRecord
from timing_audit.model.report import WORDS, FunctionFact, Report, WrapperFact

Timers = Mapping[Identity, tuple[OwnTimer, ...]]
PHASES = ("decode", "prefill")


def baseline_of(report: Report, timers: Timers) -> Baseline:
    """The hot functions of a report and the wrappers that time them, with the functions' own timers."""
    functions = [_function(fact, timers) for fact in report.functions if fact.role == "hot"]
    used = [fact for fact in report.summary.wrappers if fact.hot_uses]
    names = {Identity(fact.file, fact.name) for fact in used}
    wrappers = [_wrapper(fact) for fact in used if not _is_part(fact, names)]
    target = report.target
    return Baseline(target.package, target.version, merged(functions), tuple(sorted(set(wrappers))))


def _function(fact: FunctionFact, timers: Timers) -> FunctionRecord:
    identity = Identity(fact.file, fact.qualname)
    return FunctionRecord(
        identity, fact.fingerprint, fact.phases, fact.stage, fact.coverage,
        (fact.clocks.host, fact.clocks.device, fact.clocks.trace), timers.get(identity, ()), fact.line,
        len(fact.via),
    )  # fmt: skip


def _wrapper(fact: WrapperFact) -> WrapperRecord:
    return WrapperRecord(Identity(fact.file, fact.name), fact.clocks or (fact.clock,), fact.forms, fact.gate)


def _is_part(fact: WrapperFact, names: set[Identity]) -> bool:
    """Whether it is the inner function of another wrapper."""
    parts = fact.name.split(".")
    return any(Identity(fact.file, ".".join(parts[:end])) in names for end in range(1, len(parts)))


def merged(records: Iterable[FunctionRecord]) -> tuple[FunctionRecord, ...]:
    """Sorted, one record an identity: several definitions of one name are as badly timed as the worst of them."""
    found: dict[Identity, FunctionRecord] = {}
    for record in records:
        other = found.get(record.identity)
        found[record.identity] = record if other is None else _worst(other, record)
    return tuple(found[identity] for identity in sorted(found))


def _worst(one: FunctionRecord, other: FunctionRecord) -> FunctionRecord:
    host, device, trace = (_worse(*pair) for pair in zip(one.words, other.words, strict=True))
    phases = tuple(phase for phase in PHASES if phase in {*one.phases, *other.phases})
    fingerprints = sorted({one.fingerprint, other.fingerprint} - {""})
    return one._replace(
        fingerprint="+".join(fingerprints), phases=phases, stage=one.stage or other.stage,
        coverage=_worse(one.coverage, other.coverage), words=(host, device, trace),
    )  # fmt: skip


def _worse(one: str, other: str) -> str:
    """The worse of two words; one that is counted goes before `excluded`."""
    counted = [word for word in (one, other) if word != "excluded"]
    return max(counted, key=WORDS.index, default="excluded")
