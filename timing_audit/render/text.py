"""The report for a terminal: the answer first, about 60 lines, every place a `file:line`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from timing_audit import __version__
from timing_audit.model.report import (
    COVERED,
    EXCLUDED,
    UNTIMED,
    Finding,
    FunctionFact,
    Report,
    Row,
    StageRow,
    Timer,
    percent,
)

CLOCKS = ("host", "device", "trace")
CAPTURE, DECODE = "capture", "decode"
PHASE_WORDS = {CAPTURE: "graph capture", "init": "start-up", "other": "elsewhere"}
MOST_SKIPPED = 5
MOST_PLACES = 4
BOLD, GREEN, RED, DIM, PLAIN = "\033[1m", "\033[32m", "\033[31m", "\033[2m", "\033[0m"


class Style(NamedTuple):
    """How much to say, and how; `prefix` leads from here to the import root, else `root` names it."""

    top: int | None = 5
    color: bool = False
    prefix: str = ""
    root: str = ""

    def paint(self, code: str, text: str) -> str:
        """The text in a colour, where colours are wanted."""
        return f"{code}{text}{PLAIN}" if self.color and text else text


DEFAULT = Style()
PLACE = re.compile(r"\b(?:[\w.-]+/)+[\w-]+\.py:\d+")


def render_text(report: Report, style: Style = DEFAULT) -> str:
    """The whole text."""
    return "\n".join(_Text(report, style).lines()).rstrip("\n") + "\n"


def answers(report: Report, style: Style = DEFAULT) -> list[str]:
    """One sentence for each worker and phase: what of its stages is timed, and where its file has timers."""
    return list(_Text(report, style).answers())


def answer_of(report: Report, row: Row, style: Style = DEFAULT) -> str:
    """The sentence about one worker and phase, without their names."""
    return _Text(report, style).answer(row)


GLUE = "\N{NO-BREAK SPACE}"
PART_WIDTH = 112


class _Text:
    def __init__(self, report: Report, style: Style) -> None:
        self._report = report
        self._style = style

    def lines(self) -> Iterator[str]:
        for block in (
            self._head(), self.answers(), self._stages(), self._cycle(), self._wrappers(),
            self._coverage(), self._untimed(), self._findings(), self._unknown(), self._next(),
        ):  # fmt: skip
            found = list(block)
            if found:
                yield from found
                yield ""

    def _place(self, file: str, line: int, end_line: int = 0) -> str:
        tail = f"-{end_line}" if end_line > line else ""
        return f"{self._style.prefix}{file}:{line}{tail}"

    def _title(self, text: str) -> str:
        return self._style.paint(BOLD, text)

    def _head(self) -> Iterator[str]:
        target, parsed = self._report.target, self._report.summary.parsed
        yield f"{self._title(target.label)}, audited by timing-audit {__version__}"
        below = f"; files are named from {self._style.root}" if self._style.root else ""
        yield (
            f"{_count(len(target.entries), 'entry point')}; {parsed.parsed_files:,} of {parsed.files:,} files read "
            f"({parsed.parsed_lines:,} lines){below}"
        )

    # The answer, one sentence a worker and phase.

    def answers(self) -> Iterator[str]:
        """One sentence a worker in decode, and one for all that say the same in another phase."""
        rows = self._report.summary.rows
        decoding = [row for row in rows if row.phase == DECODE]
        for row in decoding:
            yield f"{self._title(row.worker or 'hot path')} {row.phase}: {self.answer(row)}"
        others = [row for row in rows if row.phase != DECODE]
        bare = not any(any(stage.timed) for row in others for stage in row.stages)
        if decoding and others and bare and self._style.top is not None:
            yield f"{self._title('prefill')}: no stage timed under any worker (--phase prefill says more)"
        else:
            yield from self._alike(others)

    def _alike(self, rows: Sequence[Row]) -> Iterator[str]:
        told: dict[str, list[str]] = {}
        for row in rows:
            told.setdefault(f"{row.phase}: {self.answer(row)}", []).append(row.worker or "hot path")
        for sentence, workers in told.items():
            yield f"{self._title(', '.join(workers))} {sentence}"

    def answer(self, row: Row) -> str:
        """How many of the row's stages are timed, and what the timers of its file are for."""
        if not row.stages:
            return f"no stages, the worker's call is all; {self._timers(row)}"
        timed = sum(stage.timed.host or stage.timed.device for stage in row.stages)
        traced = sum(stage.timed.trace and not (stage.timed.host or stage.timed.device) for stage in row.stages)
        code = GREEN if timed == len(row.stages) else RED
        figure = self._style.paint(code, f"{timed} of {_count(len(row.stages), 'stage')} timed")
        profiler = f" ({traced} more only under a profiler)" if traced else ""
        return f"{figure}{profiler}; {self._timers(row)}"

    def _timers(self, row: Row) -> str:
        """The brackets of the file in which the worker's call begins."""
        by_phase: dict[str, dict[tuple[int, int], None]] = {}
        for bracket in self._report.brackets:
            if bracket.file == row.file:
                by_phase.setdefault(bracket.phase, {})[bracket.start_line, bracket.end_line] = None
        total = sum(map(len, by_phase.values()))
        if not total:
            return f"no timer in {row.file.rpartition('/')[2]}"
        if len(by_phase) == 1:
            ((phase, places),) = by_phase.items()
            return f"{_count(total, 'timer')}, {_phase(phase)} only ({_ranges(places)})"
        parts = (f"{len(places)} {_phase(phase)} ({_ranges(places)})" for phase, places in sorted(by_phase.items()))
        return f"{_count(total, 'timer')}: {', '.join(parts)}"

    # Stages and the cycle.

    def _stages(self) -> Iterator[str]:
        """Prefill stages that nothing times are counted above; here they only take room from decode."""
        told: dict[tuple[object, ...], tuple[StageRow, str, list[str]]] = {}
        decoding = any(row.phase == DECODE for row in self._report.summary.rows)
        for row in self._report.summary.rows:
            for stage in row.stages:
                if row.phase != DECODE and decoding and self._style.top is not None and not any(stage.timed_calls):
                    continue
                key = (row.phase, *stage)
                told.setdefault(key, (stage, row.phase, []))[2].append(row.worker or "hot path")
        if not told:
            return
        yield self._title(f"{'stage':<24}{'host':>7}{'device':>8}{'trace':>7}  entered at")
        for stage, phase, workers in sorted(told.values(), key=lambda entry: entry[1]):
            yield from self._stage(stage, phase, workers)

    def _stage(self, stage: StageRow, phase: str, workers: Sequence[str]) -> Iterator[str]:
        marks = [
            self._mark(timed, count, stage.calls) for timed, count in zip(stage.timed, stage.timed_calls, strict=True)
        ]
        more = f" and {_count(stage.calls - 1, 'more call')}" if stage.calls > 1 else ""
        where = f"{self._place(stage.file, stage.line)}{more} ({', '.join(workers)})"
        yield f"{phase + ' ' + stage.stage:<24}{marks[0]:>7}{marks[1]:>8}{marks[2]:>7}  {where}"
        for timer in stage.inside if self._style.top is None else ():
            yield self._style.paint(DIM, f"{'':<24}inside: {self._timer(timer)}")

    def _mark(self, timed: bool, count: int, calls: int) -> str:
        if timed:
            return "timed"
        return f"{count}/{calls}" if count else "-"

    def _cycle(self) -> Iterator[str]:
        rows = self._report.summary.rows
        timers = list(dict.fromkeys(timer for row in rows for timer in row.cycle))
        if not rows:
            return
        yield self._title("cycle: brackets around the worker's whole call, which time no stage")
        for timer in timers:
            yield f"  {self._timer(timer)}"
        if not timers:
            yield "  none"

    def _timer(self, timer: Timer) -> str:
        label = f" `{timer.label}`" if timer.label else ""
        place = self._place(timer.file, timer.start_line, timer.end_line)
        return f"{place} {timer.clock}{label}{_via(timer.hops)}{_gate(timer.gate)}"

    def _wrappers(self) -> Iterator[str]:
        told = [wrapper for wrapper in self._report.summary.wrappers if wrapper.hot_uses or wrapper.unwrapped]
        if self._style.top is None:
            told = list(self._report.summary.wrappers)
        if told:
            yield self._title("the tree's own timers")
        for wrapper in told:
            place, uses = self._place(wrapper.file, wrapper.line), _count(wrapper.uses, "use")
            how = f"{wrapper.clock}{_via(wrapper.hops[1:])}{_gate(wrapper.gate)}"
            yield f"  {place} {wrapper.name}, {uses}: {how}"
            for stage in wrapper.unwrapped:
                yield f"    {self._style.paint(RED, f'its docstring names {stage}, which no use of it is around')}"

    # Functions.

    def _hot(self) -> list[FunctionFact]:
        return [fact for fact in self._report.functions if fact.role == "hot"]

    def _coverage(self) -> Iterator[str]:
        hot = self._hot()
        if not hot:
            return
        yield self._title(f"{'hot functions, ' + format(len(hot), ','):<24}{'host':>12}{'device':>12}{'trace':>12}")
        words = [[fact.clocks[place] for fact in hot] for place in range(len(CLOCKS))]
        counted = [sum(word != "excluded" for word in column) for column in words]
        for name, wanted in (("timed", COVERED), ("timed in part", ("partial",)), ("untimed", (UNTIMED,))):
            figures = [sum(word in wanted for word in column) for column in words]
            shares = (f"{n:,} {percent(n, of):>5}" for n, of in zip(figures, counted, strict=True))
            yield f"  {name:<22}" + "".join(f"{share:>12}" for share in shares)
        yield f"  and {len(hot) - counted[0]:,} not counted: parts of timers, stubs, and what does no work of its own"
        yield from self._beside()
        yield from self._parts(hot)

    def _parts(self, hot: Sequence[FunctionFact]) -> Iterator[str]:
        """How much of each part of the cycle is timed on the host or the device, of the functions that count."""
        found: dict[str, list[bool]] = {}
        for fact in hot:
            if fact.coverage != EXCLUDED:
                found.setdefault(fact.substage or fact.stage or "rest", []).append(fact.coverage in COVERED)
        told = [f"{name}{GLUE}{sum(timed):,}/{len(timed):,}" for name, timed in sorted(found.items())]
        lines = wrap(f"timed by part of the cycle: {', '.join(told)}", PART_WIDTH)
        yield from ("  " * min(place + 1, 2) + line.replace(GLUE, " ") for place, line in enumerate(lines))

    def _beside(self) -> Iterator[str]:
        """How much the figures above may miss."""
        rows = self._report.summary.rows
        if rows:
            worst = max(rows, key=lambda row: (row.frontier / max(row.resolved + row.frontier, 1), row.frontier))
            of = worst.resolved + worst.frontier
            whose = "" if len(rows) == 1 else f", {worst.worker or 'hot path'} {worst.phase} at worst"
            share = f"{worst.frontier:,} of {_count(of, 'call')}, {percent(worst.frontier, of)}"
            yield f"  frontier: {share} may lead to functions that are not counted here{whose}"

    def _untimed(self) -> Iterator[str]:
        ranked = rank(self._hot())
        if not ranked:
            return
        shown = ranked if self._style.top is None else ranked[: self._style.top]
        more = f", the first {len(shown)} of {len(ranked):,}" if len(shown) < len(ranked) else ""
        yield self._title(f"untimed hot functions{more} (stages first, then by depth and loops)")
        for fact in shown:
            about = [fact.stage or fact.substage or "no stage", "+".join(fact.phases)]
            about += [f"in {_count(fact.loops, 'loop')}"] if fact.loops else []
            about += ["also captured: its Python is silent at replay"] if fact.captured else []
            yield f"  {self._place(fact.file, fact.line)} {fact.qualname}: {', '.join(about)}"

    def _frontier(self) -> Iterator[str]:
        yield self._title("calls by where they lead")
        for row in self._report.summary.rows:
            figures = f"{row.resolved:,} resolved, {row.external:,} external, {row.frontier:,} on the frontier"
            yield f"  {row.worker or 'hot path'} {row.phase}: {figures}"
        if self._report.summary.frontier:
            yield self._title("frontier, call by call")
        for call in self._report.summary.frontier:
            yield f"  {self._place(call.file, call.line)} {call.function}: {call.text}(...): {call.reason}"

    def _findings(self) -> Iterator[str]:
        """What the checks say beside the coverage gaps, which are told above."""
        style = self._style
        codes = {"error": RED, "warning": RED, "info": DIM}
        told = list(findings_of(self._report.findings, everything=style.top is None))
        if not told:
            return
        shown = told if style.top is None else told[: style.top]
        more = f", the first {len(shown)} of {len(told):,}" if len(shown) < len(told) else ""
        errors, warnings, infos = (sum(f.severity == name for f in self._report.findings) for name in codes)
        counts = f"{_count(errors, 'error')}, {_count(warnings, 'warning')}, {infos:,} info"
        yield self._title(f"findings{more} ({counts} in all, coverage gaps among them)")
        for finding in shown:
            severity = style.paint(codes[finding.severity], finding.severity)
            place = self._place(finding.file, finding.line, finding.end_line)
            message = PLACE.sub(lambda match: self._style.prefix + match[0], finding.message)
            yield f"  {place} {severity}: {message} [{finding.check}]"

    def _unknown(self) -> Iterator[str]:
        yield from self._frontier() if self._style.top is None else ()
        skipped = self._report.skipped
        if skipped:
            yield self._title(f"skipped, {_count(len(skipped), 'file')}")
        for entry in skipped if self._style.top is None else skipped[:MOST_SKIPPED]:
            yield f"  {self._style.prefix}{entry.file}: {entry.reason}"

    def _next(self) -> Iterator[str]:
        for command in self._report.next[:1]:
            yield f"next: {shlex.join(command)}"


