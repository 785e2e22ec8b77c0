"""The report as JSON, schema 1: fields and words are a contract with other programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, cast

from timing_audit import __version__
from timing_audit.model.drift import Drift
from timing_audit.model.graph import CallGraph, Chain, GraphCall, GraphNode, OffPath
from timing_audit.model.report import CONFIDENCE, Report, Row, Summary
from timing_audit.render.drift import drift_document
from timing_audit.render.layout import laid_out

SCHEMA = 1
PLAIN = frozenset((str, int, bool, type(None)))


def render_json(report: Report, drift: Drift | None = None) -> str:
    """One document, the same bytes for the same report; with a `drift` where there was a baseline."""
    more = {} if drift is None else {"drift": drift_document(drift)}
    return laid_out(document(report) | more)


def document(report: Report) -> dict[str, object]:
    """The document as plain data."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "timing-audit", "version": __version__},
        "target": _plain(report.target),
        "functions": _rows(report.functions, leave="loops statements"),
        "edges": [_fields(edge) | {"confidence": CONFIDENCE[edge.how]} for edge in report.edges],
        "sites": _rows(report.sites, leave="rule"),
        "brackets": _rows(report.brackets, leave="stage is_cycle"),
        "regions": _rows(report.regions),
        "findings": _rows(report.findings),
        "skipped": _rows(report.skipped),
        "summary": _summary(report.summary),
        "next": _plain(report.next),
    }


def render_graph_json(
    graph: CallGraph,
    following: Sequence[Sequence[str]],
    to: str | None,
    found: Sequence[Chain],
    aside: Sequence[OffPath],
) -> str:
    """The graph as one document; with `to`, also the ways to the functions of that name."""
    asked = None if to is None else {"function": to, "chains": [_chain(c) for c in found], "off_path": _rows(aside)}
    document = {
        "schema": SCHEMA,
        "tool": {"name": "timing-audit", "version": __version__},
        "target": _plain(graph.target),
        "workers": _rows(graph.workers),
        "roots": _plain(graph.roots),
        "nodes": [_node(node) | {"calls": [_call(call) for call in node.calls]} for node in graph.nodes],
        "to": asked,
        "next": [list(command) for command in following],
    }
    return laid_out(document)


def _chain(chain: Chain) -> dict[str, object]:
    links = [_node(link.node) | {"call": None if link.call is None else _call(link.call)} for link in chain.links]
    return {"workers": list(chain.workers), "links": links}


def _node(node: GraphNode) -> dict[str, object]:
    plain = _fields(node, leave="calls")
    return plain | {name: plain[name] or None for name in ("receiver", "stage", "substage")}


def _call(call: GraphCall) -> dict[str, object]:
    plain = _fields(call)
    named: dict[str, object] = {"worker": call.worker or None, "stage": call.stage or None}
    return plain | named | {"confidence": CONFIDENCE[call.how]}


class _Fact(Protocol):
    @property
    def _fields(self) -> tuple[str, ...]: ...

    def __iter__(self) -> Iterator[object]: ...


def _plain(value: object) -> object:
    """Facts become objects and tuples lists, at any depth."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if isinstance(value, tuple):
        if kind is tuple:
            return [item if type(item) is str else _plain(item) for item in value]
        return _fields(cast("_Fact", value))
    raise TypeError(f"{type(value).__name__} has no place in a report")


def _fields(fact: _Fact, leave: str = "") -> dict[str, object]:
    """The fields of a fact, less some that only other renderers need."""
    left = leave.split()
    return {name: _plain(value) for name, value in zip(fact._fields, fact, strict=True) if name not in left}


def _row(row: Row) -> dict[str, object]:
    parts = [{"name": part.name, "functions": part.functions, "coverage": _plain(part.tallies)} for part in row.parts]
    return _fields(row, leave="tallies parts") | {"coverage": _plain(row.tallies), "parts": parts}


def _summary(summary: Summary) -> dict[str, object]:
    rows = [_row(row) for row in summary.rows]
    return {
        "rows": rows,
        "frontier": _rows(summary.frontier),
        "wrappers": _rows(summary.wrappers),
        "parsed": _plain(summary.parsed),
    }


def _rows(facts: Iterable[_Fact], leave: str = "") -> list[object]:
    return [_fields(fact, leave) for fact in facts]
