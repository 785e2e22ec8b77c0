"""Calls of a body: what each does to clocks, events, ranges and contexts."""

from __future__ import annotations

from collections.abc import Callable

from timing_audit.model.pack import CallRule, SetterRule
from timing_audit.model.program import ClassValue, FunctionValue
from timing_audit.model.syntax import Attr, Call, Expr, Name, Subscript
from timing_audit.model.timing import Clock, Purpose
from timing_audit.timing.calls import ENTERING, Calls, Inference, Role
from timing_audit.timing.evaluate import GIVING, TAKING, THROUGH, Expressions
from timing_audit.timing.events import EVENTS, EventEffects
from timing_audit.timing.facts import (
    NOTHING, DeviceMark, Effect, Event, Inferred, Measure, Read, Timed, Use, Val, join,
    one_per_clock,
)  # fmt: skip
from timing_audit.timing.labels import constant_label, is_timing, label_of, setter_name, stem_of
from timing_audit.timing.walk import terminal, text

TIMING, ORDERING, SYNC = Purpose.TIMING, Purpose.ORDERING, Purpose.SYNC


class Effects(EventEffects):
    """Answers `Expressions.on_call` for one body."""

    def __init__(self, expressions: Expressions, calls: Calls, inference: Inference) -> None:
        super().__init__(expressions)
        self.calls = calls
        self.inference = inference
        self.enter: Callable[[Expr, Use], None] = lambda stack, use: None
        self.kept = self._kept_event

    def call(self, call: Call, context: bool) -> Val:
        """What a call gives; `context` for one that is entered."""
        receiver = self._receiver(call)
        if receiver.events and (known := self._on_event(call, receiver)) is not None:
            return known
        if terminal(call.func) in ("__enter__", "__exit__") and receiver.uses:
            return self._by_hand(call, terminal(call.func), receiver)
        role = self.calls.role(self.on.frame, call, context=context, hands_time=self.calls.hands_time(call))
        if role is not None and role.rule is not None and role.rule.kind in RULES:
            return RULES[role.rule.kind](self, call, role.rule, role, receiver)
        if role is not None and role.setter is not None:
            return self._setter(call, role.setter)
        if role is not None and role.value is not None:
            return self._defined(call, role)
        return self._other(call, receiver)

    def _receiver(self, call: Call) -> Val:
        if type(call.func) is Attr:
            inner = call.func.value
            return self.on.load(inner, using=False) if type(inner) in PLACES else self.on.value(inner)
        return NOTHING if type(call.func) is Name else self.on.value(call.func)

    # Calls of the vocabulary.

    def _clock(self, call: Call, rule: CallRule, role: Role, receiver: Val) -> Val:
        self.arguments(call)
        self.site(call, rule.site, TIMING, rule.id)
        measure = Measure(rule.clock or Clock.HOST, rule.family, rule.id, (), ())
        return Val(plus=frozenset((self.read(call, measure, primitive=role.canonical),)))

    def _span(self, call: Call, rule: CallRule, role: Role, receiver: Val) -> Val:
        self.arguments(call)
        label = label_of(call)
        self.site(call, rule.site, TIMING, rule.id, None, label)
        measure = Measure(rule.clock or Clock.TRACE, "", rule.id, (), ())
        use = Use(
            call.line, call.column, measure, label, rule.site, self.on.position, primitive=role.canonical,
            constant=constant_label(call),
        )  # fmt: skip
        return Val(uses=(use,))

    def _open(self, call: Call, rule: CallRule, role: Role, receiver: Val) -> Val:
        self.arguments(call)
        label = label_of(call)
        self.site(call, rule.site, TIMING, rule.id, None, label)
        read = self.read(call, Measure(rule.clock or Clock.TRACE, "", rule.id, (), ()), label, role.canonical)
        if rule.pairing == "handle":
            return Val(plus=frozenset((read,)))
        self._push(self._pair_key(call, rule), read)
        return Val(uses=()) if rule.pairing == "stack" else receiver

    def _close(self, call: Call, rule: CallRule, role: Role, receiver: Val) -> Val:
        values = self.arguments(call)
        self.site(call, rule.site, TIMING, rule.id)
        if rule.pairing == "handle":
            for start in sorted({read for value in values for read in value.plus if read.source == "read"}):
                self._ended(start, call, "stack")
        else:
            self._pop(self._pair_key(call, rule), call)
        return NOTHING

    def _pair_key(self, call: Call, rule: CallRule) -> str:
        receiver = call.func.value if type(call.func) is Attr else None
        return rule.pair if rule.pairing == "stack" or receiver is None else f"{rule.pair} {text(receiver)}"

    def _push(self, key: str, read: Read) -> None:
        state = self.on.state
        if not key.startswith(SETTER):
            self.found.pushed.add(key)
        state.stacks[key] = (*state.stacks.get(key, ()), read)
        state.open |= {read}
        self.found.bound[read] = f"range {key}"

    def _pop(self, key: str, call: Call) -> None:
        stack = self.on.state.stacks.get(key, ())
        if not key.startswith(SETTER):
            self.found.popped.add(key)
        if stack:
            self.on.state.stacks[key] = stack[:-1]
            self._ended(stack[-1], call, "stack")
        else:
            measure = Measure(Clock.TRACE, "", "", (), ())
            self.found.lonely_ends[call.line, call.column] = self.read(call, measure, key)

    def _ended(self, start: Read, call: Call, how: str, *, synced: bool = False) -> None:
        self.on.state.open -= {start}
        self.found.paired.add(start)
        self.found.lonely_ends.pop((call.line, call.column), None)
        timed = Timed(how, start, call.line, call.column, self.on.position, start.measure, start.label)
        self.found.time(timed._replace(synced=(start.synced, synced)))

    def _create(self, call: Call, rule: CallRule, role: Role, receiver: Val) -> Val:
        self.arguments(call)
        timing = is_timing(call, rule)
        self.site(call, rule.site, TIMING if timing else ORDERING, rule.id)
        return Val(events=frozenset((Event(f"{call.line}:{call.column}", timing),)))

    def _event_call(self, call: Call, rule: CallRule, role: Role, receiver: Val) -> Val:
        events = receiver
        if rule.event_position is not None and rule.event_position < len(call.args):
            events = self.on.value(call.args[rule.event_position])
        elif not events.events and type(call.func) is Attr:
            events = self._kept_event(call.func.value)
        return EVENTS[rule.kind](self, call, events)

    def _kept_event(self, kept: Expr) -> Val:
        """The event that some other body made and kept in an attribute."""
        if type(kept) not in PLACES:
            return NOTHING
        known = self.inference.event_timing(self.on.frame, kept)
        return Val(events=frozenset((Event(self.on.places.key(kept), known),)))

    def _on_event(self, call: Call, receiver: Val) -> Val | None:
        name = terminal(call.func)
        for kind, handler in EVENTS.items():
            if self.calls.method_of_event(name, kind):
                return handler(self, call, receiver)
        return None

    def _synchronize(self, call: Call, rule: CallRule, role: Role, receiver: Val) -> Val:
        self.arguments(call)
        self.site(call, rule.site, SYNC if rule.kind == "synchronize" else ORDERING, rule.id)
        if rule.kind == "synchronize":
            self.found.syncs.add(call.line)
        return NOTHING

    def _hook(self, call: Call, rule: CallRule, role: Role, receiver: Val) -> Val:
        if any(value.duration for value in self.arguments(call)):
            self.site(call, rule.site, TIMING, rule.id)
        return NOTHING

    def _nothing(self, call: Call, rule: CallRule, role: Role, receiver: Val) -> Val:
        self.arguments(call)
        return NOTHING

    # Calls of the target.

    def _setter(self, call: Call, rule: SetterRule) -> Val:
        """A setter stamps a time; one named as a start is closed by the end of the same name."""
        self.arguments(call)
        self.site(call, rule.site, TIMING, rule.id, None, label_of(call))
        name = setter_name(call, rule)
        if (stem := stem_of(name, rule.start)) is not None:
            read = self.read(call, Measure(rule.clock or Clock.TRACE, "", rule.id, (), ()), stem)
            self._push(f"{SETTER}{rule.id} {stem}", read)
        elif (stem := stem_of(name, rule.end)) is not None:
            self._pop(f"{SETTER}{rule.id} {stem}", call)
        return NOTHING

    def _defined(self, call: Call, role: Role) -> Val:
        value = role.value
        assert value is not None
        self.arguments(call)
        wrapper = self.inference.wrapper(value)
        if wrapper is not None:
            found = self._wrapped(call, wrapper, self.inference.measures(self.on.frame, call, value, wrapper))
            if "callable" in wrapper.forms or found.uses:
                return found
        instant = self.inference.clock(value)
        if instant is not None:
            self.site(call, "clock_read", TIMING, "", instant.measure)
            return Val(plus=frozenset((self.read(call, instant.measure)._replace(synced=instant.synced),)))
        receiver = call.func.value if type(call.func) is Attr else None
        if not isinstance(value, FunctionValue) or not self.apply(call, value, receiver):
            self.note_other(call)
        return NOTHING

    def _wrapped(self, call: Call, wrapper: Inferred, measures: tuple[Measure, ...]) -> Val:
        label = wrapper.label or label_of(call)
        for measure in one_per_clock(measures)[:1]:
            self.site(call, wrapper.kind, TIMING, "", measure, label)
        if "callable" in wrapper.forms:
            for measure in measures:
                read = self.read(call, measure, label)
                timed = Timed("callable", read, call.end_line, 0, self.on.position, measure, label)
                self.found.time(timed._replace(synced=wrapper.synced))
            return NOTHING
        return Val(
            uses=tuple(
                Use(
                    call.line,
                    call.column,
                    measure,
                    label,
                    wrapper.kind,
                    self.on.position,
                    wrapper.synced,
                    constant=wrapper.label or constant_label(call),
                )
                for measure in measures
            )
        )

    def apply(self, call: Call, value: FunctionValue | ClassValue, receiver: Expr | None) -> bool:
        """What a start or stop function does to the places that it leaves its instants in; false if it is none."""
        summary = self.inference.effects(self.on.frame, call, value, receiver)
        if not (summary.opens or summary.closes or summary.marks):
            return False
        for effect in summary.closes:
            self._close_place(call, effect)
        for effect in summary.opens:
            self._open_place(call, effect)
        for mark in summary.marks:
            read = self.read(call, mark.read.measure, label_of(call))
            self.found.marks[call.line, call.column] = DeviceMark(mark.role, read, mark.event)
        if isinstance(value, FunctionValue):
            label = label_of(call)
            self.found.calls[call.line, call.column] = (call.line, call.column, value.ref, label)
        return True

    def _close_place(self, call: Call, effect: Effect) -> None:
        known = self.on.state.env.get(self.on.places.key(effect.place), NOTHING)
        starts = [read for read in known.plus | known.minus if read.source == "read"]
        for start in sorted(starts, key=lambda read: (read.line, read.column)):
            if (start.line, start.column) != (call.line, call.column):
                measure = start.measure._replace(hops=start.measure.hops or effect.measure.hops)
                known_start = start if start in self.found.bound else start._replace(measure=measure)
                self._ended(known_start, call, "call", synced=effect.synced)
        if not starts and self.on.places.outlives(effect.place):
            key = (str(effect.place), call.line, effect.param)
            self.found.closes.setdefault(key, effect._replace(line=call.line, param="", position=self.on.position))

    def _open_place(self, call: Call, effect: Effect) -> None:
        read = self.read(call, effect.measure, label_of(call), "call")._replace(synced=effect.synced)
        key = self.on.places.key(effect.place)
        self.on.state.set(key, Val(plus=frozenset((read,))))
        self.on.state.open |= {read}
        self.found.bound[read] = key
        if effect.accumulate:
            self.found.accumulating.add((call.line, call.column))
        if self.on.places.outlives(effect.place):
            moved = effect._replace(line=call.line, param="", position=self.on.position)
            self.found.opens.setdefault((key, call.line, ""), moved)

    # Other calls.

    def _other(self, call: Call, receiver: Val) -> Val:
        name = terminal(call.func)
        if name in ENTERING and call.args and type(call.func) is Attr:
            return self._enter_context(call)
        if type(call.func) is Attr and type(call.func.value) in PLACES:
            if name in GIVING and call.args:
                value = self.on.value(call.args[-1])
                self.on.grow(call.func.value, value)
                return value
            if name in TAKING:
                self.arguments(call)
                return self._taken(call, call.func.value)
        if name in THROUGH and type(call.func) is Name:
            return self._through(call)
        self.arguments(call)
        self.note_other(call)
        return Val(uses=receiver.uses) if type(call.func) is not Attr else NOTHING

    def _taken(self, call: Call, collection: Expr) -> Val:
        """`starts.pop(key)`; of a collection that outlives the body, what another body may have put there."""
        known = self.on.state.parts(self.on.places.key(collection))
        if known != NOTHING or not call.args or not self.on.places.outlives(collection):
            return known
        return self.on.value(Subscript(collection, call.args[0]))

    def note_other(self, call: Call) -> None:
        """Notes a call that has nothing to do with time."""
        self.found.others[id(call)] = call

    def _through(self, call: Call) -> Val:
        found = NOTHING
        for arg in call.args:
            found = join(found, self.on.value(arg))
        return found

    def _enter_context(self, call: Call) -> Val:
        value = self.context(call.args[0])
        if type(call.func) is Attr:
            for use in value.uses:
                self.enter(call.func.value, use)
        return NOTHING

    def context(self, expr: Expr) -> Val:
        """The value of an expression that is entered."""
        if type(expr) is Call:
            return self.call(expr, True)
        value = self.on.value(expr)
        if value.uses or type(expr) not in PLACES:
            return value
        return self._kept(expr)

    def _kept(self, expr: Expr) -> Val:
        """A context that some other body made and kept."""
        role = self.calls.of_object(self.on.frame, expr) if self.calls.may_be_kept(expr) else None
        if role is None:
            return NOTHING
        line, column = self.on.line, 0
        if role.rule is not None and role.rule.kind == "span":
            measure = Measure(role.rule.clock or Clock.TRACE, "", role.rule.id, (), ())
            return Val(uses=(Use(line, column, measure, text(expr), role.rule.site, self.on.position),))
        wrapper = self.inference.wrapper(role.value) if role.value is not None else None
        if wrapper is None or "context" not in wrapper.forms:
            return NOTHING
        return Val(
            uses=tuple(
                Use(line, column, measure, text(expr), wrapper.kind, self.on.position, wrapper.synced)
                for measure in wrapper.measures
            )
        )

    def _by_hand(self, call: Call, name: str, receiver: Val) -> Val:
        self.arguments(call)
        key = f"enter {text(call.func)}".rpartition(".")[0]
        use = receiver.uses[0]
        self.site(call, use.kind, TIMING, use.measure.rule, use.measure, use.label)
        if name == "__enter__":
            self._push(key, self.read(call, use.measure, use.label))
        else:
            self._pop(key, call)
        return NOTHING


PLACES = (Name, Attr, Subscript)
SETTER = "setter "
RULES: dict[str, Callable[[Effects, Call, CallRule, Role, Val], Val]] = {
    "clock-read": Effects._clock,
    "span": Effects._span,
    "open": Effects._open,
    "close": Effects._close,
    "event-create": Effects._create,
    **dict.fromkeys(EVENTS, Effects._event_call),
    "synchronize": Effects._synchronize,
    "ordering": Effects._synchronize,
    "metric-hook": Effects._hook,
    "gate": Effects._nothing,
}
