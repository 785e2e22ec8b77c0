"""Functions, classes and abstract values: the vocabulary of the call graph.

A value says what an expression may be. Sets of values only grow while the call graph is built, so
every value is immutable and hashable.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Union


class FunctionRef(NamedTuple):
    """A `def`; the line tells the getter from the setter of one name."""

    path: str
    qualname: str
    line: int


class ClassRef(NamedTuple):
    """A class, by its file and its qualified name."""

    path: str
    qualname: str


class Frame:
    """A function body together with the class of its `self`: the unit of the analysis.

    `function` is None for a module's own statements. A nested function keeps the receiver of the
    function around it. Frames are keys of nearly everything, so equal ones are one object: they
    compare and hash by identity.
    """

    __slots__ = ("function", "path", "receiver")
    _known: ClassVar[dict[tuple[str, FunctionRef | None, ClassRef | None], Frame]] = {}
    path: str
    function: FunctionRef | None
    receiver: ClassRef | None

    def __new__(cls, path: str, function: FunctionRef | None, receiver: ClassRef | None) -> Frame:
        """The one frame of these parts, made when it is first asked for."""
        key = (path, function, receiver)
        frame = cls._known.get(key)
        if frame is None:
            frame = cls._known[key] = super().__new__(cls)
            frame.path, frame.function, frame.receiver = key
        return frame

    def __reduce__(self) -> tuple[type[Frame], tuple[str, FunctionRef | None, ClassRef | None]]:
        return Frame, (self.path, self.function, self.receiver)

    def __repr__(self) -> str:
        return f"Frame({self.path!r}, {self.function!r}, {self.receiver!r})"


class External(NamedTuple):
    """Something outside the target by canonical name: `time.perf_counter`, `torch.cuda.Event`.

    What a call returns carries `()`: `torch.cuda.Event().record` is the method of an event.
    """

    name: str


class Leaf(NamedTuple):
    """Something in the target behind the path's boundary, by dotted name; its file is not read."""

    name: str


class ModuleValue(NamedTuple):
    """A module or namespace package of the target, by dotted name."""

    name: str


class ClassValue(NamedTuple):
    """The class itself."""

    ref: ClassRef


class Instance(NamedTuple):
    """An object of a class. `exact` is false where only an annotation said so: a subclass may stand there."""

    ref: ClassRef
    exact: bool


class FunctionValue(NamedTuple):
    """A function, or a method bound to an object of the class `receiver`.

    `frame` is the frame that a nested function closes over.
    """

    ref: FunctionRef
    receiver: ClassRef | None
    frame: Frame | None


class LambdaValue(NamedTuple):
    """A lambda: `key` finds its expression, `frame` is where it stands."""

    key: int
    frame: Frame


class PartialValue(NamedTuple):
    """`functools.partial(...)`: `key` finds the call, `frame` is where it stands."""

    key: int
    frame: Frame


class DictValue(NamedTuple):
    """A dict display or `dict(...)`: `key` finds the expression, `frame` is where it stands."""

    key: int
    frame: Frame


class Bag(NamedTuple):
    """A collection: the values that its elements may be."""

    values: frozenset[Value]


class Row(NamedTuple):
    """A tuple by position."""

    items: tuple[frozenset[Value], ...]


class Literal(NamedTuple):
    """A constant: string, number, True, False or None."""

    value: str | int | float | bool | None


class SuperValue(NamedTuple):
    """`super()`: looks attributes up behind `after` in the order of `receiver`."""

    after: ClassRef
    receiver: ClassRef


class SetFrom(NamedTuple):
    """An attribute of the objects of `owner` is set from outside, by the store numbered `place`."""

    owner: ClassRef
    place: int


Value = Union[
    External, Leaf, ModuleValue, ClassValue, Instance, FunctionValue, LambdaValue, PartialValue, DictValue, Bag,
    Row, Literal, SuperValue, SetFrom,
]  # fmt: skip
Values = frozenset[Value]
NOTHING: Values = frozenset()
