"""A run's report for a terminal: the breakdown of the cycle, and one sentence."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from timing_audit.runs.report import Row, RunReport
from timing_audit.runs.statistics import Interval, Quantiles

MOST_RANKS, MOST_STRATA = 4, 6
BARS = "▁▂▃▄▅▆▇█"
SPECULATIVE = "speculative_"


def run_text(report: RunReport, everything: bool = False) -> str:
    """The whole text."""
    lines = [*_head(report), "", *_table(report), "", *_below(report, everything), "", f"Verdict: {report.verdict}."]
    lines += [f"next: {shlex.join(command)}" for command in report.next[:1]]
    return "\n".join(lines) + "\n"


def _head(report: RunReport) -> Iterator[str]:
    arguments = {name.replace(SPECULATIVE, "").replace("num_", ""): value for name, value in report.arguments}
    told = [f"{name} {value}" for name, value in arguments.items() if value not in ("unset", "None")]
    yield " | ".join([report.worker or "engine", f"{report.engine} {report.engine_version}".strip(), *told])
    apart = ", ".join(f"{count:,} {name}" for name, count in report.set_apart)
    ranks = f"{len(report.ranks)} process{'es' if len(report.ranks) > 1 else ''}"
    yield f"{report.cycles:,} decode cycles in {ranks}{f'; set apart: {apart}' if apart else ''}"
    source = "stream time from device events" if report.clock == "stream" else "host clock only"
    lost = f"{report.overwritten + report.lost:,} events lost"
    yield (
        f"source: {source} | {lost} | own cost about {report.own_ns_per_cycle / 1e6:.3f} ms a cycle "
        f"({100 * report.own_share:.2f} %)"
    )
    yield from _trouble(report)


def _trouble(report: RunReport) -> Iterator[str]:
    if report.ranks_missing:
        there = report.ranks_expected - len(report.ranks_missing)
        yield f"{there} of {report.ranks_expected}: {', '.join(report.ranks_missing[:8])} missing"
    if report.errors:
        yield f"{report.errors:,} errors inside the timers; the engine did not see them"
    for name, fault in report.faults[:5]:
        yield f"{name}: {fault}"


def _table(report: RunReport) -> Iterator[str]:
    stream = report.clock == "stream"
    wide = max(22, *(len(row.name) + 2 * row.depth + 1 for row in report.rows))
    first = " stream p50     p90     p99  share                 |" if stream else ""
    tail = "  host p50     p90     p99" + ("" if stream else "  share               ") + "     gap  ranks  raised"
    yield f"{'ms':<{wide}}     n{first}{tail}"
    for row in report.rows:
        name = f"{'  ' * row.depth}{row.name}"
        count = f"{row.calls_per_cycle:6.2f}".rstrip("0").rstrip(".") if row.calls else "-"
        cells = f"{_three(row.stream)}  {_share(row.stream_share):<22}|" if stream else ""
        cells += _three(row.host) + ("" if stream else f"  {_share(row.host_share):<20}")
        yield f"{name:<{wide}}{count:>6}{cells}{_gap(row)}".rstrip()


def _three(times: Quantiles | None) -> str:
    if times is None:
        return f"{'-':>11}{'-':>8}{'-':>8}"
    return f"{_ms(times.p50):>11}{_ms(times.p90):>8}{_ms(times.p99):>8}"


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.3f}" if abs(nanoseconds) < 10_000_000 else f"{nanoseconds / 1e6:.2f}"


def _share(share: Interval | None) -> str:
    if share is None:
        return "-"
    return f"{100 * share.value:5.1f} % [{100 * share.low:.1f}-{100 * share.high:.1f}]"


def _gap(row: Row) -> str:
    gap = _ms(row.gap) if row.gap is not None else "-"
    spread = f"{100 * row.spread:.1f} %" if row.spread is not None else "-"
    return f"{gap:>8}{spread:>7}{row.raised or '-':>8}"


def _below(report: RunReport, everything: bool) -> Iterator[str]:
    if report.start_to_start is not None:
        yield f"start to start: p50 {_ms(report.start_to_start.p50)}, p99 {_ms(report.start_to_start.p99)} ms"
    if report.tokens_per_cycle is not None and report.ms_per_token is not None:
        yield f"tokens per cycle and request {report.tokens_per_cycle:.2f} | {report.ms_per_token:.3f} ms per token"
    else:
        yield "tokens per cycle: not known (the engine did not say how many it accepted)"
    yield from _bound(report)
    if len(report.strata) > 1:
        most = None if everything else MOST_STRATA
        for stratum in report.strata[:most]:
            yield (
                f"  batch {stratum.size}, steps {stratum.steps}, graph {stratum.graph}: {stratum.cycles:,} cycles, "
                f"p50 {_ms(stratum.cycle.p50)} ms"
            )
    if len(report.ranks) > 1:
        for rank in report.ranks[: None if everything else MOST_RANKS]:
            times = rank.stream or rank.host
            yield f"  {rank.name}: {rank.cycles:,} cycles, p50 {_ms(times.p50) if times else '-'} ms, {rank.ended}"
        yield "collectives equalise ranks: the slow one makes the others wait"
    if report.outside:
        yield f"{report.outside:,} calls lay outside any cycle (start-up, graph capture, other threads)"
    if report.series:
        yield f"along the run {_spark(report.series)}  distribution {_spark([count for _, count in report.histogram])}"


def _bound(report: RunReport) -> Iterator[str]:
    cycle = report.rows[0]
    if report.headroom_ns is None or cycle.host is None or cycle.stream is None:
        yield "host- or device-bound: not known without stream time"
        return
    relation = "<" if report.headroom_ns > 0 else ">="
    yield (
        f"host {_ms(cycle.host.p50)} ms {relation} stream {_ms(cycle.stream.p50)} ms: {report.bound}-bound, "
        f"headroom {_ms(report.headroom_ns)} ms"
    )


def _spark(values: object) -> str:
    numbers = [int(value) for value in values] if isinstance(values, (list, tuple)) else []
    size = max(1, -(-len(numbers) // 24))
    numbers = [max(numbers[at : at + size]) for at in range(0, len(numbers), size)]
    low, high = min(numbers, default=0), max(numbers, default=0)
    return "".join(BARS[(number - low) * 7 // (high - low) if high > low else 3] for number in numbers)
