"""All evidence of one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from timing_audit.evidence.capture import Capture
from timing_audit.evidence.events import Events
from timing_audit.evidence.faults import Faults
from timing_audit.evidence.labels import Labels
from timing_audit.evidence.launches import Launches
from timing_audit.evidence.modes import Modes
from timing_audit.evidence.remarks import probes, suppressions
from timing_audit.evidence.replays import Replays
from timing_audit.evidence.spots import Spots
from timing_audit.evidence.unused import Unused
from timing_audit.model.evidence import Evidence
from timing_audit.model.pack import Packs
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.library import Unit
from timing_audit.timing.describe import Describer, Facts

Raw = Callable[[str], bytes]


def collect(
    facts: Facts, describer: Describer, names: Evaluator, packs: Packs, files: Sequence[Unit],
    paths: Sequence[str], raw: Raw, *, package: str, no_probes: bool,
) -> Evidence:  # fmt: skip
    """What the checks judge; `paths` and `raw` are the whole tree, `no_probes` tells that it must hold none."""
    spots = Spots(facts, describer)
    classes = tuple(found for unit in files for found in facts.survey.of_classes(unit.path))
    faults = Faults(facts, packs, spots, classes)
    launches = Launches(facts, names, packs, spots)
    replays = Replays(facts, names, packs, spots)
    labels = Labels(facts, describer, spots)
    return Evidence(
        loose=tuple(faults.loose()),
        mixed=tuple(faults.mixed()),
        intervals=tuple(faults.intervals()),
        launches=tuple(launches.found()),
        events=tuple(Events(facts, spots, launches).found()),
        syncs=tuple(faults.syncs()),
        silent=tuple(Capture(facts, names, packs, spots, replays.ending()).silent()),
        replays=tuple(replays.found()),
        unused=tuple(Unused(facts, spots, paths, raw, package).found()),
        labels=tuple(labels.spelled()),
        wrong_labels=(*labels.wrong(), *Modes(facts, packs, spots).wrong()),
        probes=tuple(probes(paths, raw)) if no_probes else (),
        suppressions=tuple(suppressions(files)),
    )
