"""Which functions and classes of the target time what their callers supply, to any depth and across files."""

from __future__ import annotations

from timing_audit.model.program import (
    ClassRef, ClassValue, External, Frame, FunctionRef, FunctionValue, Instance, PartialValue, Value,
)  # fmt: skip
from timing_audit.model.syntax import Assign, Attr, Call, Expr, Function, Name, Nested, Stmt
from timing_audit.model.timing import Clock
from timing_audit.timing.assemble import Roles, run
from timing_audit.timing.calls import Calls
from timing_audit.timing.effects import is_timing
from timing_audit.timing.facts import EMPTY, Effect, Facts, Inferred, Measure, Read, Summary, Timed
from timing_audit.timing.flow import Flow
from timing_audit.timing.gates import NEVER, Gates
from timing_audit.timing.names import Names, Vocabulary
from timing_audit.timing.needles import Needles
from timing_audit.timing.purity import Purity
from timing_audit.timing.substitute import GLOBAL, arguments, substitute
from timing_audit.timing.walk import holds_yield, nodes, root_name, terminal, text

CONTEXT, DECORATOR, CALLABLE = "context", "decorator", "callable"
MANAGERS = frozenset(("contextlib.contextmanager", "contextlib.asynccontextmanager"))
NO_ROLES = Roles(frozenset(), frozenset())


