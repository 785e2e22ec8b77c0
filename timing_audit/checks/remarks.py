"""Marks and comments: timers that were inserted and left, comments that silence nothing."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.checks.base import ERROR, NOTE, Check, example
from timing_audit.model.checks import CheckPage
from timing_audit.model.evidence import Evidence, Spot
from timing_audit.model.report import Finding, Report


def _left(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for probe in evidence.probes:
        spot = Spot(probe.file, probe.line, probe.line, "", None, "other")
        yield check.at(spot, f"the inserted timer {probe.id} is still in the tree")


def _nothing(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    return iter(())


LEFTOVER_PROBE = Check(
    CheckPage(
        "leftover-probe",
        'An inserted timer that is still in the tree, where the configuration says `probes = "none"`.',
        "Inserted timers are for a measurement and come out again. Without that setting they are nobody's fault, and "
        "this check reports nothing.",
        ERROR,
        "`timing-audit strip` takes them out",
        (
            example(
                "a mark",
                """
def step(worker, batch):
    worker.draft(batch)  # timing: probe 3f2a  # finds: leftover-probe
""",
            ),
        ),
        (
            example(
                "another comment",
                """
def step(worker, batch):
    worker.draft(batch)  # timing: see the notes
""",
            ),
        ),
    ),
    _left,
)

UNUSED_SUPPRESSION = Check(
    CheckPage(
        "unused-suppression",
        "A comment that silences nothing, or gives no reason.",
        "The fault that it silenced is gone, or it stands in the wrong place; it would hide the next one.",
        NOTE,
        "take it out, or write `# timing: ignore[check-id] reason` where the finding is",
        (
            example(
                "nothing to silence",
                """
def step(worker, batch):
    worker.draft(batch)  # timing: ignore[mixed-clocks] two hosts  # finds: unused-suppression
""",
            ),
        ),
        (
            example(
                "a finding silenced",
                """
import time

def queued(request):
    received = time.time()
    request.wait()
    return time.perf_counter() - received  # timing: ignore[mixed-clocks] for a demonstration
""",
            ),
        ),
    ),
    _nothing,
)

CHECKS = (LEFTOVER_PROBE, UNUSED_SUPPRESSION)
