"""Runs the checks over one report and its evidence, and heeds the comments that silence findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from timing_audit.checks.base import Check
from timing_audit.checks.registry import CHECKS, chosen
from timing_audit.checks.remarks import UNUSED_SUPPRESSION
from timing_audit.model.checks import SEVERITIES
from timing_audit.model.evidence import Evidence, Spot, Suppression
from timing_audit.model.report import Finding, Report


def findings(
    report: Report, evidence: Evidence, select: Sequence[str] = (), ignore: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """The findings of the chosen checks, the worst first, then in the order of the checks and their own."""
    wanted = chosen(select, ignore)
    found = [finding for check in wanted for finding in check.run(report, evidence)]
    used: set[Suppression] = set()
    kept = [finding for finding in found if not _is_silenced(finding, evidence.suppressions, used)]
    if UNUSED_SUPPRESSION in wanted:
        kept += _unused(evidence.suppressions, used, wanted)
    return tuple(sorted(kept, key=lambda finding: (SEVERITIES.index(finding.severity), _place(finding.check))))


def _place(check_id: str) -> int:
    return next(place for place, check in enumerate(CHECKS) if check.id == check_id)


def _is_silenced(finding: Finding, suppressions: Sequence[Suppression], used: set[Suppression]) -> bool:
    about = [
        comment
        for comment in suppressions
        if comment.file == finding.file
        and comment.start <= finding.line <= comment.end
        and finding.check in comment.checks
        and comment.reason
    ]
    used.update(about)
    return bool(about)


def _unused(suppressions: Sequence[Suppression], used: set[Suppression], wanted: Sequence[Check]) -> Iterator[Finding]:
    """Comments without a use; one for a check that did not run may have one."""
    ran, known = {check.id for check in wanted}, {check.id for check in CHECKS}
    for comment in suppressions:
        message = _useless(comment, known)
        if not message and comment not in used and set(comment.checks) <= ran:
            message = f"nothing is silenced by this comment ({', '.join(comment.checks)})"
        if message:
            spot = Spot(comment.file, comment.line, comment.line, "", None, "other")
            yield UNUSED_SUPPRESSION.at(spot, message)


def _useless(comment: Suppression, known: set[str]) -> str:
    if not comment.checks:
        return "this comment names no check"
    unknown = [name for name in comment.checks if name not in known]
    if unknown:
        return f"no check is called {', '.join(unknown)}"
    return "" if comment.reason else "this comment gives no reason, and silences nothing"