def findings_of(findings: Iterable[Finding], *, everything: bool) -> Iterator[Finding]:
    """The findings that a text lists: not the coverage gaps, and notes only where everything is wanted."""
    for finding in findings:
        if not finding.check.startswith(UNTIMED) and (everything or finding.severity != "info"):
            yield finding


def rank(functions: Iterable[FunctionFact]) -> list[FunctionFact]:
    """The untimed ones, those that matter most first: in a stage, near the entry point, in many loops."""
    untimed = [fact for fact in functions if fact.coverage == UNTIMED]
    return sorted(
        untimed,
        key=lambda fact: (
            DECODE not in fact.phases,
            fact.stage is None,
            len(fact.via),
            -fact.loops,
            fact.file,
            fact.line,
        ),
    )


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _phase(phase: str) -> str:
    return PHASE_WORDS.get(phase, phase)


def _ranges(places: Iterable[tuple[int, int]]) -> str:
    told = [f"{start}-{end}" if end > start else str(start) for start, end in sorted(places)]
    more = [f"and {len(told) - MOST_PLACES} more"] if len(told) > MOST_PLACES else []
    return ", ".join(told[:MOST_PLACES] + more)


def _via(hops: Sequence[str]) -> str:
    """The hops by name: `, spec_stage_span -> profile_range -> torch.profiler.record_function`."""
    return ", " + " -> ".join(hop.partition(" ")[2] or hop for hop in hops) if hops else ""


def _gate(gate: str) -> str:
    if not gate:
        return ""
    return f", {gate}" if gate.startswith("only ") else f", only if {gate}"
