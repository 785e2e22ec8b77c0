"""From entry points to the hot path: who runs in which phase, stage and worker, and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from timing_audit.model.engine import Engine, StageRule
from timing_audit.model.program import ClassRef, Frame, FunctionRef, Literal, Values
from timing_audit.program.boundary import Boundary
from timing_audit.program.cells import SCAN
from timing_audit.program.classes import is_stub
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.library import Library
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
        self.boundary = Boundary(library, engine)
        evaluator.kinds[SCAN] = self._scan  # type: ignore[assignment]
        evaluator.kinds["effects"] = self._effects

    def trace(self, entries: Iterable[State]) -> HotPath:
        """Follows the edges until nothing new is found and nothing found changes."""
        roots = tuple(entries)
        while True:
            steps = self._search(roots)
            before = self._size()
            self.evaluator.cells.settle()
            if self._search(roots) == steps and self._size() == before:
                return HotPath(steps, roots)

    def _size(self) -> int:
        return len(self.library.units) + len(self.evaluator.classes.property_names)

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
        edges = [fact for fact in found if isinstance(fact, Edge)]
        return sorted(edges, key=_place)

    def _follow(self, state: State, edge: Edge) -> State | None:
        ref = edge.target.function
        if ref is None or self.library.is_leaf_path(ref.path):
            return None
        if state.phase.name == CAPTURE:
            return State(edge.target, Phase(CAPTURE, frozenset()), "", "", "")
        if self.boundary.stops(ref):
            return None
        phase = Phase(state.phase.name, edge.modes)
        stage = self._stage(self.engine.stages, ref, edge, phase.name) or state.stage
        substage = self._stage(self.engine.substages, ref, edge, phase.name) or state.substage
        return State(edge.target, phase, stage, substage, state.worker or self._worker(state, edge))

    def _stage(self, rules: tuple[StageRule, ...], ref: FunctionRef, edge: Edge, phase: str) -> str:
        for rule in rules:
            if rule.phases and phase not in rule.phases:
                continue
            if self.boundary.matches(ref.qualname, rule.functions) or (edge.kind != "property" and self.boundary.matches(edge.text, rule.calls)):
                return rule.stage
        return ""

    def _worker(self, state: State, edge: Edge) -> str:
        """The worker's class, where this edge is the engine's call of a worker."""
        if state.frame.function is None or edge.kind == "property":
            return ""
        if not self.boundary.matches(state.frame.function.qualname, self.engine.worker_calls):
            return ""
        attribute = edge.text.rpartition(".")[0].rpartition(".")[2]
        receiver = edge.target.receiver
        return receiver.qualname if receiver is not None and attribute in self.engine.worker_attributes else ""

    # Cells.

    def _scan(self, frame: Frame, name: str, modes: frozenset[str]) -> Values:
        if frame.function is None:
            return frozenset()
        walker = Walker(self.evaluator, self.phases, self.boundary, self.engine, frame, Phase(name, modes))
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
            return self._rooted(globs, tuple(rule.name for rule in self.engine.phases))
        for role in ("scheduler", "worker"):
            found = [
                state
                for rule in self.engine.entries
                if rule.role == role
                for state in self._rooted(rule.functions, rule.phases)
            ]
            if found:
                return found
        return []

    def _rooted(self, globs: tuple[str, ...], phases: tuple[str, ...]) -> list[State]:
        frames = self._frames(globs)
        return [
            State(frame, self.phases.start(name), "", "", "") for name in phases for frame in frames
        ]

    def _frames(self, globs: tuple[str, ...]) -> list[Frame]:
        found: set[Frame] = set()
        for unit in self.library.units:
            for function in unit.outline.functions:
                if not self.boundary.matches(function.qualname, globs) or is_stub(function):
                    continue
                ref = FunctionRef(unit.path, function.qualname, function.line)
                if not function.in_class:
                    found.add(Frame(unit.path, ref, None))
                    continue
                owner = ClassRef(unit.path, function.owner)
                for cls in (owner, *self.evaluator.classes.subclasses(owner)):
                    if self.evaluator.classes.method(cls, function.name) == ref:
                        found.add(Frame(unit.path, ref, cls))
        return sorted(found, key=str)


def _place(edge: Edge) -> tuple[int, int, str, str]:
    return edge.line, edge.column, edge.kind, str(edge.target)
