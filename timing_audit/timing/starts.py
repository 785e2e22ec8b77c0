"""Functions that start or end a measurement for their callers: `begin(key)`, `timer.stop()`."""

from __future__ import annotations

from timing_audit.model.program import ClassRef, ClassValue, Frame, FunctionRef, FunctionValue, Instance, Value
from timing_audit.model.syntax import Call, Expr, Function, Name
from timing_audit.timing.bodies import Bodies
from timing_audit.timing.facts import EMPTY, Effect, Facts, Measure, Read, Summary
from timing_audit.timing.flow import Flow
from timing_audit.timing.gates import Gates, merged
from timing_audit.timing.purity import Purity
from timing_audit.timing.substitute import GLOBAL, arguments, substitute
from timing_audit.timing.walk import root_name, terminal, text


class Starts:
    """What calls of functions of the target do to measurements around them."""

    def __init__(self, bodies: Bodies, gates: Gates) -> None:
        self.bodies = bodies
        self.names = bodies.names
        self.calls = bodies.calls
        self.gates = gates
        self.purity = Purity(bodies.names, bodies.calls, bodies.facts)
        self._partners: dict[FunctionRef, bool] = {}
        self._primary: dict[FunctionRef, Measure | None] = {}

    def forget(self, frames: list[Frame]) -> None:
        """Drops what was worked out while fewer names were known."""
        for frame in frames:
            self.purity.forget(frame)
        self._partners.clear()
        self._primary.clear()

    def speaks(self, value: Value) -> bool:
        """Whether a call of the function may have to do with time."""
        ref = self._callee(value)
        return ref is not None and self.bodies.speaks(self._frame(value, ref))

    def is_start_or_stop(self, value: Value) -> bool:
        """Whether a call of the function starts or ends what others measure."""
        ref = self._callee(value)
        facts = self.bodies.facts(self._frame(value, ref)) if ref is not None else None
        if ref is None or facts is None or not _touches_others(facts.summary):
            return False
        summary = self.summary(value)
        ends = any(not effect.param and not _is_given(effect) for effect in summary.closes) or bool(summary.marks)
        starts = any(effect.accumulate for effect in summary.opens)
        return ends or starts or (bool(summary.opens) and self.has_partner(ref))

    def takes_start(self, value: Value) -> bool:
        """Whether the function reads an end for a start that it may be given."""
        return any(map(_is_given, self.summary(value).closes))

    def clock(self, value: Value) -> Read | None:
        """The instant that a function gives back, where reading a clock is all that it does."""
        if not isinstance(value, FunctionValue):
            return None
        frame = self._frame(value, value.ref)
        facts = self.bodies.facts(frame)
        if facts is None or not facts.given or not self.purity.keeps_time_only(frame, facts):
            return None
        read = facts.given[0]
        own = read.measure.hops or (f"{value.ref.path}:{read.line} {read.primitive}",)
        hop = f"{value.ref.path}:{value.ref.line} {value.ref.qualname}"
        return read._replace(measure=read.measure._replace(hops=(hop, *own)), synced=bool(facts.syncs) or read.synced)

    def form(self, value: FunctionValue) -> str:
        """`start`, `stop` or nothing; what an object does with the time of its own making is none of these."""
        summary = self.summary(value)
        if any(GLOBAL in root_name(effect.place) for effect in summary.opens):
            return "start"
        if not self.is_start_or_stop(value):
            return ""
        if summary.closes and self._ends_for_others(value, summary):
            return "stop"
        return "start" if summary.opens or any(mark.role != "end" for mark in summary.marks) else ""

    def _ends_for_others(self, value: FunctionValue, summary: Summary) -> bool:
        function = self.names.function(value.ref)
        if not function.in_class:
            return True
        owner = ClassRef(value.ref.path, function.owner)
        others = [other for other in self.bodies.methods(owner) if not other.qualname.endswith(".__init__")]
        values = [FunctionValue(other, owner, None) for other in others if other != value.ref]
        opened = (self.summary(other) for other in values if self.speaks(other))
        return any(_meet(other, summary) for other in opened)

    def summary(self, value: Value) -> Summary:
        """What calling the function leaves started or ended for others; empty where it also works."""
        ref = self._callee(value)
        if ref is None:
            return EMPTY
        frame = self._frame(value, ref)
        facts = self.bodies.facts(frame)
        if facts is None or not (facts.summary.opens or facts.summary.closes or facts.summary.marks):
            return EMPTY
        if self.purity.keeps_time_only(frame, facts):
            return self._settled(frame, ref, facts.summary, facts)
        opens, closes = (
            tuple(effect for effect in effects if effect.param)
            for effects in (facts.summary.opens, facts.summary.closes)
        )
        return self._settled(frame, ref, Summary(opens, closes, ()), facts) if opens or closes else EMPTY

    def _settled(self, frame: Frame, ref: FunctionRef, summary: Summary, facts: Facts) -> Summary:
        ran = self.bodies.run(frame)
        if ran is None:
            return EMPTY
        hop = f"{ref.path}:{ref.line} {ref.qualname}"
        synced = bool(facts.syncs)

        def outward(effect: Effect) -> Effect:
            hops = (hop, *(effect.measure.hops or (f"{ref.path}:{effect.line} {effect.primitive}",)))
            gates = merged(self.gates.around(frame, ran[1].tree, effect.position), effect.measure.gates)
            return effect._replace(measure=effect.measure._replace(hops=hops, gates=gates), synced=synced)

        marks = tuple(
            mark._replace(read=self._through_mark(frame, ran[1], hop, ref, mark.read)) for mark in summary.marks
        )
        return Summary(tuple(map(outward, summary.opens)), tuple(map(outward, summary.closes)), marks, hop)

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
        """The summary of a call, its places in the caller's words."""
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
        for other in self.bodies.methods(owner):
            if other != ref and self.speaks(FunctionValue(other, owner, None)):
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


def _touches_others(summary: Summary) -> bool:
    effects = (*summary.opens, *summary.closes)
    return bool(summary.marks) or any(not effect.param and not _is_given(effect) for effect in effects)


def _is_given(effect: Effect) -> bool:
    """Whether an instant is taken from a parameter, which may as well be a number of seconds."""
    return type(effect.place) is Name and GLOBAL not in effect.place.id


def _meet(opening: Summary, closing: Summary) -> bool:
    """Whether one function ends what the other starts; both name their receiver alike."""
    ends = {text(effect.place) for effect in closing.closes if not effect.param}
    return any(text(effect.place) in ends for effect in opening.opens if not effect.param)
