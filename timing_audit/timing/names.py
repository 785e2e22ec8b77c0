"""What the timing layer asks of the layers below: resolved names and a vocabulary of known calls."""

from __future__ import annotations

from typing import Protocol

from timing_audit.model.pack import CallRule, Packs, SetterRule, WrittenRule
from timing_audit.model.program import ClassRef, Frame, FunctionRef, FunctionValue, Value
from timing_audit.model.syntax import Block, Class, Expr, Function


# What `torch.*.Event` in a pack also stands for: the device's module, got by a call.
DEVICE_MODULES = ("torch.get_device_module()",)


class Names(Protocol):
    """Abstract values of expressions, and the definitions behind them."""

    expressions: dict[int | str, Expr]
    """The expressions that values refer to by key."""

    def values(self, frame: Frame, expr: Expr) -> frozenset[Value]:
        """What an expression of this frame may be; a def that a library decorator wraps is still itself."""

    def function(self, ref: FunctionRef) -> Function:
        """The signature of a function."""

    def body(self, ref: FunctionRef) -> Block:
        """The statements of a function."""

    def class_(self, ref: ClassRef) -> Class:
        """A class of the target."""

    def method(self, cls: ClassRef, name: str) -> FunctionRef | None:
        """The method that an object of this class answers with."""

    def frame_of(self, value: FunctionValue) -> Frame:
        """The frame in which a function value runs."""


class Vocabulary:
    """The packs, as far as timing needs them."""

    def __init__(self, packs: Packs) -> None:
        self.call_rules = packs.select(CallRule)
        self.setter_rules = packs.select(SetterRule)
        self.match_call = packs.match_call
        self._launches = packs.rules_of("launch")

    def is_model(self, name: str) -> bool:
        """Whether something of this name is a model, which is called like a function."""
        return any(isinstance(rule, WrittenRule) and rule.matches_call(name) for rule in self._launches)


def kept_results(packs: Packs) -> tuple[str, ...]:
    """Canonical names whose results the program layer has to tell apart: contexts and queries of profilers.

    To be given to the evaluator together with the packs' own names.
    """
    kinds = ("span", "gate")
    made = tuple(f"{name}()" for rule in packs.select(CallRule) if rule.kind in kinds for name in rule.calls)
    return (*made, *DEVICE_MODULES)
