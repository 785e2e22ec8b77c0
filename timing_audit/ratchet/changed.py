"""A report's findings on what changed: by function, not by line."""

from __future__ import annotations

from collections.abc import Mapping

from timing_audit.model.report import Finding, FunctionFact, Report
from timing_audit.source.git import Ranges


def only_changed(report: Report, changed: Mapping[str, Ranges]) -> Report:
    """The report with those findings that lie in a changed function, or on a changed line outside of all."""
    by_name: dict[tuple[str, str], list[FunctionFact]] = {}
    for fact in report.functions:
        by_name.setdefault((fact.file, fact.qualname), []).append(fact)
    kept = [
        finding
        for finding in report.findings
        if _is_changed(finding, by_name.get((finding.file, finding.function), []), changed.get(finding.file, ()))
    ]
    return report._replace(findings=tuple(kept))


def _is_changed(finding: Finding, functions: list[FunctionFact], ranges: Ranges) -> bool:
    around = [(fact.line, fact.end_line) for fact in functions if fact.line <= finding.line <= fact.end_line]
    start, end = around[0] if around else (finding.line, max(finding.line, finding.end_line))
    return any(first <= end and start <= last for first, last in ranges)
