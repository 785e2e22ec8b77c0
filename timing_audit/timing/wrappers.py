"""Which functions and classes of the target time what their callers supply, to any depth and across files."""

from __future__ import annotations

from timing_audit.model.program import (
    ClassRef, ClassValue, External, Frame, FunctionRef, FunctionValue, Instance, PartialValue, Value,
)  # fmt: skip
from timing_audit.model.syntax import Attr, Call, Expr, Function, Name, Nested, Param, Stmt
from timing_audit.model.timing import Clock
from timing_audit.timing.bodies import Bodies
from timing_audit.timing.calls import Calls
from timing_audit.timing.facts import Effect, Facts, Inferred, Measure, Read, Summary, Timed
from timing_audit.timing.flow import Flow
from timing_audit.timing.gates import NEVER, Gates, merged
from timing_audit.timing.names import Names, Vocabulary
from timing_audit.timing.needles import Needles
from timing_audit.timing.starts import Starts
from timing_audit.timing.substitute import arguments, substitute
from timing_audit.program.scopes import nodes
from timing_audit.timing.walk import holds_yield, text

CONTEXT, DECORATOR, CALLABLE = "context", "decorator", "callable"
MANAGERS = frozenset(("contextlib.contextmanager", "contextlib.asynccontextmanager"))


