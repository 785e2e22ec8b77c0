"""Staged files against a baseline: which hot functions and wrappers time less than they did."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.model.baseline import Baseline, FunctionRecord, Identity, WrapperRecord
from timing_audit.model.drift import FEWER_CLOCKS
from timing_audit.model.pack import Packs
from timing_audit.model.source import Skipped
from timing_audit.model.staged import Loss, Staged
from timing_audit.ratchet.compare import own_losses, wrapper_losses
from timing_audit.ratchet.own import OwnFile


class Hook:
    """Asked file by file, so that what one run says does not depend on the other files."""

    def __init__(self, baseline: Baseline, packs: Packs, gone: frozenset[str]) -> None:
        """`gone` are the files of the baseline that are no longer there: what they held may have moved."""
        self._baseline = baseline
        self._packs = packs
        self._known = files_of(baseline)
        self._orphans = [record for record in baseline.functions if record.timers and record.identity.file in gone]

    def wants(self, path: str) -> bool:
        """Whether the file may hold something that the baseline speaks of; only such files are parsed."""
        return path in self._known or bool(self._orphans)

    def check(self, staged: Staged) -> tuple[list[Loss], Skipped | None]:
        """What the file loses, or why it cannot be told."""
        functions = [record for record in self._baseline.functions if record.identity.file == staged.path]
        wrappers = [record for record in self._baseline.wrappers if record.identity.file == staged.path]
        moved = [] if staged.path in self._known else self._orphans
        timed = [record for record in functions + moved if record.timers]
        if not timed and not wrappers:
            return [], None
        own = OwnFile(staged.path, staged.data, self._baseline.wrappers, self._packs)
        if own.problem is not None:
            return [], Skipped(staged.given, own.problem.reason)
        found = [*_functions(own, staged, timed), *_wrappers(own, staged, wrappers)]
        return sorted(found, key=lambda loss: (loss.line, loss.why)), None


def files_of(baseline: Baseline) -> frozenset[str]:
    """The files that a baseline speaks of."""
    functions = {record.identity.file for record in baseline.functions}
    return frozenset(functions | {record.identity.file for record in baseline.wrappers})


def _functions(own: OwnFile, staged: Staged, records: list[FunctionRecord]) -> Iterator[Loss]:
    lines, timers, calls = own.lines(), own.timers(), own.calls()
    for record in records:
        here = _here(own, record)
        for why in own_losses(record.timers, timers.get(here, ()), calls[here]) if here in lines else ():
            yield Loss(staged.given, lines[here], here.qualname, record.phases, record.stage, why)


def _here(own: OwnFile, record: FunctionRecord) -> Identity:
    """The function in this file: of the same name, else the only one with the same body."""
    same = Identity(own.path, record.identity.qualname)
    found = own.fingerprints()
    alike = [identity for identity, bodies in found.items() if record.fingerprint and record.fingerprint in bodies]
    return alike[0] if same not in found and len(alike) == 1 else same


def _wrappers(own: OwnFile, staged: Staged, records: list[WrapperRecord]) -> Iterator[Loss]:
    lines, wrappers = own.lines(), own.wrappers()
    for record in records:
        line = lines.get(record.identity, 0)
        for why in _changes(record, wrappers.get(record.identity)) if record.alone and line else ():
            yield Loss(staged.given, line, record.identity.qualname, (), None, why)


def _changes(record: WrapperRecord, now: WrapperRecord | None) -> Iterator[str]:
    if now is None:
        yield "it times nothing for its callers any more"
        return
    for change in wrapper_losses(record, now):
        yield f"it is {change.why}" if change.kind == FEWER_CLOCKS else f"it times {change.why}"
