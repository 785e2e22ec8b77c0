"""A run's report as JSON, schema 1: units stand in the keys."""

from __future__ import annotations

import json

from timing_audit.runs.report import Row, RunReport
from timing_audit.runs.statistics import Interval, Quantiles


def run_json(report: RunReport) -> str:
    """The report as a document."""
    return json.dumps(run_document(report), indent=1, ensure_ascii=False) + "\n"


def run_document(report: RunReport) -> dict[str, object]:
    """The report as plain values."""
    return {
        "schema": 1,
        "kind": "run-report",
        "engine": report.engine,
        "engine_version": report.engine_version,
        "worker": report.worker,
        "manifest": report.manifest,
        "arguments": dict(report.arguments),
        "device": dict(report.device),
        "clock": report.clock,
        "launches": report.launches,
        "windows": report.windows,
        "cycles": report.cycles,
        "set_apart": dict(report.set_apart),
        "rows": [_row(row) for row in report.rows],
        **_times("start_to_start", report.start_to_start),
        "tokens_per_cycle": _round(report.tokens_per_cycle),
        "ms_per_token": _round(report.ms_per_token),
        "bound": report.bound,
        "headroom_us": None if report.headroom_ns is None else report.headroom_ns / 1000,
        "strata": [
            {"batch_size": one.size, "steps": one.steps, "graph": one.graph, "cycles": one.cycles,
             **_times("cycle", one.cycle)}
            for one in report.strata
        ],
        "ranks": [
            {"name": one.name, "file": one.file, "cycles": one.cycles, "state": one.ended,
             **_times("host", one.host), **_times("stream", one.stream)}
            for one in report.ranks
        ],
        "ranks_expected": report.ranks_expected,
        "ranks_missing": list(report.ranks_missing),
        "overwritten": report.overwritten,
        "lost": report.lost,
        "errors": report.errors,
        "own_cost_us_per_cycle": report.own_ns_per_cycle / 1000,
        "own_cost_share": _round(report.own_share),
        "outside_cycles": report.outside,
        "faults": [{"file": name, "fault": fault} for name, fault in report.faults],
        "verdict": report.verdict,
        "next": [list(command) for command in report.next],
    }  # fmt: skip


def _row(row: Row) -> dict[str, object]:
    return {
        "name": row.name, "kind": row.kind, "stage": row.stage, "depth": row.depth, "calls": row.calls,
        "calls_per_cycle": _round(row.calls_per_cycle), **_times("host", row.host), **_times("stream", row.stream),
        "host_share": _interval(row.host_share), "stream_share": _interval(row.stream_share),
        "gap_before_p50_us": None if row.gap is None else row.gap / 1000, "rank_spread": _round(row.spread),
        "raised": row.raised, "across_streams": row.across, "place": row.place,
    }  # fmt: skip


def _times(name: str, times: Quantiles | None) -> dict[str, float | None]:
    keys = ("p50", "p90", "p99", "mean")
    values = (None,) * 4 if times is None else (times.p50, times.p90, times.p99, times.mean)
    return {
        f"{name}_{key}_us": None if value is None else value / 1000 for key, value in zip(keys, values, strict=True)
    }


def _interval(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {"value": round(interval.value, 6), "low": round(interval.low, 6), "high": round(interval.high, 6)}


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