class Wrappers:
    """Infers wrappers on demand and remembers the answers."""

    def __init__(self, names: Names, vocabulary: Vocabulary, needles: Needles) -> None:
        self.names = names
        self.calls = Calls(names, vocabulary, needles)
        self.gates = Gates(names, vocabulary)
        self.bodies = Bodies(names, self.calls, self)
        self.starts = Starts(self.bodies, self.gates)
        self._wrappers: dict[Value, Inferred | None] = {}

    # What the parts answer for the run over a body.

    def clock(self, value: Value) -> Read | None:
        """The instant that a function gives back which only reads a clock."""
        return self.starts.clock(value)

    def summary(self, value: Value) -> Summary:
        """What calling the value does to measurements around the call."""
        return self.starts.summary(value)

    def effects(self, frame: Frame, call: Call, value: Value, receiver: Expr | None) -> Summary:
        """The summary of a call, its places in the caller's words."""
        return self.starts.effects(frame, call, value, receiver)

    def event_timing(self, frame: Frame, expr: Expr) -> bool | None:
        """Whether the event kept in an attribute was made to time; None where nothing tells."""
        return self.bodies.event_timing(frame, expr)

    def is_timer(self, value: Value) -> bool:
        """Whether a call of it could time its caller's code: it wraps, or starts or ends what others use."""
        if self.wrapper(value) is not None:
            return True
        if not self.starts.speaks(value):
            return False
        found = self.starts.is_start_or_stop(value) or self.starts.clock(value) is not None
        return found or self.starts.takes_start(value)

    def forget(self, values: list[FunctionValue | ClassValue]) -> None:
        """Drops what was worked out about definitions while fewer names were known."""
        for value in values:
            if self._wrappers.get(value) is None:
                self._wrappers.pop(value, None)
        frames = [self.names.frame_of(value) for value in values if isinstance(value, FunctionValue)]
        for frame in frames:
            self.bodies.forget(frame)
        self.starts.forget(frames)

    # Wrappers.

    def wrapper(self, value: Value) -> Inferred | None:
        """What the function or class wraps its caller's code in; None where it is no wrapper."""
        if value not in self._wrappers:
            self._wrappers[value] = None
            found = self._wrappers[value] = self._infer(value)
            if found is not None and CONTEXT in found.forms and isinstance(value, FunctionValue) and value.receiver:
                name = value.ref.qualname.rpartition(".")[2]
                self.calls.contexts.setdefault(name, set()).add(value._replace(receiver=None))
        return self._wrappers[value]

    def _infer(self, value: Value) -> Inferred | None:
        if isinstance(value, PartialValue):
            return self._partial(value)
        if isinstance(value, (ClassValue, Instance)):
            return self._class(value.ref)
        if not isinstance(value, FunctionValue):
            return None
        frame = self.names.frame_of(value)
        ran = self.bodies.run(frame) if self.bodies.speaks(frame) else None
        if ran is None:
            return None
        function = self.names.function(value.ref)
        if self._is_manager(function, value):
            return self._generator(frame, function, *ran)
        return (
            self._returns_context(frame, function, *ran)
            or self._decorates(frame, function, value, *ran)
            or self._calls_argument(frame, function, *ran)
        )

    def _is_manager(self, function: Function, value: FunctionValue) -> bool:
        if not function.decorators or not holds_yield(self.names.body(value.ref)):
            return False
        outer = Frame(value.ref.path, None, None)
        return any(
            isinstance(found, External) and found.name in MANAGERS
            for decorator in function.decorators
            for found in self.names.values(outer, decorator.value)
        )

    def _partial(self, value: PartialValue) -> Inferred | None:
        call = self.names.expressions.get(value.key)
        if not isinstance(call, Call) or not call.args:
            return None
        inner_call = call._replace(func=call.args[0], args=call.args[1:])
        for target in sorted(self.names.values(value.frame, call.args[0]), key=str):
            inner = self.wrapper(target)
            if inner is not None:
                measures = self.measures(value.frame, inner_call, target, inner)
                return inner._replace(measures=measures) if measures else None
        return None

    def _generator(self, frame: Frame, function: Function, facts: Facts, flow: Flow) -> Inferred | None:
        around = [timed for timed in facts.timed if holds_yield(tuple(covered(flow, timed)))]
        return self._made(frame, function, facts, flow, around, frozenset((CONTEXT, DECORATOR)))

    def _made(
        self, frame: Frame, function: Function, facts: Facts, flow: Flow, around: list[Timed], forms: frozenset[str]
    ) -> Inferred | None:  # fmt: skip
        ref = frame.function
        if not around or ref is None:
            return None
        hop = f"{ref.path}:{function.line} {function.qualname}"
        measures = []
        for timed in around:
            gates = self.gates.around(frame, flow.tree, timed.start.position)
            own = self.gates.all_of(frame, [*timed.measure.gates])
            if NEVER not in (*gates, *own):
                end = timed.measure.hops or (f"{ref.path}:{timed.start.line} {self._primitive(timed)}",)
                measures.append(timed.measure._replace(hops=(hop, *end), gates=merged(gates, own)))
        if not measures:
            return None
        synced = (_sync_outside(facts, around, before=True), _sync_outside(facts, around, before=False))
        label = _fixed_label([timed.start.constant for timed in around])
        return Inferred(forms, tuple(dict.fromkeys(measures)), _kind(measures), label, synced, function.is_async)

    def _primitive(self, timed: Timed) -> str:
        if timed.start.primitive:
            return timed.start.primitive
        return timed.measure.rule or timed.measure.family

    def _returns_context(self, frame: Frame, function: Function, facts: Facts, flow: Flow) -> Inferred | None:
        """A function that gives its caller a context made elsewhere."""
        ref = frame.function
        if not facts.returned or ref is None:
            return None
        hop = f"{ref.path}:{function.line} {function.qualname}"
        measures: list[Measure] = []
        for use in facts.returned:
            outer = self.gates.around(frame, flow.tree, use.position)
            own = self.gates.all_of(frame, [*use.measure.gates])
            if NEVER not in (*outer, *own):
                hops = use.measure.hops or (f"{ref.path}:{use.line} {use.primitive}",)
                measures.append(use.measure._replace(hops=(hop, *hops), gates=own or outer))
        if not measures:
            return None
        label = _fixed_label([use.constant for use in facts.returned])
        forms = frozenset((CONTEXT, DECORATOR))
        return Inferred(forms, tuple(measures), _kind(measures), label, facts.returned[0].synced, False)

    def _decorates(
        self, frame: Frame, function: Function, value: FunctionValue, facts: Facts, flow: Flow
    ) -> Inferred | None:  # fmt: skip
        """A decorator, or a function that makes one: an inner function calls what it was given in a bracket."""
        if function.is_async or not facts.returned_exprs:
            return None
        given = frozenset(param.name for param in function.params)
        for inner in self._inner_functions(frame, facts, value.ref):
            found = self._inner(inner, given)
            if found is not None:
                return self._one_more_hop(frame, function, found)
        return None

    def _inner_functions(self, frame: Frame, facts: Facts, ref: FunctionRef) -> list[FunctionValue]:
        nested = {node.name for node in self.bodies.nodes(ref) if type(node) is Nested}
        names = {
            node for expr in facts.returned_exprs for node in nodes((expr,)) if type(node) is Name and node.id in nested
        }
        return [
            value
            for name in sorted(names)
            for value in sorted(self.names.values(frame, name), key=str)
            if isinstance(value, FunctionValue) and value.ref.path == ref.path
            and value.ref.qualname.startswith(ref.qualname + ".")
        ]  # fmt: skip

    def _inner(self, inner: FunctionValue, given: frozenset[str]) -> Inferred | None:
        frame = self.names.frame_of(inner)
        ran = self.bodies.run(frame)
        if ran is None:
            return None
        function = self.names.function(inner.ref)
        own = frozenset(param.name for param in function.params)
        around = self._around_call(frame, *ran, given - own)
        made = self._made(frame, function, *ran, around, frozenset((DECORATOR,)))
        if made is not None:
            return made
        deeper = self._decorates(frame, function, inner, *ran)
        return None if deeper is None else deeper

    def _around_call(self, frame: Frame, facts: Facts, flow: Flow, given: frozenset[str]) -> list[Timed]:
        """The measurements around a call of something that was passed in."""
        return [
            timed
            for timed in facts.timed
            for node in nodes(tuple(covered(flow, timed)))
            if type(node) is Call and type(node.func) is Name and node.func.id in given
        ]

    def _one_more_hop(self, frame: Frame, function: Function, found: Inferred) -> Inferred:
        hop = f"{frame.path}:{function.line} {function.qualname}"
        return found._replace(
            forms=frozenset((DECORATOR,)),
            measures=tuple(measure._replace(hops=(hop, *measure.hops)) for measure in found.measures),
        )

    def _calls_argument(self, frame: Frame, function: Function, facts: Facts, flow: Flow) -> Inferred | None:
        models = self.calls.vocabulary.is_model
        given = frozenset(
            param.name
            for param in function.params
            if not param.kind and _may_be_function(param) and not models(param.name)
        )
        if function.in_class and function.params:
            given -= {function.params[0].name}
        around = self._around_call(frame, facts, flow, given)
        return self._made(frame, function, facts, flow, around, frozenset((CALLABLE,)))

    def _class(self, ref: ClassRef) -> Inferred | None:
        """A class whose `__enter__` starts what its `__exit__` ends."""
        enter = self.names.method(ref, "__enter__") or self.names.method(ref, "__aenter__")
        leave = self.names.method(ref, "__exit__") or self.names.method(ref, "__aexit__")
        if enter is None or leave is None:
            return None
        frames = [Frame(method.path, method, ref) for method in (enter, leave)]
        if not any(map(self.bodies.speaks, frames)):
            return None
        opening, closing = map(self.bodies.run, frames)
        if opening is None or closing is None:
            return None
        hop = f"{ref.path}:{self.names.class_(ref).line} {ref.qualname}"
        measures = [
            self._class_measure(hop, Frame(enter.path, enter, ref), opening[1], effect)
            for effect in opening[0].summary.opens
            for end in closing[0].summary.closes
            if _same_place(effect, end, opening[1], closing[1])
        ]
        measures += self._device_measures(hop, enter, opening[0], closing[0])
        if not measures:
            return None
        synced = (bool(opening[0].syncs), bool(closing[0].syncs))
        forms = frozenset((CONTEXT,))
        return Inferred(forms, tuple(dict.fromkeys(measures)), _kind(measures), "", synced, False)

    def _class_measure(self, hop: str, frame: Frame, flow: Flow, effect: Effect) -> Measure:
        own = effect.measure.hops or (f"{frame.path}:{effect.line} {effect.primitive}",)
        gates = self.gates.around(frame, flow.tree, effect.position)
        return effect.measure._replace(hops=(hop, *own), gates=gates)

    def _device_measures(self, hop: str, enter: FunctionRef, opening: Facts, closing: Facts) -> list[Measure]:
        starts = [mark for mark in opening.summary.marks if mark.role != "end"]
        ends = [mark for mark in closing.summary.marks if mark.role != "start"]
        if not starts or not ends:
            return []
        read = starts[0].read
        own = read.measure.hops or (f"{enter.path}:{read.line} {read.primitive}",)
        return [read.measure._replace(hops=(hop, *own))]

    # One use.

    def measures(self, frame: Frame, call: Call, value: Value, wrapper: Inferred) -> tuple[Measure, ...]:
        """The clocks of a wrapper in one call: gates in the caller's words, the impossible ones left out."""
        if not isinstance(value, FunctionValue):
            return wrapper.measures
        function = self.names.function(value.ref)
        given = arguments(function, call, bound=type(call.func) is Attr and function.in_class)
        found = []
        for measure in wrapper.measures:
            gates = self.gates.all_of(frame, [substitute(gate, given) for gate in measure.gates])
            if NEVER not in gates:
                found.append(measure._replace(gates=gates))
        return tuple(found)


