"""Facts of function bodies, worked out once; and what a class tells about its events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from timing_audit.model.program import ClassRef, Frame, FunctionRef
from timing_audit.model.syntax import Assign, Attr, Block, Call, Display, Expr, Name
from timing_audit.timing.assemble import Roles, run
from timing_audit.timing.calls import HEARD, Calls, Heard, Inference
from timing_audit.timing.facts import Facts
from timing_audit.timing.flow import Flow
from timing_audit.timing.labels import is_timing
from timing_audit.timing.names import Names
from timing_audit.program.scopes import nodes
from timing_audit.timing.walk import terminal

ELAPSED = "event-elapsed"
NO_ROLES = Roles(frozenset(), frozenset())


class Bodies:
    """Remembers the run over each body; a body that is being worked out has no facts yet."""

    def __init__(self, names: Names, calls: Calls, inference: Inference) -> None:
        self.names = names
        self.calls = calls
        self._inference = inference
        self._facts: dict[Frame, tuple[Facts, Flow] | None] = {}
        self._roles: dict[ClassRef, Roles] = {}
        self._nodes: dict[FunctionRef, list[Any]] = {}
        self._heard: dict[FunctionRef, list[Heard]] = {}
        self._speaking: dict[Frame, bool] = {}

    def nodes(self, ref: FunctionRef) -> list[Any]:
        """Every statement and expression of a function's body."""
        found = self._nodes.get(ref)
        if found is None:
            found = self._nodes[ref] = nodes(self.names.body(ref))
        return found

    def speaks(self, frame: Frame) -> bool:
        """Whether a function's body may have to do with time; of one that does not, no fact is about time."""
        if frame.function is None:
            return True
        if frame not in self._speaking:
            self._speaking[frame] = self.calls.speak(frame, self._heard_in(frame.function))
        return self._speaking[frame]

    def _heard_in(self, ref: FunctionRef) -> list[Heard]:
        found = self._heard.get(ref)
        if found is None:
            found = self._heard[ref] = _heard(self.names.body(ref))
        return found

    def forget(self, frame: Frame) -> None:
        """Drops what was worked out while fewer names were known."""
        self._speaking.pop(frame, None)
        self._facts.pop(frame, None)
        self.calls.forget(frame)

    def facts(self, frame: Frame) -> Facts | None:
        """What a function's body does; None while it is being worked out."""
        ran = self.run(frame)
        return None if ran is None else ran[0]

    def ran(self, frame: Frame) -> tuple[Facts, Flow]:
        """The facts of a function's body and the run behind them."""
        found = self.run(frame)
        if found is None:
            raise LookupError(f"{frame.path}: the body is being worked out")
        return found

    def run(self, frame: Frame) -> tuple[Facts, Flow] | None:
        """The run over a function's body; None while it goes on."""
        if frame not in self._facts and frame.function is not None:
            self._facts[frame] = None
            function, block = self.names.function(frame.function), self.names.body(frame.function)
            self._facts[frame] = run(frame, function, block, self.calls, self._inference, partial(self.roles, frame))
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
            for node in self._heard_in(ref):
                if type(node) is Call and node.args and self.calls.method_of_event(terminal(node.func), ELAPSED):
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
        """Whether the event kept in an attribute was made to time; None where nothing tells."""
        owner = frame.receiver or self._owner(frame)
        if type(expr) is not Attr or owner is None:
            return None
        known = [
            is_timing(made, role.rule)
            for ref in self.methods(owner)
            for node in self.nodes(ref)
            if type(node) is Assign
            for target, made in _bound(node)
            if type(target) is Attr and target.name == expr.name
            and (role := self.calls.role(Frame(ref.path, ref, owner), made)) is not None
            and role.rule is not None and role.rule.kind == "event-create"
        ]  # fmt: skip
        return any(known) if known else None


def _heard(block: Block) -> list[Heard]:
    """The nodes of a body by which it may have to do with time, in no order: that is quicker than a walk."""
    found: list[Heard] = []
    pending: list[tuple[Any, ...]] = [block]
    for group in pending:
        for part in group:
            if isinstance(part, tuple) and type(part) is not Name:
                pending.append(part)
                if isinstance(part, HEARD):
                    found.append(part)
    return found


def _bound(stmt: Assign) -> Iterator[tuple[Expr, Call]]:
    """The targets of an assignment with the calls that they are bound to, tuples item by item."""
    for target in stmt.targets:
        if type(target) is Display and type(stmt.value) is Display:
            pairs = list(zip(target.items, stmt.value.items, strict=False))
        else:
            pairs = [(target, stmt.value)] if stmt.value is not None else []
        yield from ((one, value) for one, value in pairs if type(value) is Call)
