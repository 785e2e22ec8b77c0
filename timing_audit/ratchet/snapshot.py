"""A report and its tree -> a baseline, which also holds what each file shows of its own timers."""

from __future__ import annotations

from collections.abc import Iterable

from timing_audit.model.baseline import Baseline, Identity, OwnTimer, WrapperRecord
from timing_audit.model.pack import Packs
from timing_audit.model.report import EXCLUDED, Report
from timing_audit.ratchet.compare import wrapper_losses
from timing_audit.ratchet.own import OwnFile
from timing_audit.ratchet.records import PHASES, baseline_of
from timing_audit.source.tree import Tree


def snapshot(report: Report, tree: Tree, packs: Packs) -> Baseline:
    """The baseline of a scan. Only files with a bracket on the hot path are looked at once more."""
    plain = baseline_of(report, {})
    wrappers = tuple(_completed(record, plain.wrappers, tree, packs) for record in plain.wrappers)
    counted = {record.identity for record in plain.functions if record.coverage != EXCLUDED}
    timers: dict[Identity, tuple[OwnTimer, ...]] = {}
    for path in sorted({bracket.file for bracket in report.brackets if bracket.phase in PHASES}):
        own = OwnFile(path, tree.read(path).data, wrappers, packs).timers()
        timers.update((identity, found) for identity, found in own.items() if identity in counted)
    return baseline_of(report, timers)._replace(wrappers=wrappers)


def _completed(record: WrapperRecord, known: Iterable[WrapperRecord], tree: Tree, packs: Packs) -> WrapperRecord:
    """With what the wrapper's own file shows."""
    file, name = record.identity
    own = OwnFile(file, tree.read(file).data, known, packs)
    alone = own.wrappers().get(record.identity)
    is_alone = alone is not None and not any(wrapper_losses(record, alone))
    return record._replace(aliases=tuple(sorted(own.aliases().get(name, ()))), alone=is_alone)
