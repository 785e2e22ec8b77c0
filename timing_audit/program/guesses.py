"""What an unknown object may be by the method that is called on it: the one class of the tree that has it.

The last resort, asked when everything else has settled. A name that objects outside the tree have too, or that some
object of the tree holds something under, says nothing.
"""

from __future__ import annotations

import io
import queue
import socket
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from timing_audit.model.program import ClassRef, Instance, Literal, Values
from timing_audit.model.syntax import Attr
from timing_audit.program.cells import Key
from timing_audit.program.library import Unit

if TYPE_CHECKING:
    from timing_audit.program.evaluate import Evaluator

STANDARD = (
    object, str, bytes, int, float, list, tuple, dict, set, property, BaseException, threading.Thread, threading.Event,
    threading.Condition, type(threading.Lock()), queue.Queue, socket.socket, io.TextIOWrapper, io.BytesIO,
)  # fmt: skip
# What tensors, modules, streams and events have; those that end in an underscore need not be named.
TENSOR_METHODS = frozenset((
    "backward", "contiguous", "cumsum", "data_ptr", "element_size", "expand", "forward", "index_select",
    "load_state_dict", "masked_fill", "named_parameters", "nonzero", "parameters", "permute", "pin_memory", "query",
    "record_event", "record_stream", "register_buffer", "repeat", "replay", "reshape", "scatter", "softmax",
    "squeeze", "stride", "state_dict", "synchronize", "tolist", "transpose", "unsqueeze", "wait_event", "wait_stream",
))  # fmt: skip


class Guesses:
    """Finds unknown receivers whose method only one class, with those below it, defines."""

    def __init__(self, evaluator: Evaluator, known_outside: Iterable[str]) -> None:
        self._evaluator = evaluator
        self._common = TENSOR_METHODS.union(*(dir(kind) for kind in STANDARD))
        self._common |= {name.rpartition(".")[2] for name in known_outside}

    def make(self) -> bool:
        """Adds what can be guessed of the attributes that nothing is known of; whether that is anything."""
        evaluator, owners = self._evaluator, self._owners()
        new: dict[Key, Values] = {}
        for cell in evaluator.blanks - evaluator.guesses.keys():
            owner = owners.get(self._name(cell))
            if owner is not None and all(value == Literal(None) for value in self._receiver(cell)):
                new[cell] = frozenset((Instance(owner, False),))
        evaluator.guesses.update(new)
        for cell in new:
            evaluator.cells.poke(cell)
        return bool(new)

    def _name(self, cell: Key) -> str:
        kind, _, place = cell
        if kind == "on":
            return str(place[-1])
        expr = self._evaluator.expressions[place]
        return expr.name if isinstance(expr, Attr) else ""

    def _receiver(self, cell: Key) -> Values:
        kind, holder, place = cell
        if kind == "on":
            return self._evaluator.cells.read(("on", holder, place[:-1]))
        expr = self._evaluator.expressions[place]
        return self._evaluator.evaluate(holder, expr.value) if isinstance(expr, Attr) else frozenset()

    def _owners(self) -> dict[str, ClassRef | None]:
        """The class that owns a method's name; None where several do that have nothing to do with each other."""
        library = self._evaluator.library
        found: dict[str, ClassRef | None] = {}
        held = {name for unit in library.units for name in unit.held()}
        for unit in library.units:
            if not library.is_behind(unit.path):
                for name, cls in self._methods(unit):
                    found[name] = self._upper(found[name], cls) if name in found else cls
        return {name: cls for name, cls in found.items() if name not in held}

    def _methods(self, unit: Unit) -> Iterable[tuple[str, ClassRef]]:
        for function in unit.outline.functions:
            name = function.name
            if function.in_class and name[-1] != "_" and name not in self._common:
                yield name, ClassRef(unit.path, function.owner)

    def _upper(self, one: ClassRef | None, other: ClassRef) -> ClassRef | None:
        """Of two classes the one that the other inherits from."""
        order = self._evaluator.classes.order
        if one is None or one in order(other):
            return one
        return other if other in order(one) else None
