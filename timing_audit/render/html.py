"""One HTML file that needs nothing else: stages and workers, the hot path with coverage, and its sources."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2

from timing_audit import __version__
from timing_audit.model.drift import Drift
from timing_audit.model.report import COVERED, EXCLUDED, UNTIMED, Report, Row, StageRow, percent
from timing_audit.render.drift import TITLES, change_text, verdict
from timing_audit.render.hotdata import payload
from timing_audit.render.text import Style, answer_of

CLOCKS = ("host", "device", "trace")
MOST_CHANGES = 100
TEMPLATES = Path(__file__).resolve().parent / "templates"

Source = Callable[[str], str]
"""The text of a file of the target, empty where it cannot be read."""


class Stage(NamedTuple):
    """A row of a card."""

    name: str
    place: str
    marks: tuple[str, ...]


class Card(NamedTuple):
    """A worker in one phase; `filter` is the worker's name where it has one."""

    worker: str
    phase: str
    filter: str
    answer: str
    stages: tuple[Stage, ...]


class Figure(NamedTuple):
    """The hot functions by how one clock class times them; the last two are where parts of the bar end, in percent."""

    clock: str
    timed: int
    partial: int
    untimed: int
    share: str
    timed_to: float
    partial_to: float


class Block(NamedTuple):
    """The changes of one kind."""

    title: str
    worse: bool
    lines: tuple[str, ...]


class Changes(NamedTuple):
    """What changed against a baseline."""

    old: str
    verdict: str
    blocks: tuple[Block, ...]


class Page(NamedTuple):
    """All that stands in the page without JavaScript."""

    label: str
    read: str
    cards: tuple[Card, ...]
    figures: tuple[Figure, ...]
    left_out: int
    drift: Changes | None
    skipped: tuple[str, ...]
    stages: tuple[str, ...]
    workers: tuple[str, ...]


def render_html(report: Report, source: Source, drift: Drift | None = None, prefix: str = "") -> str:
    """The whole page; the same bytes for the same report."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    page = _page(report, drift, prefix)
    data = _packed(payload(report, page.workers, source, prefix))
    return environment.get_template("report.html.jinja").render(page=page, data=data, tool=__version__)


def _packed(data: Mapping[str, object]) -> str:
    """Sources are most of it: packed, the largest hot path stays a page that opens at once."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode("utf-8", "backslashreplace"), 9)).decode("ascii")


def _page(report: Report, drift: Drift | None, prefix: str) -> Page:
    rows, parsed = report.summary.rows, report.summary.parsed
    hot = [fact for fact in report.functions if fact.role == "hot"]
    stages = dict.fromkeys(fact.stage for fact in hot if fact.stage)
    named = dict.fromkeys(row.worker for row in rows if row.worker)
    return Page(
        label=report.target.label,
        read=f"{parsed.parsed_files:,} of {parsed.files:,} files read, {parsed.parsed_lines:,} lines.",
        cards=tuple(_card(report, row, prefix) for row in rows),
        figures=tuple(_figures(report)),
        left_out=sum(fact.coverage == EXCLUDED for fact in hot),
        drift=None if drift is None else _changes(drift, prefix),
        skipped=tuple(f"{prefix}{entry.file}: {entry.reason}" for entry in report.skipped),
        stages=tuple(sorted(stages)),
        workers=tuple(sorted({*named, *(worker for fact in hot for worker in fact.workers)})),
    )


def _card(report: Report, row: Row, prefix: str) -> Card:
    stages = tuple(_stage(stage, prefix) for stage in row.stages)
    return Card(row.worker or "hot path", row.phase, row.worker or "", answer_of(report, row, Style()), stages)


def _stage(stage: StageRow, prefix: str) -> Stage:
    figures = zip(stage.timed, stage.timed_calls, strict=True)
    marks = tuple("timed" if timed else f"{count}/{stage.calls}" if count else "-" for timed, count in figures)
    return Stage(stage.stage, f"{prefix}{stage.file}:{stage.line}", marks)


def _figures(report: Report) -> Iterator[Figure]:
    counted = [fact.clocks for fact in report.functions if fact.role == "hot" and fact.coverage != EXCLUDED]
    whole = max(len(counted), 1)
    for place, clock in enumerate(CLOCKS):
        words = [clocks[place] for clocks in counted]
        timed, untimed = sum(word in COVERED for word in words), words.count(UNTIMED)
        partial = words.count("partial")
        ends = round(100 * timed / whole, 1), round(100 * (timed + partial) / whole, 1)
        yield Figure(clock, timed, partial, untimed, percent(timed, len(words)), *ends)


def _changes(drift: Drift, prefix: str) -> Changes:
    blocks = []
    for kind, (title, _) in TITLES.items():
        changes = drift.of(kind)
        if changes:
            lines = [f"{prefix}{c.identity.file}:{c.line} {change_text(c)}" for c in changes[:MOST_CHANGES]]
            more = _more(lines, len(changes))
            blocks.append(Block(f"{title}: {len(changes):,}", changes[0].is_worse, (*lines, *more)))
    return Changes(drift.old, verdict(drift), tuple(blocks))


def _more(lines: Sequence[str], total: int) -> Iterable[str]:
    return [f"and {total - len(lines):,} more: the JSON report names them all"] if len(lines) < total else []
