"""What the timing layer asks of the layers below: resolved names and a vocabulary of known calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from timing_audit.model.program import ClassRef, Frame, FunctionRef, FunctionValue, PartialValue, Value
from timing_audit.model.syntax import Block, Call, Class, Expr, Function
from timing_audit.model.timing import Clock


class Names(Protocol):
    """Abstract values of expressions, and the definitions behind them."""

    def values(self, frame: Frame, expr: Expr) -> frozenset[Value]:
        """What an expression of this frame may be; a def that a library decorator wraps is still itself."""

    def function(self, ref: FunctionRef) -> Function: ...

    def body(self, ref: FunctionRef) -> Block: ...

    def class_(self, ref: ClassRef) -> Class: ...

    def method(self, cls: ClassRef, name: str) -> FunctionRef | None:
        """The method that an object of this class answers with."""

    def frame_of(self, value: FunctionValue) -> Frame: ...

    def partial_call(self, value: PartialValue) -> Call | None:
        """The `functools.partial(...)` expression behind the value."""


class CallRule(Protocol):
    """A rule that names calls, as far as timing needs it."""

    @property
    def id(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def calls(self) -> tuple[str, ...]: ...

    @property
    def clock(self) -> Clock | None: ...

    @property
    def site(self) -> str: ...

    @property
    def family(self) -> str: ...

    @property
    def pair(self) -> str: ...

    @property
    def pairing(self) -> str: ...

    @property
    def timing_keyword(self) -> str: ...

    @property
    def timing_position(self) -> int | None: ...

    @property
    def event_position(self) -> int | None: ...


class SetterRule(Protocol):
    """A rule that names functions of the target which stamp a time."""

    @property
    def id(self) -> str: ...

    @property
    def site(self) -> str: ...

    @property
    def clock(self) -> Clock | None: ...

    @property
    def name_position(self) -> int | None: ...

    @property
    def start(self) -> str: ...

    @property
    def end(self) -> str: ...

    def matches(self, path: str, qualname: str) -> bool: ...


class Vocabulary(Protocol):
    """The packs: calls by canonical name, and setters of the target by qualname."""

    @property
    def call_rules(self) -> Sequence[CallRule]: ...

    @property
    def setter_rules(self) -> Sequence[SetterRule]: ...

    def match_call(self, name: str) -> CallRule | None: ...