class Wrappers:
    """Infers wrappers on demand and remembers the answers."""

    def __init__(self, names: Names, vocabulary: Vocabulary, needles: Needles) -> None:
        self.names = names
        self.calls = Calls(names, vocabulary, needles)
        self.gates = Gates(names, vocabulary)
        self.purity = Purity(names, self.calls, self.facts)
        self._facts: dict[Frame, tuple[Facts, Flow] | None] = {}
        self._wrappers: dict[Value, Inferred | None] = {}
        self._roles: dict[ClassRef, Roles] = {}
        self._partners: dict[FunctionRef, bool] = {}
        self._primary: dict[FunctionRef, Measure | None] = {}

    # Facts of bodies.

    def facts(self, frame: Frame) -> Facts | None:
        """What a function's body does; None while it is being worked out."""
        ran = self._run(frame)
        return None if ran is None else ran[0]

    def ran(self, frame: Frame) -> tuple[Facts, Flow]:
        """The facts of a function's body and the run behind them."""
        found = self._run(frame)
        if found is None:
            raise LookupError(f"{frame.path}: the body is being worked out")
        return found

    def forget(self, values: list[FunctionValue | ClassValue]) -> None:
        """Drops what was worked out about definitions while fewer names were known."""
        for value in values:
            if self._wrappers.get(value) is None:
                self._wrappers.pop(value, None)
            if isinstance(value, FunctionValue):
                frame = self.names.frame_of(value)
                self._facts.pop(frame, None)
                self.purity.forget(frame)
                self.calls.forget(frame)
        self._partners.clear()
        self._primary.clear()

    def is_timer(self, value: Value) -> bool:
        """Whether a call of it could time its caller's code: it wraps, or starts or ends what others use."""
        if self.wrapper(value) is not None:
            return True
        ref = self._callee(value)
        facts = self.facts(self._frame(value, ref)) if ref is not None else None
        if ref is None or facts is None or not _touches_others(facts.summary):
            return False
        summary = self.summary(value)
        ends = any(not effect.param for effect in summary.closes) or bool(summary.marks)
        starts = any(effect.accumulate for effect in summary.opens)
        return ends or starts or (bool(summary.opens) and self.has_partner(ref))

    def _run(self, frame: Frame) -> tuple[Facts, Flow] | None:
        if frame not in self._facts and frame.function is not None:
            self._facts[frame] = None
            function, block = self.names.function(frame.function), self.names.body(frame.function)
            self._facts[frame] = run(frame, function, block, self.calls, self, self.roles(frame))
        return self._facts.get(frame)

    def roles(self, frame: Frame) -> Roles:
        """How the class of a frame reads its events."""
        owner = self._owner(frame)
        if owner is None:
            return NO_ROLES
        if owner not in self._roles:
            self._roles[owner] = NO_ROLES
            self._roles[owner] = self._read_roles(owner)
        return self._roles[owner]

    def _owner(self, frame: Frame) -> ClassRef | None:
        if frame.function is None:
            return None
        function = self.names.function(frame.function)
        return ClassRef(frame.path, function.owner) if function.in_class else frame.receiver

    def _read_roles(self, owner: ClassRef) -> Roles:
        starts, ends = set(), set()
        for ref in self.methods(owner):
            for node in nodes(self.names.body(ref)):
                if type(node) is Call and self.calls.method_of_event(terminal(node.func), "event-elapsed") and node.args:
                    starts.add(terminal(node.func.value) if type(node.func) is Attr else "")
                    ends.add(terminal(node.args[0]))
        return Roles(frozenset(starts - {""}), frozenset(ends - {""}))

    def methods(self, owner: ClassRef) -> list[FunctionRef]:
        """The methods that a class itself defines."""
        found = []
        for qualname in self.names.class_(owner).methods:
            ref = self.names.method(owner, qualname.rpartition(".")[2])
            if ref is not None and ref.qualname == qualname:
                found.append(ref)
        return found

    def event_timing(self, frame: Frame, expr: Expr) -> bool | None:
        owner = frame.receiver or self._owner(frame)
        if type(expr) is not Attr or owner is None:
            return None
        known = [
            is_timing(node.value, role.rule)
            for ref in self.methods(owner)
            for node in nodes(self.names.body(ref))
            if type(node) is Assign and type(node.value) is Call
            and any(type(target) is Attr and target.name == expr.name for target in node.targets)
            and (role := self.calls.role(Frame(ref.path, ref, owner), node.value)) is not None
            and role.rule is not None and role.rule.kind == "event-create"
        ]  # fmt: skip
        return any(known) if known else None

    # Start and stop functions.

    def summary(self, value: Value) -> Summary:
        """What calling the function leaves started or ended for others; empty where it also works."""
        ref = self._callee(value)
        if ref is None:
            return EMPTY
        frame = self._frame(value, ref)
        facts = self.facts(frame)
        if facts is None or not (facts.summary.opens or facts.summary.closes or facts.summary.marks):
            return EMPTY
        if not self.purity.keeps_time_only(frame, facts):
            return EMPTY
        return self._settled(frame, ref, facts)

    def _settled(self, frame: Frame, ref: FunctionRef, facts: Facts) -> Summary:
        ran = self._run(frame)
        if ran is None:
            return EMPTY
        hop = f"{ref.path}:{ref.line} {ref.qualname}"
        synced = bool(facts.syncs)

        def outward(effect: Effect) -> Effect:
            hops = (hop, *(effect.measure.hops or (f"{ref.path}:{effect.line} {effect.primitive}",)))
            gates = _merged(self.gates.around(frame, ran[1].tree, effect.position), effect.measure.gates)
            return effect._replace(measure=effect.measure._replace(hops=hops, gates=gates), synced=synced)

        marks = tuple(
            mark._replace(read=self._through_mark(frame, ran[1], hop, ref, mark.read)) for mark in facts.summary.marks
        )
        return Summary(
            tuple(map(outward, facts.summary.opens)), tuple(map(outward, facts.summary.closes)), marks, hop
        )

    def _through_mark(self, frame: Frame, flow: Flow, hop: str, ref: FunctionRef, read: Read) -> Read:
        own = read.measure.hops or (f"{ref.path}:{read.line} {read.primitive}",)
        gates = self.gates.around(frame, flow.tree, read.position)
        return read._replace(measure=read.measure._replace(hops=(hop, *own), gates=gates))

    def _callee(self, value: Value) -> FunctionRef | None:
        if isinstance(value, FunctionValue):
            return value.ref
        return self.names.method(value.ref, "__init__") if isinstance(value, ClassValue) else None

    def _frame(self, value: Value, ref: FunctionRef) -> Frame:
        if isinstance(value, FunctionValue):
            return self.names.frame_of(value)
        receiver = value.ref if isinstance(value, (ClassValue, Instance)) else None
        return Frame(ref.path, ref, receiver)

    def effects(self, frame: Frame, call: Call, value: Value, receiver: Expr | None) -> Summary:
        summary = self.summary(value)
        if summary is EMPTY or not isinstance(value, (FunctionValue, ClassValue)):
            return summary
        ref = self._callee(value)
        if ref is None:
            return EMPTY
        function = self.names.function(ref)
        bound = self._is_bound(function, receiver)
        given = arguments(function, call, bound=bound)
        if bound and receiver is not None and function.params:
            given[function.params[0].name] = receiver
        opens = tuple(moved for effect in summary.opens if (moved := self._moved(frame, effect, given)) is not None)
        closes = tuple(moved for effect in summary.closes if (moved := self._moved(frame, effect, given)) is not None)
        return Summary(opens, closes, summary.marks, summary.hop)

    def _moved(self, frame: Frame, effect: Effect, given: dict[str, Expr]) -> Effect | None:
        """The effect in a caller's words; None where its place or its instant does not come from the caller."""
        root = root_name(effect.place)
        if GLOBAL not in root and root not in given:
            return None
        measure = effect.measure._replace(gates=tuple(substitute(gate, given) for gate in effect.measure.gates))
        if effect.param:
            handed = given.get(effect.param)
            role = self.calls.role(frame, handed) if type(handed) is Call else None
            if role is None or role.rule is None or role.rule.kind != "clock-read":
                return None
            measure = measure._replace(family=role.rule.family, rule=role.rule.id)
        return effect._replace(place=substitute(effect.place, given), measure=measure)

    def _is_bound(self, function: Function, receiver: Expr | None) -> bool:
        static = any(terminal(decorator.value) == "staticmethod" for decorator in function.decorators)
        return function.in_class and receiver is not None and not static

    def has_partner(self, ref: FunctionRef) -> bool:
        """Whether a method leaves a start that another method of its class ends, or ends one of another's."""
        if ref not in self._partners:
            self._partners[ref] = False
            self._partners[ref] = self._find_partner(ref)
        return self._partners[ref]

    def _find_partner(self, ref: FunctionRef) -> bool:
        function = self.names.function(ref)
        if not function.in_class:
            return False
        owner = ClassRef(ref.path, function.owner)
        mine = self.summary(FunctionValue(ref, owner, None))
        for other in self.methods(owner):
            if other != ref:
                theirs = self.summary(FunctionValue(other, owner, None))
                if _meet(mine, theirs) or _meet(theirs, mine) or (mine.marks and theirs.marks):
                    return True
        return False

    def primary(self, ref: FunctionRef) -> Measure | None:
        """The clock of a start or stop function."""
        if ref not in self._primary:
            function = self.names.function(ref)
            owner = ClassRef(ref.path, function.owner) if function.in_class else None
            summary = self.summary(FunctionValue(ref, owner, None))
            effects = [effect.measure for effect in (*summary.opens, *summary.closes)]
            measures = [*(mark.read.measure for mark in summary.marks), *effects]
            self._primary[ref] = measures[0] if measures else None
        return self._primary[ref]

    # Wrappers.

    def wrapper(self, value: Value) -> Inferred | None:
        """What the function or class wraps its caller's code in; None where it is no wrapper."""
        if value not in self._wrappers:
            self._wrappers[value] = None
            self._wrappers[value] = self._infer(value)
        return self._wrappers[value]

    def _infer(self, value: Value) -> Inferred | None:
        if isinstance(value, PartialValue):
            return self._partial(value)
        if isinstance(value, (ClassValue, Instance)):
            return self._class(value.ref)
        if not isinstance(value, FunctionValue):
            return None
        frame = self.names.frame_of(value)
        ran = self._run(frame)
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
        call = self.names.partial_call(value)
        if call is None or not call.args:
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
                measures.append(timed.measure._replace(hops=(hop, *end), gates=_merged(gates, own)))
        if not measures:
            return None
        kind = _kind(measures)
        synced = (_sync_outside(facts, around, before=True), _sync_outside(facts, around, before=False))
        return Inferred(forms, tuple(dict.fromkeys(measures)), kind, _fixed_label(function, [timed.label for timed in around]), synced, function.is_async)

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
        label = _fixed_label(function, [use.label for use in facts.returned])
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
        nested = {node.name for node in nodes(self.names.body(ref)) if type(node) is Nested}
        names = {
            node
            for expr in facts.returned_exprs
            for node in nodes((expr,))
            if type(node) is Name and node.id in nested
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
        ran = self._run(frame)
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
        given = frozenset(param.name for param in function.params if not param.kind)
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
        opening, closing = (self._run(Frame(method.path, method, ref)) for method in (enter, leave))
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
        if not isinstance(value, FunctionValue):
            return wrapper.measures
        function = self.names.function(value.ref)
        given = arguments(function, call, bound=type(call.func) is Attr and function.in_class)
        found = []
        for measure in wrapper.measures:
            gates = self.gates.all_of(frame, [substitute(gate, given) for gate in measure.gates])
            if NEVER not in gates:
                found.append(measure._replace(gates=gates))
        return _one_per_clock(found)


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


def _kind(measures: list[Measure]) -> str:
    return "device_timer" if any(measure.clock is Clock.DEVICE for measure in measures) else "wrapper_use"


def _touches_others(summary: Summary) -> bool:
    return bool(summary.marks) or any(not effect.param for effect in (*summary.opens, *summary.closes))


def _meet(opening: Summary, closing: Summary) -> bool:
    """Whether one function ends what the other starts; both name their receiver alike."""
    ends = {text(effect.place) for effect in closing.closes if not effect.param}
    return any(text(effect.place) in ends for effect in opening.opens if not effect.param)


def _one_per_clock(measures: list[Measure]) -> tuple[Measure, ...]:
    """Of the measures on one clock, the one with the fewest conditions."""
    best: dict[Clock, Measure] = {}
    for measure in measures:
        known = best.get(measure.clock)
        if known is None or len(measure.gates) < len(known.gates):
            best[measure.clock] = measure
    return tuple(best.values())


def _merged(left: tuple[Expr, ...], right: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return (*left, *(gate for gate in right if gate not in left))


def _fixed_label(function: Function, labels: list[str]) -> str:
    """A label that does not depend on the wrapper's own parameters."""
    params = {param.name for param in function.params}
    for label in labels:
        if label and not label.startswith(("f'", 'f"')) and label.partition(".")[0] not in params:
            return label
    return ""


def _sync_outside(facts: Facts, around: list[Timed], *, before: bool) -> bool:
    start = min(timed.start.line for timed in around)
    end = max(timed.end_line for timed in around)
    return any(line <= start if before else line <= end and line > start for line in facts.syncs)


def _same_place(start: Effect, end: Effect, opening: Flow, closing: Flow) -> bool:
    """Whether two places of two methods are one, the name of the receiver aside."""
    left = substitute(start.place, {opening.places.receiver: Name("self")})
    right = substitute(end.place, {closing.places.receiver: Name("self")})
    return text(left) == text(right)


