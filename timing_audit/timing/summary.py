"""The rows of the summary: what one worker does in one phase, in figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from timing_audit.model.pack import Packs, StageRule, WorkerRule
from timing_audit.model.program import ClassRef, FunctionRef
from timing_audit.model.report import (
    WORDS, BracketFact, Clocks, Count, FrontierFact, Part, Row, StageRow, Tallies, Tally, Timed, Timer, WrapperFact,
)  # fmt: skip
from timing_audit.model.timing import Bracket
from timing_audit.program.engine import PHASES
from timing_audit.program.hotpath import State
from timing_audit.timing.describe import Describer, Facts
from timing_audit.timing.landings import Counts, Landings
from timing_audit.timing.stages import StageCoverage, Stages
from timing_audit.timing.survey import Inferred


class Share(NamedTuple):
    """What a function adds to a row, under those of its states that belong to the row."""

    clocks: Clocks
    part: str
    statements: int
    timed: tuple[int, ...]
    calls: Counts


class Summarizer:
    """Rows for every worker and phase."""

    def __init__(self, facts: Facts, describer: Describer, packs: Packs, landings: Landings) -> None:
        self._facts = facts
        self._describer = describer
        self._packs = packs
        self._landings = landings
        self._stages = Stages(facts.cycle, facts.scopes, facts.reaches, facts.brackets, facts.statements)
        self._hot = [(ref, found) for ref, found in facts.cycle.states.items() if facts.roles.role(ref) == "hot"]
        self._shares: dict[tuple[FunctionRef, tuple[int, ...]], Share] = {}

    def row(self, worker: str, phase: str) -> Row | None:
        """One row; None where the worker has no such phase."""
        running = {ref: self._running(found, worker, phase) for ref, found in self._hot}
        hot = [ref for ref, places in running.items() if places]
        entries = self._entries(worker, phase)
        if not hot or not entries:
            return None
        entry = entries[0]
        shares = [self._share(ref, running[ref], phase) for ref in hot]
        words = [share.clocks for share in shares]
        bracketed = [self._facts.cycle.states[ref][place] for ref in self._facts.brackets for place in running[ref]]
        return Row(
            worker=worker or None,
            launched_with=self.launched_with(worker),
            phase=phase,
            file=entry.frame.path,
            line=_line(entry),
            functions=len(hot),
            tallies=_tallies(words),
            statements=sum(share.statements for share in shares),
            timed_statements=Count(*map(sum, zip(*(share.timed for share in shares), strict=True))),
            parts=_parts([share.part for share in shares], words),
            stages=tuple(_stage_row(stage) for stage in self._stages.of(worker, phase)),
            cycle=tuple(_timer(bracket) for bracket in self._stages.cycle_brackets(bracketed)),
            **Counts(*map(sum, zip(*(share.calls for share in shares), strict=True)))._asdict(),
        )

    def _running(self, states: Sequence[State], worker: str, phase: str) -> tuple[int, ...]:
        """Which of the states belong to a row, by their places."""
        return tuple(
            place for place, state in enumerate(states) if state.phase.name == phase and self._runs_under(state, worker)
        )

    def _share(self, ref: FunctionRef, places: tuple[int, ...], phase: str) -> Share:
        """What a function adds to a row; rows of several workers share most of it."""
        found = self._shares.get((ref, places))
        if found is None:
            states = [self._facts.cycle.states[ref][place] for place in places]
            found = self._shares[ref, places] = Share(
                self._describer.clocks(ref, states)[0],
                self._describer.part(ref, states),
                *self._timed_statements(ref, states, phase),
                self._landings.counts(states),
            )
        return found

    def frontier(self) -> tuple[FrontierFact, ...]:
        """The calls of hot functions that are on the frontier."""
        states, role = self._facts.cycle.states, self._facts.roles.role
        hot = [state for ref, found in states.items() if role(ref) == "hot" for state in found]
        return tuple(self._landings.unresolved(hot, self._describer.workers))

    def _runs_under(self, state: State, worker: str) -> bool:
        """Whether the state belongs to the worker's cycle; what the scheduler runs belongs to all of them."""
        return not self._facts.cycle.path.workers[state].isdisjoint(("", worker))

    def _entries(self, worker: str, phase: str) -> list[State]:
        cycle = self._facts.cycle
        if worker:
            entered = [t.target for t in cycle.transitions if t.worker == worker]
            found = entered + [state for state in cycle.path.entries if worker in cycle.path.workers[state]]
        else:
            found = list(cycle.path.entries)
        return [state for state in found if state.phase.name == phase]

    def _timed_statements(self, ref: FunctionRef, states: Sequence[State], phase: str) -> tuple[int, tuple[int, ...]]:
        """The statements of a function that run in the phase, and how many of them are timed on each clock."""
        if self._describer.is_excluded(ref):
            return 0, (0, 0, 0)
        statements = [s for s in self._facts.statements[ref] if phase in s.phases]
        counts = []
        for place, reach in enumerate(self._facts.reaches):
            inside = all(state in reach.inside for state in states)
            counts.append(sum(inside or s.innermost[place] is not None for s in statements))
        return len(statements), tuple(counts)

    def launched_with(self, worker: str) -> tuple[str, ...]:
        """The names that choose a worker on the command line."""
        found: dict[str, None] = {}
        for rule in self._packs.select(WorkerRule):
            for name, classes in rule.workers:
                if worker in classes:
                    found[f"{name} with {rule.when}" if rule.when else name] = None
        return tuple(found)

    def wrappers(self, inferred: Iterable[Inferred], brackets: Sequence[BracketFact]) -> list[WrapperFact]:
        """The wrappers of the audited files that something uses or that the packs' stages are named in."""
        stages = tuple(dict.fromkeys(rule.stage for rule in self._packs.select(StageRule, "stage")))
        found = []
        for wrapper in inferred:
            uses = [bracket for bracket in brackets if any(_is_hop(hop, wrapper.ref) for hop in bracket.hops)]
            around = {bracket.stage for bracket in uses} | {bracket.label for bracket in uses}
            named = [stage for stage in stages if re.search(rf"\b{stage}\b", wrapper.docstring)]
            missing = tuple(stage for stage in named if stage not in around) if len(named) > 1 else ()
            measure = wrapper.measures[0]
            found.append(
                WrapperFact(
                    measure.file,
                    measure.line,
                    wrapper.ref.qualname,
                    measure.clock.value,
                    measure.hops,
                    measure.gate,
                    len(uses),
                    sum(bracket.phase in PHASES for bracket in uses),
                    missing,
                    tuple(sorted(measure.forms)),
                    tuple(dict.fromkeys(each.clock.value for each in wrapper.measures)),
                )
            )
        return sorted(found)


