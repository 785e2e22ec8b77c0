"""The mutable parts of one run over a body: what holds at a point, and what was found so far."""

from __future__ import annotations

from timing_audit.model.program import FunctionRef
from timing_audit.model.timing import Elapsed
from timing_audit.model.syntax import Block, Call, Expr, Name, Scope
from timing_audit.timing.facts import (
    NOTHING, DeviceMark, Effect, Event, Exit, Read, SiteFact, Timed, Use, Val, join,
)  # fmt: skip
from timing_audit.timing.substitute import GLOBAL, substitute
from timing_audit.program.scopes import nodes
from timing_audit.timing.walk import root_name, text


class State:
    """What holds at one point: values by place, open ranges by rule pair, starts that nothing ended yet."""

    def __init__(self) -> None:
        self.env: dict[str, Val] = {}
        self.stacks: dict[str, tuple[Read, ...]] = {}
        self.open: frozenset[Read] = frozenset()
        self.records: dict[Event, frozenset[Read]] = {}

    def copy(self) -> State:
        """The same state, to be changed on its own."""
        other = State()
        other.env, other.stacks = dict(self.env), dict(self.stacks)
        other.open, other.records = self.open, dict(self.records)
        return other

    def set(self, place: str, value: Val) -> None:
        """A new value for a place; what was known of its parts goes."""
        for key in [key for key in self.env if key.startswith((place + ".", place + "["))]:
            del self.env[key]
        if value == NOTHING:
            self.env.pop(place, None)
        else:
            self.env[place] = value

    def parts(self, place: str) -> Val:
        """What an element of the collection at a place may be."""
        found = NOTHING
        for key in sorted(self.env):
            if key.startswith(place + "["):
                found = join(found, self.env[key])
        return found


def merge(states: list[State | None], before: State | None = None) -> State | None:
    """What may hold where several paths meet; a path that changed a stack of open ranges decides it."""
    live = [state for state in states if state is not None]
    if len(live) < 2:
        return live[0] if live else None
    first = live[0].copy()
    for other in live[1:]:
        for place, value in other.env.items():
            first.env[place] = join(first.env.get(place, NOTHING), value)
        for event, reads in other.records.items():
            first.records[event] = first.records.get(event, frozenset()) | reads
        for pair, stack in other.stacks.items():
            if first.stacks.get(pair, ()) == (before.stacks.get(pair, ()) if before else ()):
                first.stacks[pair] = stack
        first.open |= other.open
    return first


class Found:
    """What a run over a body has found so far; keyed, because loops are run twice."""

    def __init__(self) -> None:
        self.sites: dict[tuple[int, int, str], SiteFact] = {}
        self.timed: dict[tuple[int, int, int, int, str, str, str], Timed] = {}
        self.used: set[Read] = set()
        self.paired: set[Read] = set()
        self.bound: dict[Read, str] = {}
        self.pending: list[Exit] = []
        self.exits: dict[tuple[str, int, int], Exit] = {}
        self.opens: dict[tuple[str, int, str], Effect] = {}
        self.closes: dict[tuple[str, int, str], Effect] = {}
        self.marks: dict[tuple[int, int], DeviceMark] = {}
        self.readings: dict[Elapsed, None] = {}
        self.loads: set[str] = set()
        self.returned: list[Use] = []
        self.returns: dict[int, tuple[Expr, Val]] = {}
        self.others: dict[int, Call] = {}
        self.popped: set[str] = set()
        self.syncs: set[int] = set()
        self.waits: set[int] = set()
        self.queries: set[int] = set()
        self.mixed: dict[tuple[int, int], tuple[Read, Read]] = {}
        self.event_names: dict[str, set[str]] = {}
        self.calls: dict[tuple[int, int], tuple[int, int, FunctionRef, str]] = {}
        self.accumulating: set[tuple[int, int]] = set()
        self.pushed: set[str] = set()
        self.lonely_ends: dict[tuple[int, int], Read] = {}

    def time(self, timed: Timed) -> None:
        """Notes a measurement, once."""
        measure = timed.measure
        key = (
            timed.start.line, timed.start.column, timed.end_line, timed.end_column, measure.clock.value,
            measure.rule, measure.family,
        )  # fmt: skip
        self.timed.setdefault(key, timed)


class Places:
    """The names of a body: which are its own, and one spelling for each place that outlives it."""

    def __init__(self, path: str, params: tuple[str, ...], body: Block) -> None:
        self.path = path
        self.params = frozenset(params)
        self.receiver = params[0] if params else ""
        declared: set[str] = set()
        assigned: set[str] = set(params)
        for node in nodes(body):
            kind = type(node).__name__
            if type(node) is Scope:
                declared.update(node.names)
            elif kind in ("Assign", "For", "Clause", "WithItem"):
                targets = node.targets if kind == "Assign" else (node.target,)
                assigned.update(_bound_names(targets))
            elif kind == "Walrus":
                assigned.add(node.target)
            elif kind == "Import":
                assigned.update(binding.name for binding in node.bindings)
        self.locals = frozenset(assigned - declared)

    def canonical(self, expr: Expr) -> Expr:
        """The expression with the file's name in front of a global root."""
        root = root_name(expr)
        if not root or root in self.locals or GLOBAL in root:
            return expr
        return substitute(expr, {root: Name(f"{self.path}{GLOBAL}{root}")})

    def key(self, expr: Expr) -> str:
        """The text of a place, alike wherever the place is written."""
        return text(self.canonical(expr))

    def outlives(self, expr: Expr) -> bool:
        """Whether a place lasts longer than a call of the function."""
        root = root_name(expr)
        return bool(root) and (root not in self.locals or (root in self.params and type(expr) is not Name))


def _bound_names(targets: tuple[Expr | None, ...]) -> set[str]:
    found: set[str] = set()
    for target in targets:
        if type(target) is Name:
            found.add(target.id)
        elif type(target).__name__ in ("Display", "Starred"):
            found |= {node.id for node in nodes((target,)) if type(node) is Name}
    return found
