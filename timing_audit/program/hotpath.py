"""From entry points to the hot path: who runs in which phase, stage and worker, and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

from timing_audit.model.pack import FunctionRule
from timing_audit.model.program import NOTHING, ClassRef, Frame, FunctionRef, Literal, Values
from timing_audit.model.syntax import Block, Call, Const, Evaluate, Function, Name, Raise
from timing_audit.program.callbacks import Callbacks
from timing_audit.program.cells import EFFECTS, SCAN
from timing_audit.program.classes import is_stub
from timing_audit.program.engine import DECODE, PHASES, PREFILL, Engine
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.guesses import Guesses
from timing_audit.program.library import Library, Unit, has_decorator
from timing_audit.program.phases import Phase, Phases
from timing_audit.program.walk import Edge, Effect, Walker

CAPTURE = "capture"
MEMOISING = ("lru_cache", "cache")
Fact = Edge | Effect
NO_MODES: frozenset[str] = frozenset()
ANY = Phase("", NO_MODES)


class State(NamedTuple):
    """One way of being hot: a body, a phase with its modes, the innermost stage."""

    frame: Frame
    phase: Phase
    stage: str


class Step(NamedTuple):
    """How a state was first reached."""

    caller: State | None
    edge: Edge | None


class HotPath(NamedTuple):
    """Every state that was reached, with the step that reached it first.

    `workers` are the workers under which a state runs, with an empty name for what runs outside all
    of them; `substages` the innermost substage on the chain that reached the state first; `labels`
    the stages that some functions serve, whoever calls them.
    """

    steps: dict[State, Step]
    entries: tuple[State, ...]
    workers: dict[State, frozenset[str]]
    substages: dict[State, str]
    labels: dict[FunctionRef, str]


class Explorer:
    """Follows calls from entry points, state by state."""

    def __init__(self, library: Library, evaluator: Evaluator, engine: Engine) -> None:
        self.library = library
        self.evaluator = evaluator
        self.engine = engine
        engine.callbacks = {}
        self.phases = Phases(evaluator, engine)
        self._guesses = Guesses(evaluator, engine.calls)
        self._sorted: dict[tuple[Frame, Phase], tuple[frozenset[Fact], list[Edge]]] = {}
        self._moded: dict[tuple[Frame, Phase], tuple[list[Edge], int, list[Edge]]] = {}
        self._places: dict[tuple[Frame, Phase], tuple[list[Edge], list[tuple[Frame, Phase]]]] = {}
        self._reaching: dict[Frame, tuple[list[Edge], tuple[Frame, ...]]] = {}
        self._next: dict[State, tuple[list[Edge], list[tuple[Edge, State]]]] = {}
        self._walks: dict[tuple[Frame, Phase], Walker] = {}
        self._plain: dict[FunctionRef, bool] = {}
        self._silent: dict[Frame, bool] = {}
        self._goes_on: dict[tuple[FunctionRef | None, str], bool] = {}
        evaluator.attributes.hints = {rule.name: rule.classes for rule in engine.hints}
        evaluator.kinds[SCAN] = self._scan
        evaluator.kinds[EFFECTS] = self._effects

    def trace(self, entries: Iterable[State], workers: Mapping[State, str] | None = None) -> HotPath:
        """Follows the edges until nothing new is found and nothing found changes.

        `workers` names the worker of the entries that lie within one.
        """
        roots = tuple(entries)
        self._open_callbacks(self._settle(roots))
        self._settle(roots)
        while self._guesses.make():
            self._settle(roots)
        steps = self._search(roots)
        reached = {state.frame.function for state in steps if state.frame.function is not None}
        labels = {ref: label for ref in reached if (label := self.engine.label(ref))}
        given = workers or {}
        under = self._spread({root: given.get(root, "") for root in roots})
        return HotPath(steps, roots, under, self._substages(steps), labels)

    def _settle(self, roots: tuple[State, ...]) -> set[FunctionRef]:
        """Follows the edges until nothing grows; gives the functions that are reached."""
        cells, before = self.evaluator.cells, (-1, -1, -1)
        reached: set[FunctionRef] = set()
        while True:
            now = (cells.grown(SCAN), cells.grown(EFFECTS), len(self.library.units))
            if now != before:
                before = now
                reached = self._discover(roots)
                self._import()
            elif not cells.believe():
                return reached
            cells.settle()

    def _open_callbacks(self, reached: set[FunctionRef]) -> None:
        self.engine.callbacks = Callbacks(self.library, self.engine).open(reached)
        entered = {
            (unit.path, line)
            for unit in self.library.units
            for name in self.engine.callbacks
            for line in unit.mentions(name)
        }
        for frame, asked in list(self._sorted):
            if frame.function is not None and (frame.path, frame.function.line) in entered:
                self.evaluator.cells.poke((SCAN, frame, *asked))

    def _discover(self, roots: tuple[State, ...]) -> set[FunctionRef]:
        """Reads every body that can be reached, so that its cells exist."""
        queue = [(root.frame, root.phase) for root in roots]
        seen = set(queue)
        while queue:
            self.evaluator.cells.mature()
            for place in self._onward(*queue.pop()):
                if place not in seen:
                    seen.add(place)
                    queue.append(place)
        return {frame.function for frame, _ in seen if frame.function is not None}

    def _onward(self, frame: Frame, phase: Phase) -> list[tuple[Frame, Phase]]:
        """Where the path goes on from a body."""
        edges = self.edges(frame, phase)
        known = self._places.get((frame, phase))
        if known is None or known[0] is not edges:
            inside = [
                (edge.target, Phase(phase.name, edge.modes or NO_MODES)) for edge in edges if self._inside(edge, phase)
            ]
            known = self._places[frame, phase] = (edges, list(dict.fromkeys(inside)))
        return known[1]

    def _import(self) -> None:
        """Reads what the modules call when they are imported, to any depth: it may register what the path finds."""
        queue = [Frame(unit.path, None, None) for unit in self.library.units if unit.opening]
        seen = set(queue)
        while queue:
            for edge in self._read(queue.pop(), ANY)[0]:
                target = edge.target
                is_call = edge.kind == "call" and not self.library.is_leaf_path(target.path)
                if is_call and target not in seen:
                    seen.add(target)
                    queue.append(target)

    def _search(self, roots: tuple[State, ...]) -> dict[State, Step]:
        steps: dict[State, Step] = {root: Step(None, None) for root in roots}
        queue = deque(roots)
        while queue:
            state = queue.popleft()
            for edge, following in self.successors(state):
                if following not in steps:
                    steps[following] = Step(state, edge)
                    queue.append(following)
        return steps

    def _spread(self, roots: dict[State, str]) -> dict[State, frozenset[str]]:
        """The workers under which each state runs."""
        found = {root: frozenset((worker,)) for root, worker in roots.items()}
        pending = list(found)
        while pending:
            state = pending.pop()
            here = found[state]
            for edge, following in self.successors(state):
                worker = self.worker(state.frame, edge)
                passed = frozenset(name or worker for name in here) if worker else here
                known = found.get(following, NO_MODES)
                if not passed <= known:
                    found[following] = known | passed
                    pending.append(following)
        return found

    def _substages(self, steps: dict[State, Step]) -> dict[State, str]:
        found: dict[State, str] = {}
        for state, (caller, edge) in steps.items():
            ref, above = state.frame.function, found[caller] if caller is not None else ""
            callee = "" if edge is None or edge.kind == "property" else edge.text
            around = (caller.stage,) if caller is not None and caller.stage else ()
            entered = (
                "" if ref is None else self.engine.enters(self.engine.substages, ref, callee, state.phase.name, around)
            )
            found[state] = entered or above
        return found

    def edges(self, frame: Frame, phase: Phase) -> list[Edge]:
        """The calls that the body makes in the phase, in the order of the source."""
        edges, plain = self._read(frame, phase)
        if not plain or phase.name not in PHASES:
            return edges
        known, grown = self._moded.get((frame, phase)), self.evaluator.cells.grown(EFFECTS)
        if known is None or known[0] is not edges or known[1] != grown:
            found = list(self._with_modes(frame, edges, phase))
            if known is not None and known[2] == found:
                found = known[2]
            known = self._moded[frame, phase] = (edges, grown, found)
        return known[2]

    def successors(self, state: State) -> list[tuple[Edge, State]]:
        """The calls that a state makes and that stay on the path, each with the state that it leads to."""
        edges, known = self.edges(state.frame, state.phase), self._next.get(state)
        if known is None or known[0] is not edges:
            inside = (edge for edge in edges if self._inside(edge, state.phase))
            known = self._next[state] = (edges, [(edge, self._enter(state, edge)) for edge in inside])
        return known[1]

    def _read(self, frame: Frame, phase: Phase) -> tuple[list[Edge], bool]:
        """The sorted edges of the body, and whether they hold for any phase."""
        asked = self._asked(frame, phase)
        found = self._facts(frame, asked)
        known = self._sorted.get((frame, asked))
        if known is None or known[0] is not found:
            edges = sorted((fact for fact in found if isinstance(fact, Edge)), key=_place)
            known = self._sorted[frame, asked] = (found, edges)
        return known[1], asked is ANY

    def _asked(self, frame: Frame, phase: Phase) -> Phase:
        """The phase for which the body is read: one for all where nothing in it can tell them apart."""
        ref = frame.function
        if ref is None:
            return phase
        plain = self._plain.get(ref)
        if plain is None:
            plain = not self.phases.speaks_of_phase(ref) and not self.engine.only_phase(ref)
            self._plain[ref] = plain
        return ANY if plain else phase

    def read_as(self, frame: Frame, phase: Phase) -> Phase:
        """The phase for which a body is read: phases that it cannot tell apart are read as one."""
        return self._asked(frame, phase)

    def walked(self, frame: Frame, phase: Phase) -> Walker:
        """The last walk over a body, for a phase as it is read."""
        self._facts(frame, phase)
        return self._walks[frame, phase]

    def _with_modes(self, frame: Frame, edges: list[Edge], phase: Phase) -> Iterator[Edge]:
        """The edges of a body that was read for any phase, with the modes that this one has at each."""
        restored = frame.function is not None and self.engine.is_target_call(frame.function)
        for edge in edges:
            yield Edge(*edge[:4], phase.modes, *edge[5:])
            if not restored and (effects := self._passed_on(edge.target, phase)):
                phase = self.phases.widened(phase, frozenset(str(v.value) for v in effects if isinstance(v, Literal)))

    def _inside(self, edge: Edge, phase: Phase) -> bool:
        """Whether the path goes on behind the edge."""
        ref = edge.target.function
        key = (ref, phase.name)
        if key not in self._goes_on:
            self._goes_on[key] = ref is not None and self._crosses(ref, phase)
        return self._goes_on[key]

    def _crosses(self, ref: FunctionRef, phase: Phase) -> bool:
        if self.library.is_leaf_path(ref.path):
            return False
        function = self.library.function(ref)
        if has_decorator(function, *MEMOISING):
            return False
        if phase.name == PREFILL and self.engine.only_phase(ref) == DECODE:
            return False  # A cycle that prefills does not come by.
        return phase.name == CAPTURE or not (self._is_stub(ref, function) or self.engine.mark(ref))

    def _is_stub(self, ref: FunctionRef, function: Function) -> bool:
        return is_stub(function) or refuses(self.library.body(ref))

    def _enter(self, state: State, edge: Edge) -> State:
        ref, phase = edge.target.function, Phase(state.phase.name, edge.modes or NO_MODES)
        if ref is None or phase.name == CAPTURE:
            return State(edge.target, phase, "")
        callee, around = "" if edge.kind == "property" else edge.text, (state.stage,) if state.stage else ()
        stage = self.engine.enters(self.engine.stages, ref, callee, phase.name, around) or state.stage
        return State(edge.target, phase, stage)

    def worker(self, caller: Frame, edge: Edge) -> str:
        """The worker's class, where this edge is the engine's call of a worker.

        A worker is whatever the scheduler's function calls with the batch that can itself forward:
        its class also holds the method of that name in every other worker.
        """
        ref, receiver = edge.target.function, edge.target.receiver
        if (
            caller.function is None
            or receiver is None
            or edge.kind != "call"
            or not self.engine.is_target_call(caller.function)
        ):
            return ""
        rules = [rule for rule in self.engine.entries if rule.role == "worker"]
        named = ref is not None and any(rule.matches(ref.path, ref.qualname) for rule in rules)
        return receiver.qualname if named else ""

    # Cells.

    def _scan(self, frame: Frame, name: str, modes: frozenset[str]) -> Values:
        unit = self.library.unit(frame.path)
        if unit is None:
            return NOTHING
        walker = self._walks[frame, Phase(name, modes)] = Walker(
            self.evaluator, self.phases, self.engine, frame, Phase(name, modes)
        )
        walker.run(unit.opening if frame.function is None else self.library.body(frame.function))
        facts: frozenset[Fact] = frozenset((*walker.edges, *(Effect(mode) for mode in walker.effects)))
        return cast("Values", facts)

    def _facts(self, frame: Frame, phase: Phase) -> frozenset[Fact]:
        """What reading the body for the phase found; the cell holds facts where other cells hold values."""
        return cast("frozenset[Fact]", self.evaluator.cells.read((SCAN, frame, *phase)))

    def _effects(self, frame: Frame, name: str, modes: frozenset[str]) -> Values:
        phase = Phase(name, modes)
        asked = self._asked(frame, phase)
        if frame.function is not None and self.engine.is_target_call(frame.function):
            return NOTHING  # The engine restores the batch's mode when a worker returns.
        if asked is ANY:
            return NOTHING.union(*[self._passed_on(target, phase) for target in self._callees(frame, phase)])
        return frozenset(Literal(fact.mode) for fact in self._facts(frame, phase) if isinstance(fact, Effect))

    def _callees(self, frame: Frame, phase: Phase) -> tuple[Frame, ...]:
        edges = self._read(frame, phase)[0]
        known = self._reaching.get(frame)
        if known is None or known[0] is not edges:
            known = self._reaching[frame] = (edges, tuple(dict.fromkeys(edge.target for edge in edges)))
        return known[1]

    def _passed_on(self, target: Frame, phase: Phase) -> Values:
        """The modes that a call of this body may leave behind."""
        silent = self._silent.get(target)
        if silent is None:
            ref = target.function
            silent = ref is None or self.library.is_leaf_path(ref.path) or bool(self.engine.mark(ref))
            self._silent[target] = silent
        return NOTHING if silent else self.evaluator.cells.read((EFFECTS, target, *phase))

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
        return [State(frame, self.phases.start(name), "") for name in phases for frame in frames]

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
        heirs = [
            c
            for c in self.evaluator.classes.subclasses(owner)
            if self.evaluator.classes.method(c, function.name) == ref
        ]
        made = heirs if heirs and self._is_mixin(owner, function) else [owner, *heirs]
        return [Frame(unit.path, ref, cls) for cls in made]

    def _is_mixin(self, owner: ClassRef, function: Function) -> bool:
        """Whether a class is there for its heirs: its `self` is said to be one, or it has no base and no state."""
        if function.params and function.params[0].annotation is not None:
            return True
        return not self.library.class_(owner).bases and self.evaluator.classes.method(owner, "__init__") is None


def refuses(body: Block) -> bool:
    """Whether the body does nothing but raise NotImplementedError: it stands for those of subclasses."""
    last: object = body[-1] if body else None
    rest = body[:-1]
    if not isinstance(last, Raise) or any(not isinstance(s, Evaluate) or not isinstance(s.value, Const) for s in rest):
        return False
    raised: object = last.value.func if isinstance(last.value, Call) else last.value
    return raised == Name("NotImplementedError")


def _place(edge: Edge) -> tuple[object, ...]:
    function, receiver = edge.target.function, edge.target.receiver
    return edge.line, edge.column, edge.kind, function or (), receiver or (), edge.how, len(edge.modes or ())
