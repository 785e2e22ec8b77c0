"""What a check is, and how it reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from timing_audit.model.checks import CheckExample, CheckPage
from timing_audit.model.evidence import Evidence, Spot
from timing_audit.model.report import Finding, Report

ERROR, WARNING, NOTE = "error", "warning", "info"
HIGH, MEDIUM, LOW = "high", "medium", "low"
Judge = Callable[["Check", Report, Evidence], Iterable[Finding]]


@dataclass(frozen=True)
class Check:
    """An opinion about facts: `judge` gives its findings, the most important first; `page` says it in words."""

    page: CheckPage
    judge: Judge

    @property
    def id(self) -> str:
        """Its name in findings, in configuration and in comments."""
        return self.page.id

    def run(self, report: Report, evidence: Evidence) -> tuple[Finding, ...]:
        """What it has to report."""
        return tuple(dict.fromkeys(self.judge(self, report, evidence)))

    def at(
        self, spot: Spot, message: str, *, severity: str = "", confidence: str = HIGH, hint: str = ""
    ) -> Finding:  # fmt: skip
        """A finding at a spot, with the check's own severity and hint where none are given."""
        return Finding(
            self.id, severity or self.page.severity, confidence, spot.file, spot.line, spot.end_line, spot.function,
            spot.stage, message, hint or self.page.hint,
        )  # fmt: skip


def example(name: str, code: str, *entries: str, packs: bool = False) -> CheckExample:
    """An example whose code begins behind the first line break; `packs` lets the packs say where it starts."""
    chosen = () if packs else entries or ("*",)
    return CheckExample(name, code.lstrip("\n"), chosen)
