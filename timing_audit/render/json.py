"""The report as JSON, schema 1: fields and words are a contract with other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Protocol

from timing_audit import __version__
from timing_audit.model.drift import Drift
from timing_audit.model.report import Report, Summary
from timing_audit.render.drift import drift_document

SCHEMA = 1


def render_json(report: Report, drift: Drift | None = None) -> str:
    """One document, the same bytes for the same report; with a `drift` where there was a baseline."""
    more = {} if drift is None else {"drift": drift_document(drift)}
    return json.dumps(document(report) | more, indent=1, ensure_ascii=False) + "\n"


def document(report: Report) -> dict[str, object]:
    """The document as plain data."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "timing-audit", "version": __version__},
        "target": _plain(report.target),
        "functions": _rows(report.functions, leave="loops statements"),
        "edges": _rows(report.edges),
        "sites": _rows(report.sites, leave="rule"),
        "brackets": _rows(report.brackets, leave="stage is_cycle"),
        "regions": _rows(report.regions),
        "findings": _rows(report.findings),
        "skipped": _rows(report.skipped),
        "summary": _summary(report.summary),
        "next": _plain(report.next),
    }


class _Fact(Protocol):
    def _asdict(self) -> dict[str, object]: ...


def _plain(value: object) -> object:
    """Facts become objects and tuples lists, at any depth."""
    if isinstance(value, tuple):
        asdict = getattr(value, "_asdict", None)
        return [_plain(item) for item in value] if asdict is None else {k: _plain(v) for k, v in asdict().items()}
    if value is None or isinstance(value, (str, int)):
        return value
    raise TypeError(f"{type(value).__name__} has no place in a report")


def _fields(fact: _Fact, leave: str = "") -> dict[str, object]:
    """The fields of a fact, less some that only other renderers need."""
    return {name: _plain(value) for name, value in fact._asdict().items() if name not in leave.split()}


def _summary(summary: Summary) -> dict[str, object]:
    rows = [_fields(row, leave="tallies") | {"coverage": _plain(row.tallies)} for row in summary.rows]
    return {"rows": rows, "wrappers": _rows(summary.wrappers), "parsed": _plain(summary.parsed)}


def _rows(facts: Iterable[_Fact], leave: str = "") -> list[object]:
    return [_fields(fact, leave) for fact in facts]
