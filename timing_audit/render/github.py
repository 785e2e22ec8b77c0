"""Findings as annotations of a GitHub workflow, the worst first: GitHub shows only some."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.model.drift import LOST, Drift
from timing_audit.model.report import Report
from timing_audit.render.drift import change_text

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
ORDER = tuple(COMMANDS)


def render_github(report: Report, drift: Drift | None = None, prefix: str = "") -> str:
    """One line an annotation; `prefix` leads from the repository's top to the import root."""
    return "".join(f"{line}\n" for line in _lines(report, drift, prefix))


def _lines(report: Report, drift: Drift | None, prefix: str) -> Iterator[str]:
    for entry in report.skipped:
        yield _line("error", prefix + entry.file, 0, 0, "skipped", entry.reason)
    for change in drift.changes if drift is not None else ():
        if change.is_worse:
            command = "error" if change.kind == LOST else "warning"
            yield _line(command, prefix + change.identity.file, change.line, 0, "coverage", change_text(change))
    for finding in sorted(report.findings, key=lambda finding: ORDER.index(finding.severity)):
        command, text = COMMANDS[finding.severity], "\n".join(filter(None, (finding.message, finding.hint)))
        yield _line(command, prefix + finding.file, finding.line, finding.end_line, finding.check, text)


def _line(command: str, file: str, line: int, end_line: int, title: str, text: str) -> str:
    given = {
        "file": file,
        "line": line,
        "endLine": end_line if end_line > line else 0,
        "title": f"timing-audit: {title}",
    }
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in given.items() if value)
    return f"::{command} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
