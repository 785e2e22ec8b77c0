"""From what was found to the facts of a report: functions, edges, sites, brackets, regions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from timing_audit.model.program import FunctionRef
from timing_audit.model.report import (
    EXCLUDED, BracketFact, Clocks, EdgeFact, FunctionFact, RegionFact, SiteFact, Timed,
)  # fmt: skip
from timing_audit.model.timing import BodyTiming, Bracket, Site
from timing_audit.program.classes import is_stub
from timing_audit.program.engine import DECODE, PHASES
from timing_audit.program.hotpath import State
from timing_audit.program.library import Library, Unit, ref_of
from timing_audit.timing.coverage import CLOCKS, Reach, Scopes, better, word
from timing_audit.timing.cycle import Cycle
from timing_audit.timing.lines import Lines, statement_lines
from timing_audit.timing.reached import Reached
from timing_audit.timing.regions import Statement, contains, own_statements, regions_of
from timing_audit.timing.roles import Roles
from timing_audit.timing.survey import Survey

REASONS = {
    "cold": "not on the hot path",
    "capture": "runs only while graphs are captured, or at warm-up",
    "kernel": "compiled for the device",
    "compiled": "taken over by a compiler",
}


@dataclass
class Facts:
    """Everything that the description of a function draws on."""

    library: Library
    cycle: Cycle
    roles: Roles
    survey: Survey
    reached: Reached
    bodies: dict[FunctionRef, BodyTiming]
    modules: list[BodyTiming]
    scopes: Scopes
    reaches: tuple[Reach, ...]
    statements: dict[FunctionRef, list[Statement]]
    brackets: dict[FunctionRef, tuple[Bracket, ...]]
    timers: set[FunctionRef]


def timers_of(cycle: Cycle, survey: Survey) -> set[FunctionRef]:
    """The hot functions that are a timer's own: wrappers, setters, and all that only those call."""
    found = {ref for ref in cycle.states if survey.is_timer(ref)}
    callers: dict[FunctionRef, set[FunctionRef | None]] = {}
    for transition in cycle.transitions:
        target, caller = transition.target.frame.function, transition.caller.frame.function
        if target is not None and target != caller:
            callers.setdefault(target, set()).add(caller)
    roots = {state.frame.function for state in cycle.path.entries}
    pending = [ref for ref in callers if ref not in found and ref not in roots]
    while True:
        only = [ref for ref in pending if callers[ref] <= found]
        if not only:
            return found
        found.update(only)
        pending = [ref for ref in pending if ref not in found]


def build_facts(
    library: Library, cycle: Cycle, roles: Roles, survey: Survey, reached: Reached,
    bodies: dict[FunctionRef, BodyTiming], modules: list[BodyTiming],
) -> Facts:  # fmt: skip
    """Computes coverage: the brackets of hot functions that count, and what they reach."""
    hot = [ref for ref in cycle.states if roles.role(ref) == "hot"]
    timers = timers_of(cycle, survey)
    brackets = {
        ref: bodies[ref].brackets for ref in hot if ref in bodies and bodies[ref].brackets and ref not in timers
    }
    scopes = Scopes(cycle)
    statements = {ref: _statements(library, cycle, scopes, reached, bodies.get(ref), brackets, ref) for ref in hot}
    reaches = tuple(Reach(scopes, brackets, clock) for clock in CLOCKS)
    return Facts(library, cycle, roles, survey, reached, bodies, modules, scopes, reaches, statements, brackets, timers)


def _statements(
    library: Library, cycle: Cycle, scopes: Scopes, reached: Reached, body: BodyTiming | None,
    brackets: dict[FunctionRef, tuple[Bracket, ...]], ref: FunctionRef,
) -> list[Statement]:  # fmt: skip
    """The hot statements of a function; the cycle's brackets cover none of them."""
    found = brackets.get(ref, ())
    counted = [
        bracket
        if not any(scopes.is_cycle(state, bracket) for state in cycle.states[ref])
        else bracket._replace(covers=())
        for bracket in found
    ]
    lines = [(span, reached.phases(ref, span)) for span in statement_lines(library.body(ref))]
    return own_statements(
        [(span, phases) for span, phases in lines if phases], body.sites if body is not None else (), counted
    )


def leading_state(states: Sequence[State]) -> State:
    """The state that speaks for a function: the shortest chain with a stage in decode, else prefill, else any."""
    for phase in PHASES:
        staged = [state for state in states if state.stage and state.phase.name == phase]
        if staged:
            return staged[0]
    return min(states, key=lambda state: PHASES.index(state.phase.name) if state.phase.name in PHASES else len(PHASES))


