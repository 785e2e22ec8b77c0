"""The coverage gaps: stages, functions and regions of the hot path that no timer covers."""

from __future__ import annotations

from collections.abc import Iterator

from timing_audit.checks.base import MEDIUM, NOTE, WARNING, Check, example
from timing_audit.model.checks import CheckPage
from timing_audit.model.evidence import Evidence, Spot
from timing_audit.model.report import UNTIMED, Finding, FunctionFact, Report, Row, StageRow

DECODE = "decode"
HOW = "`timing-audit apply --codemod` inserts timers; `strip` takes them out again"


def _stages(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    told: dict[tuple[object, ...], tuple[StageRow, Row, list[str]]] = {}
    for row in sorted(report.summary.rows, key=lambda row: row.phase != DECODE):
        for stage in row.stages:
            if not (stage.timed.host or stage.timed.device):
                key = (row.phase, stage.file, stage.line, stage.stage, stage.timed)
                told.setdefault(key, (stage, row, []))[2].append(row.worker or "the hot path")
    functions = {(fact.file, fact.line): fact for fact in report.functions}
    for stage, row, workers in told.values():
        spot = _entry(stage, row, functions)
        known = _partly(stage)
        message = f"no timer covers the {stage.stage} stage of {', '.join(workers)} in {row.phase}"
        notes = "".join(
            f"; the docstring of {wrapper.name} at {wrapper.file}:{wrapper.line} names {stage.stage}, and nothing "
            "wraps it"
            for wrapper in report.summary.wrappers
            if stage.stage in wrapper.unwrapped
        )  # fmt: skip
        yield check.at(spot, message + (f" ({known})" if known else "") + notes)


def _partly(stage: StageRow) -> str:
    """What is known of a stage although it is not timed."""
    if stage.timed.trace:
        return "only a profiler sees it"
    some = zip(("host", "device", "trace"), stage.timed_calls, strict=True)
    return ", ".join(f"{clock}: {count} of {stage.calls} calls" for clock, count in some if count)


def _entry(stage: StageRow, row: Row, functions: dict[tuple[str, int], FunctionFact]) -> Spot:
    """The spot of the call that enters a stage."""
    around = [
        fact for (file, _), fact in functions.items() if file == stage.file and fact.line <= stage.line <= fact.end_line
    ]
    holder = max(around, key=lambda fact: fact.line).qualname if around else ""
    return Spot(stage.file, stage.line, stage.line, holder, stage.stage, row.phase)


def rank(functions: Iterator[FunctionFact] | tuple[FunctionFact, ...]) -> list[FunctionFact]:
    """Those that matter most first: in decode, in a stage, near the entry point, in many loops."""
    return sorted(
        functions,
        key=lambda fact: (
            DECODE not in fact.phases, fact.stage is None, len(fact.via), -fact.loops, fact.file, fact.line,
        ),
    )  # fmt: skip


def _functions(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    untimed = tuple(fact for fact in report.functions if fact.role == "hot" and fact.coverage == UNTIMED)
    for fact in rank(untimed):
        spot = Spot(
            fact.file, fact.line, fact.end_line, fact.qualname, fact.stage, fact.phases[0] if fact.phases else ""
        )
        where = f"the {fact.stage} stage" if fact.stage else f"{fact.substage}" if fact.substage else "the cycle"
        how = "only a profiler sees it" if fact.clocks.trace != UNTIMED else "no timer covers it"
        loops = f", in {fact.loops} loop{'s' if fact.loops > 1 else ''}" if fact.loops else ""
        silent = "; it is also captured: at replay its Python does not run" if fact.captured else ""
        message = f"{fact.qualname} runs in {where} ({'+'.join(fact.phases)}{loops}) and {how}{silent}"
        yield check.at(spot, message, confidence=MEDIUM if fact.captured else "high")


def _regions(check: Check, report: Report, evidence: Evidence) -> Iterator[Finding]:
    partial = {
        (fact.file, fact.qualname): fact
        for fact in report.functions
        if fact.role == "hot" and fact.coverage == "partial"
    }
    place = {key: number for number, key in enumerate((f.file, f.qualname) for f in rank(tuple(partial.values())))}
    regions = [r for r in report.regions if (r.file, r.function) in place and not (r.timed.host or r.timed.device)]
    for region in sorted(regions, key=lambda r: (place[r.file, r.function], r.start_line)):
        spot = Spot(region.file, region.start_line, region.end_line, region.function, region.stage, region.phase)
        lines = f"lines {region.start_line}-{region.end_line}" if region.end_line > region.start_line else "this line"
        how = "only a profiler sees them" if region.timed.trace else "no timer covers them"
        yield check.at(spot, f"parts of {region.function} are timed, but for {lines} of {region.phase} {how}")


UNTIMED_STAGE = Check(
    CheckPage(
        "untimed-stage",
        "A stage of the cycle that no host or device timer covers.",
        "Where a stage is not timed, nobody knows its share of the cycle, and tuning it is guessing. A timer deeper "
        "inside does not time the stage, and a bracket around several stages tells none of them apart.",
        WARNING,
        f"put a timer around the call that enters it; {HOW}",
        (
            example(
                "a cycle without timers",
                """
class EAGLEWorker:
    def forward_batch_generation(self, batch):
        tree = self.draft(batch)  # finds: untimed-stage
        return self.verify(tree)  # finds: untimed-stage

    def draft(self, batch):
        return self.head.step(batch)

    def verify(self, tree):
        return self.target.step(tree)
""",
                packs=True,
            ),
        ),
        (
            example(
                "every stage in a timer of its own",
                """
import time

class EAGLEWorker:
    def forward_batch_generation(self, batch):
        start = time.perf_counter()
        tree = self.draft(batch)
        drafted = time.perf_counter()
        tokens = self.verify(tree)
        self.log(drafted - start, time.perf_counter() - drafted)
        return tokens

    def draft(self, batch):
        return self.head.step(batch)

    def verify(self, tree):
        return self.target.step(tree)
""",
                packs=True,
            ),
        ),
    ),
    _stages,
)

UNTIMED_FUNCTION = Check(
    CheckPage(
        "untimed-function",
        "A function of the hot path that no host or device timer covers.",
        "It runs in every cycle and its time is nobody's: it hides in what is left over when the stages are added up.",
        NOTE,
        HOW,
        (
            example(
                "a helper of the cycle",
                """
def commit(tokens):  # finds: untimed-function
    return tokens.write()
""",
            ),
        ),
        (
            example(
                "timed from end to end",
                """
import time

def commit(tokens, log):
    start = time.perf_counter()
    tokens.write()
    log(time.perf_counter() - start)
""",
            ),
        ),
    ),
    _functions,
)

UNTIMED_REGION = Check(
    CheckPage(
        "untimed-region",
        "Hot lines without a timer in a function that is timed in part.",
        "A timer in a function makes the whole look measured, while the lines beside it are not.",
        NOTE,
        "widen the timer, or give these lines one of their own",
        (
            example(
                "work behind the stop",
                """
import time

def step(worker, batch):
    start = time.perf_counter()
    worker.draft(batch)
    worker.log(time.perf_counter() - start)
    worker.flush(batch)  # finds: untimed-region
""",
            ),
        ),
        (
            example(
                "nothing behind the stop",
                """
import time

def step(worker, batch):
    start = time.perf_counter()
    worker.draft(batch)
    worker.flush(batch)
    worker.log(time.perf_counter() - start)
""",
            ),
        ),
    ),
    _regions,
)

CHECKS = (UNTIMED_STAGE, UNTIMED_FUNCTION, UNTIMED_REGION)
