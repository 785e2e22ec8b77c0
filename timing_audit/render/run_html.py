"""A run's report as one HTML file: the breakdown, the distribution, the course of the run, the ranks, as inline SVG."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from timing_audit.render.run_text import run_text
from timing_audit.runs.report import Row, RunReport

WIDTH, HEIGHT = 640, 160
COLOURS = ("#4063d8", "#cb3c33", "#389826", "#9558b2", "#c58b00", "#008b8b", "#8c564b")
REST = {"seams": "#9aa0a6", "unattributed": "#d0d3d8"}


class Bar(NamedTuple):
    """A rectangle with what it stands for."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str


class Chart(NamedTuple):
    """Bars, a line, and what stands below."""

    title: str
    bars: tuple[Bar, ...]
    line: str
    low: str
    high: str


def run_html(report: RunReport) -> str:
    """The page; nothing in it comes from elsewhere."""
    from jinja2 import Environment

    template = files("timing_audit.render").joinpath("templates").joinpath("run.html.jinja").read_text(encoding="utf-8")
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(template)
    charts = [chart for chart in (_breakdown(report), _distribution(report), _course(report), _ranks(report)) if chart]
    return page.render(report=report, charts=charts, text=run_text(report, everything=True), width=WIDTH, height=HEIGHT)


def _breakdown(report: RunReport) -> Chart | None:
    outer = [row for row in report.rows if row.depth == 1]
    bars, x = [], 0.0
    for number, row in enumerate(outer):
        share = _share(report, row)
        width = max(0.0, share) * WIDTH
        colour = REST.get(row.kind, COLOURS[number % len(COLOURS)])
        bars.append(Bar(round(x, 1), 20, round(width, 1), HEIGHT - 60, colour, f"{row.name} {100 * share:.1f} %"))
        x += width
    return Chart(f"Share of the cycle ({report.clock} time)", tuple(bars), "", "", "") if bars else None


def _share(report: RunReport, row: Row) -> float:
    share = row.stream_share if report.clock == "stream" else row.host_share
    return share.value if share is not None else 0.0


def _distribution(report: RunReport) -> Chart | None:
    counts = report.histogram
    if not counts:
        return None
    most, width = max(count for _, count in counts), WIDTH / len(counts)
    bars = tuple(
        Bar(round(at * width, 1), round(HEIGHT - 20 - _scaled(count, most), 1), round(width - 1, 1),
            round(_scaled(count, most), 1), COLOURS[0], f"from {low / 1e6:.3f} ms: {count} cycles")
        for at, (low, count) in enumerate(counts)
    )  # fmt: skip
    low, high = f"{counts[0][0] / 1e6:.3f} ms", f"{counts[-1][0] / 1e6:.3f} ms and more"
    return Chart("Distribution of the cycle's time", bars, "", low, high)


def _scaled(value: float, most: float) -> float:
    return (HEIGHT - 40) * value / most if most else 0.0


def _course(report: RunReport) -> Chart | None:
    values = report.series
    if len(values) < 2:
        return None
    most, step = max(values), WIDTH / (len(values) - 1)
    line = " ".join(f"{at * step:.1f},{HEIGHT - 20 - _scaled(value, most):.1f}" for at, value in enumerate(values))
    return Chart(f"The cycle along the run (0 to {most / 1e6:.3f} ms)", (), line, "first cycle", "last")


def _ranks(report: RunReport) -> Chart | None:
    times = [(rank, rank.stream or rank.host) for rank in report.ranks]
    known = [(rank, time.p50) for rank, time in times if time is not None]
    if len(known) < 2:
        return None
    most, width = max(p50 for _, p50 in known), WIDTH / len(known)
    bars = tuple(
        Bar(round(at * width, 1), round(HEIGHT - 20 - _scaled(p50, most), 1), round(max(1.0, width - 4), 1),
            round(_scaled(p50, most), 1), COLOURS[2], f"{rank.name}: p50 {p50 / 1e6:.3f} ms, {rank.cycles} cycles")
        for at, (rank, p50) in enumerate(known)
    )  # fmt: skip
    return Chart("The cycle's p50 by rank", bars, "", known[0][0].name, known[-1][0].name)
