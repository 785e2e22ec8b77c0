"""A run's report as Markdown: what one pastes into an issue."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.runs.report import Row, RunReport
from timing_audit.runs.statistics import Interval, Quantiles

TITLES = (
    "part", "calls per cycle", "stream p50", "p90", "p99", "share of stream", "host p50", "p90", "p99", "share of host",
    "gap before", "rank spread", "raised",
)  # fmt: skip


def run_markdown(report: RunReport) -> str:
    """The report as a document."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: RunReport) -> Iterator[str]:
    yield f"## {report.worker or 'engine'}: {report.engine} {report.engine_version}".rstrip()
    yield ""
    yield f"{report.verdict}."
    yield ""
    yield f"| {' | '.join(TITLES)} |"
    yield f"| --- |{' ---: |' * (len(TITLES) - 1)}"
    for row in report.rows:
        yield f"| {' | '.join(_cells(row))} |"
    yield ""
    yield "Times in milliseconds."
    if report.tokens_per_cycle is not None and report.ms_per_token is not None:
        yield f"{report.tokens_per_cycle:.2f} tokens per cycle and request, {report.ms_per_token:.3f} ms per token."
    told = ", ".join(f"`{name}` {value}" for name, value in report.arguments)
    yield f"{report.cycles:,} decode cycles in {len(report.ranks)} processes{f'; {told}' if told else ''}."


def _cells(row: Row) -> list[str]:
    name = f"{'&nbsp;&nbsp;' * row.depth}{_plain(row.name)}"
    calls = f"{row.calls_per_cycle:.2f}" if row.calls else "-"
    gap = "-" if row.gap is None else f"{row.gap / 1e6:.3f}"
    spread = "-" if row.spread is None else f"{100 * row.spread:.1f} %"
    clocks = [*_times(row.stream), _share(row.stream_share), *_times(row.host), _share(row.host_share)]
    return [name, calls, *clocks, gap, spread, str(row.raised)]


def _plain(text: str) -> str:
    return text.replace("|", "\\|")


def _times(times: Quantiles | None) -> tuple[str, str, str]:
    if times is None:
        return "-", "-", "-"
    return f"{times.p50 / 1e6:.3f}", f"{times.p90 / 1e6:.3f}", f"{times.p99 / 1e6:.3f}"


def _share(share: Interval | None) -> str:
    return "-" if share is None else f"{100 * share.value:.1f} % [{100 * share.low:.1f}-{100 * share.high:.1f}]"