class Describer:
    """Facts of the report, one kind a method."""

    def __init__(self, facts: Facts, workers: Sequence[str]) -> None:
        self._facts = facts
        self._workers = tuple(workers)

    # Functions and edges.

    def function(self, unit: Unit, ref: FunctionRef) -> FunctionFact:
        """One function with its role and coverage."""
        facts = self._facts
        function, role = facts.library.function(ref), facts.roles.role(ref)
        states = facts.cycle.states.get(ref, []) if role == "hot" else []
        lead = leading_state(states) if states else None
        clocks, reason = self.clocks(ref, states)
        return FunctionFact(
            ref.path, ref.qualname, ref.line, function.end_line, role, facts.roles.is_captured(ref),
            phases_of(states), self._stage(ref, lead), (facts.cycle.path.substages.get(lead) or None) if lead else None,
            self.workers(states), self.via(lead) if lead else (), better(clocks.host, clocks.device), clocks, reason,
            self._loops(lead) if lead else 0, len(facts.statements.get(ref, ())),
            unit.module.fingerprint(ref.line) if states else "",
        )  # fmt: skip

    def _stage(self, ref: FunctionRef, lead: State | None) -> str | None:
        """The stage that the packs say the function serves, else the one of the chain that reaches it."""
        return (self._facts.cycle.path.labels.get(ref) or lead.stage or None) if lead else None

    def part(self, ref: FunctionRef, states: Sequence[State]) -> str:
        """The part of the cycle that the function belongs to: a substage, else a stage, else `rest`."""
        lead = leading_state(states)
        return self._facts.cycle.path.substages.get(lead) or self._stage(ref, lead) or "rest"

    def clocks(self, ref: FunctionRef, states: Sequence[State]) -> tuple[Clocks, str]:
        """How a function is timed under these of its states, and why it is left out where it is."""
        reason = self._excluded(ref)
        if reason:
            return Clocks(EXCLUDED, EXCLUDED, EXCLUDED), reason
        statements = self._facts.statements[ref]
        words = [
            word(statements, clock, states, reach) for clock, reach in zip(CLOCKS, self._facts.reaches, strict=True)
        ]
        return Clocks(*words), ""

    def is_excluded(self, ref: FunctionRef) -> bool:
        """Whether the function is left out of coverage."""
        return bool(self._excluded(ref))

    def _excluded(self, ref: FunctionRef) -> str:
        role = self._facts.roles.role(ref)
        if role != "hot":
            decorator = self._facts.roles.jit(ref)[1]
            return f"{REASONS[role]} ({decorator})" if decorator else REASONS[role]
        if ref in self._facts.timers:
            return "it is part of a timer"
        if is_stub(self._facts.library.function(ref)):
            return "it has no body"
        return "" if self._facts.statements[ref] else "it does no work of its own"

    def workers(self, states: Iterable[State]) -> tuple[str, ...]:
        """The workers under which a function runs; what the scheduler runs, it runs for all of them."""
        named = {worker for state in states for worker in self._facts.cycle.path.workers[state]}
        return self._workers if "" in named else tuple(sorted(named))

    def via(self, state: State) -> tuple[str, ...]:
        """The chain that leads to a state: the entry's `def` line, then each call."""
        places: list[str] = []
        steps = self._facts.cycle.path.steps
        step = steps[state]
        while step.caller is not None and step.edge is not None:
            places.append(f"{step.caller.frame.path}:{step.edge.line}")
            state, step = step.caller, steps[step.caller]
        root = state.frame.function
        places.append(f"{state.frame.path}:{root.line if root is not None else 1}")
        return tuple(reversed(places))

    def _loops(self, state: State) -> int:
        found, steps = 0, self._facts.cycle.path.steps
        step = steps[state]
        while step.caller is not None and step.edge is not None:
            found += len(step.edge.loops)
            step = steps[step.caller]
        return found

    def edges(self) -> tuple[EdgeFact, ...]:
        """The calls between hot functions, each once, with the phases in which it is made."""
        found: dict[EdgeFact, set[str]] = {}
        for caller, edge, target, *_ in self._facts.cycle.transitions:
            here, there = caller.frame.function, target.frame.function
            if here is None or there is None:
                continue
            fact = EdgeFact(
                here.path, edge.line, edge.column, here.qualname, there.path, there.qualname, there.line,
                edge.how, edge.kind, (), edge.loops,
            )  # fmt: skip
            found.setdefault(fact, set()).add(caller.phase.name)
        return tuple(sorted(fact._replace(phases=in_order(phases)) for fact, phases in found.items()))

    # Sites, brackets, regions.

    def sites(self, body: BodyTiming) -> list[SiteFact]:
        """The sites of one body."""
        return [
            SiteFact(
                site.file, site.line, site.column, site.kind, site.purpose.value, _name(site),
                self.phase_at(body.function, site.line, site.line), site.hops, site.gate, site.rule,
            )
            for site in body.sites
        ]  # fmt: skip

    def brackets(self, body: BodyTiming) -> list[BracketFact]:
        """The brackets of one body; a wrapper's own are the brackets of its callers."""
        if body.function is not None and self._facts.survey.wrapper(body.function):
            return []
        return [self.bracket(bracket) for bracket in body.brackets]

    def bracket(self, bracket: Bracket) -> BracketFact:
        """One bracket, with the stage that it is in or around."""
        ref = bracket.function
        states = self._facts.cycle.states.get(ref, []) if ref is not None and ref in self._facts.brackets else []
        is_cycle = any(self._facts.scopes.is_cycle(state, bracket) for state in states) if bracket.covers else False
        held = [state for state in states if self._facts.scopes.inner(state, bracket)] or states
        around = {stage for state in held for stage in self._around(state, bracket) if stage}
        stage = next(iter(around)) if len(around) == 1 and not is_cycle else None
        phase = self._phase_of(ref, bracket)
        return BracketFact(
            bracket.file, bracket.start_line, bracket.end_line, bracket.clock.value, ref.qualname if ref else "", phase,
            bracket.label, bracket.hops, bracket.gate, stage or None, is_cycle,
        )  # fmt: skip

    def _around(self, state: State, bracket: Bracket) -> frozenset[str]:
        stages = self._facts.scopes.stages(state, bracket)
        return stages or frozenset((state.stage,))

    def _phase_of(self, ref: FunctionRef | None, bracket: Bracket) -> str:
        if ref not in self._facts.bodies:
            return "init"
        start, end = bracket.covers[0] if bracket.covers else (bracket.end_line, bracket.end_line)
        return self.phase_at(ref, start, end)

    def phase_at(self, ref: FunctionRef | None, start: int, end: int) -> str:
        """The phase in which a range of lines runs; where both hold, decode."""
        if ref is None:
            return "init"
        role = self._facts.roles.role(ref)
        if ref in self._facts.timers or self._facts.survey.is_timer(ref) or role in ("kernel", "compiled"):
            return "other"
        if role == "hot":
            lines = self._facts.reached.phases(ref, self._statement_at(ref, start, end)) or phases_of(
                self._facts.cycle.states[ref]
            )
            return lines[0] if lines else DECODE
        if role == "capture":
            return "capture"
        return "init" if ref.qualname.rpartition(".")[2] in ("__init__", "__post_init__") else "other"

    def _statement_at(self, ref: FunctionRef, start: int, end: int) -> Lines:
        """The statement around a line that is not its first one."""
        for lines in statement_lines(self._facts.library.body(ref)):
            if lines.start <= start <= lines.end:
                return Lines(lines.start, max(lines.end, end))
        return Lines(start, end)

    def regions(self, ref: FunctionRef) -> list[RegionFact]:
        """The regions of one hot function."""
        facts = self._facts
        if ref not in facts.statements or self._excluded(ref):
            return []
        states = facts.cycle.states[ref]
        lead = leading_state(states)
        outside = Timed(*(all(state in reach.inside for state in states) for reach in facts.reaches))
        entered = [t for state in states for t in facts.cycle.out[state] if t.enters_stage]

        def place(statement: Statement) -> tuple[str, str]:
            phase, lines = statement.phases[0], statement.lines
            stages = {
                t.enters_stage
                for t in entered
                if t.caller.phase.name == phase and lines.start <= t.edge.line <= lines.end
            }
            return phase, stages.pop() if len(stages) == 1 else lead.stage

        return [
            RegionFact(
                ref.path, region.start, region.end, ref.qualname, region.stage or None, region.phase, region.timed
            )
            for region in regions_of(facts.statements[ref], place, outside)
        ]


def phases_of(states: Iterable[State]) -> tuple[str, ...]:
    """The phases of some states, decode first."""
    return in_order({state.phase.name for state in states})


def in_order(phases: Iterable[str]) -> tuple[str, ...]:
    """Phases as reports list them."""
    named = set(phases)
    return tuple(phase for phase in PHASES if phase in named)


def functions_of(unit: Unit) -> list[FunctionRef]:
    """The functions of a file, in order."""
    return [ref_of(unit, function) for function in unit.outline.functions]


def _name(site: Site) -> str:
    return site.function.qualname if site.function is not None else ""


__all__ = ["Describer", "Facts", "build_facts", "contains", "functions_of", "in_order", "leading_state", "phases_of"]
