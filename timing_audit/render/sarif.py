"""Findings as SARIF 2.1.0, as code scanning takes it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from timing_audit import __version__
from timing_audit.model.checks import CheckPage
from timing_audit.model.report import Finding, Report
from timing_audit.model.source import Skipped

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
IDENTITY = "timingAuditIdentity/v1"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_NUMBER = re.compile(r"\d+")


def render_sarif(report: Report, checks: Iterable[CheckPage] = (), prefix: str = "") -> str:
    """One document; `prefix` leads from the repository's top to the import root."""
    rules = _rules(report.findings, {page.id: page for page in checks})
    places = {rule: place for place, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "timing-audit", "version": __version__, "semanticVersion": __version__,
                "rules": [_rule(page) for page in rules.values()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.skipped,
                "toolExecutionNotifications": [_skipped(entry, prefix) for entry in report.skipped],
            }
        ],
        "results": list(_results(report.findings, places, prefix)),
    }  # fmt: skip
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _rules(findings: Sequence[Finding], known: dict[str, CheckPage]) -> dict[str, CheckPage]:
    """Every check that is reported, in order; one that says nothing of itself is known by its id."""
    found: dict[str, CheckPage] = {}
    for finding in sorted(findings, key=lambda finding: finding.check):
        plain = CheckPage(finding.check, finding.check.replace("-", " "), "", finding.severity, finding.hint, (), ())
        found.setdefault(finding.check, known.get(finding.check, plain))
    return found


def _rule(page: CheckPage) -> dict[str, object]:
    help_text = "\n\n".join(part for part in (page.rationale, page.hint) if part) or page.summary
    return {
        "id": page.id,
        "shortDescription": {"text": page.summary},
        "fullDescription": {"text": page.rationale or page.summary},
        "help": {"text": help_text, "markdown": help_text},
        "defaultConfiguration": {"level": LEVELS[page.severity]},
        "properties": {"tags": ["timing", "performance"]},
    }


def _results(findings: Iterable[Finding], places: dict[str, int], prefix: str) -> Iterator[dict[str, object]]:
    seen: Counter[str] = Counter()
    for finding in findings:
        identity = _identity(finding)
        seen[identity] += 1
        yield {
            "ruleId": finding.check,
            "ruleIndex": places[finding.check],
            "level": LEVELS[finding.severity],
            "message": {"text": ". ".join(part.rstrip(".") for part in (finding.message, finding.hint) if part)},
            "locations": [_location(finding, prefix)],
            "partialFingerprints": {IDENTITY: f"{identity}:{seen[identity]}"},
            "properties": {"confidence": finding.confidence, "stage": finding.stage or ""},
        }


def _identity(finding: Finding) -> str:
    """The same while the function keeps its name, wherever its lines and those that the message names are."""
    message = _NUMBER.sub("", finding.message)
    said = "\0".join((finding.check, finding.file, finding.function, finding.stage or "", message))
    return sha256(said.encode()).hexdigest()[:16]


def _location(finding: Finding, prefix: str) -> dict[str, object]:
    region = {"startLine": max(finding.line, 1), "endLine": max(finding.line, finding.end_line, 1)}
    logical = [{"fullyQualifiedName": finding.function, "kind": "function"}] if finding.function else []
    physical = {"artifactLocation": _artifact(finding.file, prefix), "region": region}
    return {"physicalLocation": physical} | ({"logicalLocations": logical} if logical else {})


def _artifact(file: str, prefix: str) -> dict[str, object]:
    from urllib.parse import quote

    return {"uri": quote(prefix + file), "uriBaseId": ROOT}


def _skipped(entry: Skipped, prefix: str) -> dict[str, object]:
    return {
        "level": "error",
        "message": {"text": f"{entry.file} was skipped: {entry.reason}"},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(entry.file, prefix)}}],
    }