def covered(flow: Flow, timed: Timed) -> list[Stmt]:
    """The statements that a measurement encloses."""
    if timed.how == "span":
        stmt = flow.tree.statement(timed.start.position)
        body: list[Stmt] = list(getattr(stmt, "body", ()))
        return body
    if timed.how == "enter":
        return flow.tree.rest(timed.start.position, len(timed.end))
    if timed.how == "callable":
        return []
    return flow.tree.between(timed.start.position, timed.end)


def _may_be_function(param: Param) -> bool:
    """An annotated parameter is a function where its annotation says so: a module that is called is an object."""
    return param.annotation is None or "Callable" in text(param.annotation)


def _kind(measures: list[Measure]) -> str:
    return "device_timer" if any(measure.clock is Clock.DEVICE for measure in measures) else "wrapper_use"


def _fixed_label(labels: list[str]) -> str:
    """A label that does not depend on the wrapper's own parameters."""
    return next((label for label in labels if label), "")


def _sync_outside(facts: Facts, around: list[Timed], *, before: bool) -> bool:
    start = min(timed.start.line for timed in around)
    end = max(timed.end_line for timed in around)
    return any(line <= start if before else line <= end and line > start for line in facts.syncs)


def _same_place(start: Effect, end: Effect, opening: Flow, closing: Flow) -> bool:
    """Whether two places of two methods are one, the name of the receiver aside."""
    left = substitute(start.place, {opening.places.receiver: Name("self")})
    right = substitute(end.place, {closing.places.receiver: Name("self")})
    return text(left) == text(right)
