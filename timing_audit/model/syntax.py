"""A Python module as plain data: what the passes read instead of a live tree.

Everything here is a `NamedTuple`: immutable, comparable, picklable, and several times cheaper to
make than a frozen dataclass, which counts for the million nodes of a scan. Lines are 1-based,
columns 1-based and in characters.
"""

from __future__ import annotations

from typing import NamedTuple, Union

Literal = Union[str, int, float, bool, None]


class Name(NamedTuple):
    id: str


class Const(NamedTuple):
    """A string without interpolation, a number, `True`, `False` or `None`."""

    value: Literal


class Attr(NamedTuple):
    value: Expr
    name: str


class Keyword(NamedTuple):
    """A keyword argument; `name` is empty for `**value`."""

    name: str
    value: Expr


class Call(NamedTuple):
    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    line: int
    column: int
    end_line: int


class Starred(NamedTuple):
    value: Expr


class Subscript(NamedTuple):
    value: Expr
    key: Expr


class Display(NamedTuple):
    """A list, tuple or set display; `kind` is `list`, `tuple` or `set`."""

    kind: str
    items: tuple[Expr, ...]


class Mapping(NamedTuple):
    """A dict display; a key is `None` for `**value`."""

    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


class Param(NamedTuple):
    """`kind` is empty, `*` or `**`."""

    name: str
    annotation: Expr | None
    default: Expr | None
    kind: str


class Lambda(NamedTuple):
    params: tuple[Param, ...]
    body: Expr


class Binary(NamedTuple):
    op: str
    left: Expr
    right: Expr


class Logical(NamedTuple):
    """`left and right` or `left or right`."""

    op: str
    left: Expr
    right: Expr


class Unary(NamedTuple):
    """`op` is `not`, `-`, `+` or `~`."""

    op: str
    value: Expr


class Compare(NamedTuple):
    """`items[0] ops[0] items[1] ops[1] ...`"""

    items: tuple[Expr, ...]
    ops: tuple[str, ...]


class Conditional(NamedTuple):
    """`body if test else orelse`."""

    test: Expr
    body: Expr
    orelse: Expr


class Walrus(NamedTuple):
    target: str
    value: Expr


class Await(NamedTuple):
    value: Expr


class Yield(NamedTuple):
    value: Expr | None


class Clause(NamedTuple):
    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


class Comprehension(NamedTuple):
    """`kind` is `list`, `set`, `dict` or `generator`; for a dict, `element` is the value."""

    kind: str
    key: Expr | None
    element: Expr
    clauses: tuple[Clause, ...]


class FString(NamedTuple):
    """The interpolated expressions of an f-string; `text` is its source where it is short."""

    values: tuple[Expr, ...]
    text: str


class Opaque(NamedTuple):
    """Any other expression: only its parts are known (slices, patterns)."""

    values: tuple[Expr, ...]


Expr = Union[
    Name, Const, Attr, Call, Starred, Subscript, Display, Mapping, Lambda, Binary, Logical, Unary,
    Compare, Conditional, Walrus, Await, Yield, Comprehension, FString, Opaque,
]  # fmt: skip


class Assign(NamedTuple):
    """`targets = value`, `target: annotation = value` or `target op= value` (then `op` is `+=` or so)."""

    targets: tuple[Expr, ...]
    value: Expr | None
    annotation: Expr | None
    op: str
    line: int
    end_line: int


class Evaluate(NamedTuple):
    """An expression statement, `assert` or `del` (`kind` says which, empty for the first)."""

    value: Expr
    kind: str
    line: int
    end_line: int


class Return(NamedTuple):
    value: Expr | None
    line: int
    end_line: int


class Raise(NamedTuple):
    value: Expr | None
    line: int
    end_line: int


class Jump(NamedTuple):
    """`kind` is `break`, `continue` or `pass`."""

    kind: str
    line: int
    end_line: int


class If(NamedTuple):
    test: Expr
    body: Block
    orelse: Block
    line: int
    end_line: int


class While(NamedTuple):
    test: Expr
    body: Block
    orelse: Block
    line: int
    end_line: int


class For(NamedTuple):
    target: Expr
    iterable: Expr
    body: Block
    orelse: Block
    line: int
    end_line: int


class WithItem(NamedTuple):
    context: Expr
    target: Expr | None
    line: int
    column: int


class With(NamedTuple):
    items: tuple[WithItem, ...]
    body: Block
    line: int
    end_line: int


class Handler(NamedTuple):
    type: Expr | None
    name: str
    body: Block
    line: int


class Try(NamedTuple):
    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    final: Block
    line: int
    end_line: int


class Case(NamedTuple):
    pattern: Expr
    guard: Expr | None
    body: Block
    line: int


class Match(NamedTuple):
    subject: Expr
    cases: tuple[Case, ...]
    line: int
    end_line: int


class Binding(NamedTuple):
    """One name that an import binds.

    `module` is absolute (relative imports are resolved against the file); `attribute` is empty for
    `import module`, `*` for a star import. `import a.b` binds `a` to module `a`.
    """

    name: str
    module: str
    attribute: str


class Import(NamedTuple):
    bindings: tuple[Binding, ...]
    line: int
    end_line: int


class Nested(NamedTuple):
    """A `def` or `class` inside a body; look it up in the module by `qualname`."""

    name: str
    qualname: str
    is_class: bool
    line: int
    end_line: int


class Scope(NamedTuple):
    """`global` or `nonlocal` names."""

    names: tuple[str, ...]
    line: int
    end_line: int


Stmt = Union[
    Assign, Evaluate, Return, Raise, Jump, If, While, For, With, Try, Match, Import, Nested, Scope
]  # fmt: skip
Block = tuple[Stmt, ...]


class Decorator(NamedTuple):
    value: Expr
    line: int


class Function(NamedTuple):
    """A `def`: its signature and where it lies. The body is built on demand.

    `owner` is the qualname of the class or function that directly holds it, empty at module level;
    `in_class` says which. `first_line` is that of the first decorator.
    """

    qualname: str
    name: str
    owner: str
    in_class: bool
    line: int
    end_line: int
    first_line: int
    params: tuple[Param, ...]
    returns: Expr | None
    decorators: tuple[Decorator, ...]
    is_async: bool


class Class(NamedTuple):
    """A `class`; `body` holds its statements other than methods, `methods` their qualnames by name."""

    qualname: str
    name: str
    owner: str
    line: int
    end_line: int
    bases: tuple[Expr, ...]
    decorators: tuple[Decorator, ...]
    methods: tuple[str, ...]
    body: Block


class Outline(NamedTuple):
    """What a module defines and imports, without the bodies of its functions.

    `functions` and `classes` hold nested ones too, in source order; `body` the module's own statements.
    """

    path: str
    name: str
    functions: tuple[Function, ...]
    classes: tuple[Class, ...]
    body: Block