def _parts(names: Sequence[str], words: Sequence[Clocks]) -> tuple[Part, ...]:
    grouped: dict[str, list[Clocks]] = {}
    for name, word in zip(names, words, strict=True):
        grouped.setdefault(name, []).append(word)
    return tuple(Part(name, len(found), _tallies(found)) for name, found in sorted(grouped.items()))


def _is_hop(hop: str, ref: FunctionRef | ClassRef) -> bool:
    """Whether a hop, `file:line name`, is this definition."""
    place, _, name = hop.partition(" ")
    return place.rpartition(":")[0] == ref.path and name == ref.qualname


def _line(state: State) -> int:
    return state.frame.function.line if state.frame.function is not None else 1


def _tallies(words: Sequence[Clocks]) -> Tallies:
    tallies = []
    for place in range(3):
        counts = Counter(clocks[place] for clocks in words)
        tallies.append(Tally(*(counts[word] for word in WORDS)))
    return Tallies(*tallies)


def _stage_row(stage: StageCoverage) -> StageRow:
    first = min(stage.calls)
    timed = Timed(*(len(places) == len(stage.calls) for places in stage.timed_calls))
    return StageRow(
        stage.stage, first.file, first.line, len(stage.calls), Count(*map(len, stage.timed_calls)), timed,
        tuple(map(_timer, stage.timers)), tuple(map(_timer, stage.inside)),
    )  # fmt: skip


def _timer(bracket: Bracket) -> Timer:
    function = bracket.function.qualname if bracket.function is not None else ""
    return Timer(
        bracket.file, bracket.start_line, bracket.end_line, bracket.clock.value, function, bracket.label, bracket.hops,
        bracket.gate,
    )  # fmt: skip
