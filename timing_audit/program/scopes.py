"""What a body binds: names, attributes, returns, yields, calls. One walk per body, kept."""

from __future__ import annotations

from typing import Any, NamedTuple

from timing_audit.model.syntax import (
    Assign, Attr, Binding, Block, Call, Case, Comprehension, Display, Evaluate, Expr, For, Handler, Import, Lambda,
    Name, Nested, Param, Return, Scope as Declared, Starred, Subscript, Walrus, With, Yield,
)  # fmt: skip


class Definition(NamedTuple):
    """One thing that a name or attribute may be.

    `how`: `value` (the expression itself), `element` (one of its elements), `enter` (what a context
    gives), `store` (a collection that holds the expression), `grow` (a collection that takes in the
    elements of the expression), `note` (an annotation only), `lambda` (a parameter of the lambda
    `expr`), `import`, `nested`. `place` picks from a tuple: `a, b = f()` gives `b` the place (1,).
    """

    how: str
    expr: Expr | None
    annotation: Expr | None
    place: tuple[int, ...]
    binding: Binding | None
    nested: Nested | None
    line: int


class Store(NamedTuple):
    """`receiver.name = ...` (or `receiver.name[k] = ...`, `receiver.name.append(...)`)."""

    receiver: Expr
    name: str
    definition: Definition


class Scope(NamedTuple):
    """The bindings of one body; `given` are the names of its parameters, `names` keeps the order of the source."""

    params: tuple[Param, ...]
    given: frozenset[str]
    names: dict[str, list[Definition]]
    stores: tuple[Store, ...]
    stars: tuple[str, ...]
    returns: tuple[Expr, ...]
    yields: tuple[Expr, ...]
    globals: frozenset[str]
    is_generator: bool


FILLING = ("store", "grow")
GROWING = frozenset(("append", "add", "appendleft", "extend", "insert", "update", "setdefault", "put", "put_nowait"))


def nodes(root: tuple[Any, ...]) -> list[Any]:
    """Every statement and expression below a node or block, in source order; nested defs stay closed.

    A node is a NamedTuple and a group of nodes a plain tuple, so the walk needs no table of fields.
    """
    found: list[Any] = [] if type(root) is tuple else [root]
    _list_nodes(root, found)
    return found


def _list_nodes(node: tuple[Any, ...], found: list[Any]) -> None:
    for part in node:
        if isinstance(part, tuple):
            if type(part) is not tuple:
                found.append(part)
            _list_nodes(part, found)


def _list_statements(block: tuple[Any, ...], found: list[Any]) -> None:
    for node in block:
        found.append(node)
        for part in node:
            if type(part) is tuple:
                _list_statements(part, found)


def read_scope(body: Block, params: tuple[Param, ...], *, deep: bool) -> Scope:
    """What a body with these parameters binds, stores, returns and yields; `deep`: expressions do so, too."""
    reader = _Reader()
    found: list[Any] = []
    if deep:
        found = nodes(body)
    else:
        _list_statements(body, found)
    for node in found:
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            handler(reader, node)
    return Scope(
        params, frozenset(param.name for param in params), reader.names, tuple(reader.stores), tuple(reader.stars),
        tuple(reader.returns), tuple(reader.yields), frozenset(reader.globals), reader.is_generator,
    )  # fmt: skip


class _Reader:
    def __init__(self) -> None:
        self.names: dict[str, list[Definition]] = {}
        self.stores: list[Store] = []
        self.stars: list[str] = []
        self.returns: list[Expr] = []
        self.yields: list[Expr] = []
        self.globals: set[str] = set()
        self.is_generator = False

    def assign(self, node: Assign) -> None:
        if node.value is None:
            if node.annotation is not None:
                self.bind(node.targets[0], "info", None, node.annotation, node.line)
            return
        how = "value" if not node.op else "store"
        for target in node.targets:
            self.bind(target, how, node.value, node.annotation, node.line)

    def bind(
        self, target: Expr, how: str, expr: Expr | None, annotation: Expr | None, line: int,
        place: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        if isinstance(target, Name):
            self.define(target.id, Definition(how, expr, annotation, place, None, None, line))
        elif isinstance(target, Attr):
            self.stores.append(
                Store(target.value, target.name, Definition(how, expr, annotation, place, None, None, line))
            )
        elif isinstance(target, Display):
            for position, item in enumerate(target.items):
                self.bind(item, how, expr, None, line, (*place, position))
        elif isinstance(target, Starred):
            self.bind(target.value, how, expr, None, line, place[:-1])
        elif isinstance(target, Subscript) and how in ("value", "store"):
            self.bind(target.value, "store", expr, None, line, place)

    def define(self, name: str, definition: Definition) -> None:
        self.names.setdefault(name, []).append(definition)

    def loop(self, node: For) -> None:
        self.bind(node.target, "element", node.iterable, None, node.line)

    def context(self, node: With) -> None:
        for item in node.items:
            if item.target is not None:
                self.bind(item.target, "enter", item.context, None, item.line)

    def walrus(self, node: Walrus) -> None:
        self.bind(Name(node.target), "value", node.value, None, 0)

    def comprehension(self, node: Comprehension) -> None:
        for clause in node.clauses:
            self.bind(clause.target, "element", clause.iterable, None, 0)

    def imports(self, node: Import) -> None:
        for binding in node.bindings:
            if binding.name == "*":
                self.stars.append(binding.module)
            elif binding.name:
                self.define(binding.name, Definition("import", None, None, (), binding, None, node.line))

    def nested(self, node: Nested) -> None:
        self.define(node.name, Definition("nested", None, None, (), None, node, node.line))

    def handler(self, node: Handler) -> None:
        if node.name:
            self.bind(Name(node.name), "info", None, node.type, node.line)

    def case(self, node: Case) -> None:
        for part in nodes((node.pattern,)):
            if isinstance(part, Name):
                self.bind(part, "info", None, None, node.line)

    def returned(self, node: Return) -> None:
        if node.value is not None:
            self.returns.append(node.value)

    def yielded(self, node: Yield) -> None:
        self.is_generator = True
        if node.value is not None:
            self.yields.append(node.value)

    def declared(self, node: Declared) -> None:
        self.globals.update(node.names)

    def evaluated(self, node: Evaluate) -> None:
        """`xs.append(v)` and its kin make `xs` a collection that holds `v`."""
        call = node.value
        if isinstance(call, Call) and isinstance(call.func, Attr) and call.func.name in GROWING and call.args:
            how = "grow" if call.func.name in ("extend", "update") else "store"
            self.bind(call.func.value, how, call.args[-1], None, node.line)

    def parameters(self, node: Lambda) -> None:
        """A lambda's parameters are names of the body around it, bound to what its callers pass."""
        for param in node.params:
            self.define(param.name, Definition("lambda", node, None, (), None, None, 0))


_HANDLERS: dict[type, Any] = {
    Assign: _Reader.assign,
    For: _Reader.loop,
    With: _Reader.context,
    Walrus: _Reader.walrus,
    Comprehension: _Reader.comprehension,
    Import: _Reader.imports,
    Nested: _Reader.nested,
    Handler: _Reader.handler,
    Case: _Reader.case,
    Return: _Reader.returned,
    Yield: _Reader.yielded,
    Declared: _Reader.declared,
    Evaluate: _Reader.evaluated,
    Lambda: _Reader.parameters,
}
