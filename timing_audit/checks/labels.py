"""Labels that do not say what is timed."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.checks.base import HIGH, MEDIUM, WARNING, Check, example
from timing_audit.model.checks import CheckPage
from timing_audit.model.evidence import Evidence, Label
from timing_audit.model.report import Finding, Report


def _ambiguous(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    groups: dict[tuple[str, str], list[Label]] = {}
    for label in evidence.labels:
        groups.setdefault((label.clock, label.label), []).append(label)
    for (_, name), labels in groups.items():
        stages = sorted({label.spot.stage or "" for label in labels})
        for stage in stages if len(stages) > 1 else ():
            first = next(label for label in labels if label.spot.stage == stage)
            other = next(label for label in labels if label.spot.stage != stage)
            yield check.at(
                first.spot,
                f"`{name}` names the {stage} stage here and the {other.spot.stage} stage at "
                f"{other.spot.file}:{other.spot.line}: their times cannot be told apart",
                confidence=HIGH if first.spot.file == other.spot.file else MEDIUM,
            )


def _wrong(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    for wrong in evidence.wrong_labels:
        if wrong.cause:
            message = (
                f"a batch of the {wrong.times} stage is built with the mode {wrong.label}, and the timers that follow "
                f"the mode, at {wrong.cause}, book its time under {wrong.says}"
            )
        else:
            message = f"`{wrong.label}` says {wrong.says}, and what it times is the {wrong.times} stage"
        yield check.at(wrong.spot, message, confidence=HIGH if wrong.sure else MEDIUM)


AMBIGUOUS_LABEL = Check(
    CheckPage(
        "ambiguous-label",
        "One label for two stages.",
        "What is recorded under one name is added up or laid over each other, and nobody can tell the stages apart.",
        WARNING,
        "give each stage a label of its own",
        (
            example(
                "one name",
                """
import torch

class EAGLEWorker:
    def forward_batch_generation(self, batch):
        with torch.profiler.record_function("forward"):  # finds: ambiguous-label
            tree = self.draft(batch)
        with torch.profiler.record_function("forward"):  # finds: ambiguous-label
            return self.verify(tree)

    def draft(self, batch):
        return self.head.step(batch)

    def verify(self, tree):
        return self.target.step(tree)
""",
                packs=True,
            ),
        ),
        (
            example(
                "two names",
                """
import torch

class EAGLEWorker:
    def forward_batch_generation(self, batch):
        with torch.profiler.record_function("draft"):
            tree = self.draft(batch)
        with torch.profiler.record_function("verify"):
            return self.verify(tree)

    def draft(self, batch):
        return self.head.step(batch)

    def verify(self, tree):
        return self.target.step(tree)
""",
                packs=True,
            ),
        ),
    ),
    _ambiguous,
)

MISLABELLED_STAGE = Check(
    CheckPage(
        "mislabelled-stage",
        "A stage that is timed under the name of another.",
        "The figures are exact and stand in the wrong row: a draft that is booked as verification makes one look slow "
        "and the other free.",
        WARNING,
        "label it with the stage that runs",
        (
            example(
                "a draft called verify",
                """
from torch.cuda import nvtx

def step(worker, batch):
    nvtx.range_push("verify")  # finds: mislabelled-stage
    tree = worker.draft(batch)
    nvtx.range_pop()
    return tree
""",
            ),
        ),
        (
            example(
                "a draft called draft",
                """
from torch.cuda import nvtx

def step(worker, batch):
    nvtx.range_push("draft")
    tree = worker.draft(batch)
    nvtx.range_pop()
    return tree
""",
            ),
        ),
    ),
    _wrong,
)

CHECKS = (AMBIGUOUS_LABEL, MISLABELLED_STAGE)
