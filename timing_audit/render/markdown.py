"""The report for a comment on a pull request: the answer, the stages, and the rest folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from timing_audit.model.drift import Drift
from timing_audit.model.report import Report, StageRow
from timing_audit.render.drift import TITLES, change_text, verdict
from timing_audit.render.text import DECODE, Style, answers, rank

SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~])")
CLOCKS = ("host", "device", "trace")


def render_markdown(report: Report, drift: Drift | None = None, top: int | None = 10, prefix: str = "") -> str:
    """The whole comment; `top` limits each folded list."""
    return "\n".join(_Markdown(report, drift, top, prefix).lines()).rstrip("\n") + "\n"


class _Markdown:
    def __init__(self, report: Report, drift: Drift | None, top: int | None, prefix: str) -> None:
        self._report = report
        self._drift = drift
        self._top = top
        self._prefix = prefix

    def lines(self) -> Iterator[str]:
        yield f"## timing-audit: {_plain(self._report.target.label)}"
        yield ""
        yield from (f"- {_plain(answer)}" for answer in answers(self._report, Style(self._top, prefix=self._prefix)))
        yield ""
        yield from self._changes()
        yield from self._stages()
        yield from self._findings()
        yield from self._untimed()
        yield from self._skipped()

    def _changes(self) -> Iterator[str]:
        if self._drift is None:
            return
        yield f"**Against {_plain(self._drift.old)}: {verdict(self._drift)}**"
        yield ""
        for kind, (title, _) in TITLES.items():
            changes = self._drift.of(kind)
            places = [f"{_code(self._place(c.identity.file, c.line))} {_plain(change_text(c))}" for c in changes]
            yield from self._folded(f"{title}: {len(changes):,}", places)

    def _place(self, file: str, line: int) -> str:
        return f"{self._prefix}{file}:{line}" if line else file

    def _stages(self) -> Iterator[str]:
        told: dict[tuple[str, StageRow], list[str]] = {}
        for row in self._report.summary.rows:
            for stage in row.stages:
                told.setdefault((row.phase, stage), []).append(row.worker or "hot path")
        if not told:
            return
        yield "| stage | host | device | trace | entered at | workers |"
        yield "|---|---|---|---|---|---|"
        for (phase, stage), workers in sorted(told.items(), key=lambda entry: entry[0][0] != DECODE):
            marks = [_mark(*figures, stage.calls) for figures in zip(stage.timed, stage.timed_calls, strict=True)]
            place = _code(self._place(stage.file, stage.line))
            yield f"| {phase} {_plain(stage.stage)} | {' | '.join(marks)} | {place} | {_plain(', '.join(workers))} |"
        yield ""

    def _findings(self) -> Iterator[str]:
        order = ("error", "warning", "info")
        found = sorted(self._report.findings, key=lambda finding: order.index(finding.severity))
        said = [f"**{each.severity}** {_plain(each.message)} ({_code(each.check)})" for each in found]
        places = [f"{_code(self._place(f.file, f.line))} {text}" for f, text in zip(found, said, strict=True)]
        yield from self._folded(f"findings: {len(found):,}", places)

    def _untimed(self) -> Iterator[str]:
        ranked = rank(fact for fact in self._report.functions if fact.role == "hot")
        places = [
            f"{_code(self._place(fact.file, fact.line))} {_code(fact.qualname)}: "
            f"{_plain(fact.stage or fact.substage or 'no stage')}, {'+'.join(fact.phases)}"
            for fact in ranked
        ]
        yield from self._folded(f"untimed hot functions: {len(ranked):,}", places)

    def _skipped(self) -> Iterator[str]:
        places = [f"{_code(entry.file)}: {_plain(entry.reason)}" for entry in self._report.skipped]
        yield from self._folded(f"skipped files: {len(places):,}", places)

    def _folded(self, title: str, places: Sequence[str]) -> Iterator[str]:
        if not places:
            return
        shown = places if self._top is None else places[: self._top]
        more = f", the first {len(shown)}" if len(shown) < len(places) else ""
        yield from ("<details>", f"<summary>{title}{more}</summary>", "", *_items(shown), "", "</details>", "")


def _items(places: Iterable[str]) -> Iterator[str]:
    yield from (f"- {place}" for place in places)


def _mark(timed: bool, count: int, calls: int) -> str:
    if timed:
        return "timed"
    return f"{count}/{calls}" if count else "-"


def _plain(text: str) -> str:
    """Text that Markdown takes for nothing else."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """A name or place; in a table a bar ends the cell even in code."""
    quote = "``" if "`" in text else "`"
    return f"{quote}{text}{quote}".replace("|", "\\|")
