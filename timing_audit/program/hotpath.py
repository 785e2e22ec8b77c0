"""From entry points to the hot path: who runs in which phase, stage and worker, and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from timing_audit.model.pack import FunctionRule
from timing_audit.model.program import ClassRef, Frame, FunctionRef, Literal, Values
from timing_audit.model.syntax import Function
from timing_audit.program.cells import SCAN
from timing_audit.program.classes import is_stub
from timing_audit.program.engine import PHASES, Engine
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.library import Library, Unit
from timing_audit.program.phases import Phase, Phases
from timing_audit.program.walk import Edge, Effect, Walker

CAPTURE = "capture"


class State(NamedTuple):
    """One way of being hot: a body, a phase with its modes, the innermost stage, the worker."""

    frame: Frame
    phase: Phase
    stage: str
    substage: str
    worker: str


class Step(NamedTuple):
    """How a state was first reached."""

    caller: State | None
    edge: Edge | None


class HotPath(NamedTuple):
    """Every state that was reached, with the step that reached it first."""

    steps: dict[State, Step]
    entries: tuple[State, ...]


class Explorer:
    def __init__(self, library: Library, evaluator: Evaluator, engine: Engine) -> None:
        self.library = library
        self.evaluator = evaluator
        self.engine = engine
        self.phases = Phases(evaluator, engine)
        self._sorted: dict[tuple[Frame, Phase], tuple[Values, list[Edge]]] = {}
        evaluator.attributes.hints = {rule.name: rule.classes for rule in engine.hints}
        evaluator.kinds[SCAN] = self._scan  # type: ignore[assignment]
        evaluator.kinds["effects"] = self._effects

    def trace(self, entries: Iterable[State]) -> HotPath:
        """Follows the edges until nothing new is found and nothing found changes."""
        roots = tuple(entries)
        while True:
            steps = self._search(roots)
            before = self.evaluator.cells.growth
            self.evaluator.cells.settle()
            if self.evaluator.cells.growth == before:
                return HotPath(steps, roots)

    def _search(self, roots: tuple[State, ...]) -> dict[State, Step]:
        steps: dict[State, Step] = {root: Step(None, None) for root in roots}
        queue = deque(roots)
        while queue:
            state = queue.popleft()
            for edge in self.edges(state.frame, state.phase):
                following = self._follow(state, edge)
                if following is not None and following not in steps:
                    steps[following] = Step(state, edge)
                    queue.append(following)
        return steps

    def edges(self, frame: Frame, phase: Phase) -> list[Edge]:
        found = self.evaluator.cells.read((SCAN, frame, phase.name, phase.modes))
        known = self._sorted.get((frame, phase))
        if known is None or known[0] is not found:
            edges = sorted((fact for fact in found if isinstance(fact, Edge)), key=_place)
            known = self._sorted[frame, phase] = (found, edges)
        return known[1]

    def _follow(self, state: State, edge: Edge) -> State | None:
        ref = edge.target.function
        if ref is None or self.library.is_leaf_path(ref.path):
            return None
        if state.phase.name == CAPTURE:
            return State(edge.target, Phase(CAPTURE, frozenset()), "", "", "")
        if is_stub(self.library.function(ref)) or self.engine.mark(ref):
            return None
        return self._enter(state, edge, ref)

    def _enter(self, state: State, edge: Edge, ref: FunctionRef) -> State:
        phase, callee = Phase(state.phase.name, edge.modes), "" if edge.kind == "property" else edge.text
        around = (state.stage,) if state.stage else ()
        stage = self.engine.enters(self.engine.stages, ref, callee, phase.name, around) or state.stage
        substage = self.engine.enters(self.engine.substages, ref, callee, phase.name, around) or state.substage
        return State(edge.target, phase, stage, substage, state.worker or self._worker(state, edge))

    def _worker(self, state: State, edge: Edge) -> str:
        """The worker's class, where this edge is the engine's call of a worker.

        A worker is whatever the scheduler's function calls with the batch that can itself forward:
        its class also holds the method of that name in every other worker.
        """
        caller, receiver = state.frame.function, edge.target.receiver
        if caller is None or receiver is None or edge.kind != "call" or not self.engine.is_target_call(caller):
            return ""
        ref = edge.target.function
        rules = [rule for rule in self.engine.entries if rule.role == "worker"]
        named = ref is not None and any(rule.matches(ref.path, ref.qualname) for rule in rules)
        return receiver.qualname if named else ""

    # Cells.

    def _scan(self, frame: Frame, name: str, modes: frozenset[str]) -> Values:
        if frame.function is None:
            return frozenset()
        walker = Walker(self.evaluator, self.phases, self.engine, frame, Phase(name, modes))
        walker.run(self.library.body(frame.function))
        facts: set[Edge | Effect] = {*walker.edges, *(Effect(mode) for mode in walker.effects)}
        return frozenset(facts)  # type: ignore[arg-type]

    def _effects(self, frame: Frame, name: str, modes: frozenset[str]) -> Values:
        facts = self.evaluator.cells.read((SCAN, frame, name, modes))
        return frozenset(Literal(fact.mode) for fact in facts if isinstance(fact, Effect))  # type: ignore[unreachable]

    # Entry points.

    def entry_states(self, globs: tuple[str, ...] = ()) -> list[State]:
        """The states that the packs' entry rules (or these globs instead) name, on every class that inherits them."""
        if globs:
            given = FunctionRule("", "entry", "", "", (), "", "", 0, functions=globs)
            return self._rooted(given, PHASES)
        for role in ("scheduler", "worker"):
            found = [s for rule in self.engine.entries if rule.role == role for s in self._rooted(rule, rule.phases)]
            if found:
                return found
        return []

    def _rooted(self, rule: FunctionRule, phases: tuple[str, ...]) -> list[State]:
        frames = self._frames(rule)
        return [State(frame, self.phases.start(name), "", "", "") for name in phases for frame in frames]

    def _frames(self, rule: FunctionRule) -> list[Frame]:
        found: set[Frame] = set()
        for unit in self.library.units:
            for function in unit.outline.functions:
                if rule.matches(unit.path, function.qualname) and not is_stub(function):
                    found.update(self._receivers(unit, function))
        return sorted(found, key=str)

    def _receivers(self, unit: Unit, function: Function) -> list[Frame]:
        """The frames of an entry point: on each class that inherits it; a mixin only where nothing does."""
        ref = FunctionRef(unit.path, function.qualname, function.line)
        if not function.in_class:
            return [Frame(unit.path, ref, None)]
        owner = ClassRef(unit.path, function.owner)
        heirs = [c for c in self.evaluator.classes.subclasses(owner) if self.evaluator.classes.method(c, function.name) == ref]
        made = heirs if function.params and function.params[0].annotation is not None and heirs else [owner, *heirs]
        return [Frame(unit.path, ref, cls) for cls in made]


def _place(edge: Edge) -> tuple[object, ...]:
    function, receiver = edge.target.function, edge.target.receiver
    return edge.line, edge.column, edge.kind, function or (), receiver or (), edge.how, len(edge.modes)
