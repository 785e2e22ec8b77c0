"""One parsed file: its outline at once, the bodies of its functions on demand."""

from __future__ import annotations

from functools import cache

from tree_sitter import Language, Node, Parser, Tree

from timing_audit.model.syntax import Block, Class, Decorator, Expr, Function, Nested, Outline
from timing_audit.syntax.fingerprint import fingerprint
from timing_audit.syntax.statements import Statements, lines


class BrokenSource(Exception):
    """The file is no Python that the grammar knows; the text names the line."""


class Module:
    """A live syntax tree behind plain data.

    `binds_inside` are the lines of the definitions read so far, 0 for the module, with an expression that binds a
    name or yields. `too_deep` are the lines of functions whose bodies nest too deeply to be read; they count as empty.
    Only this class holds tree-sitter nodes. `outline` and the results of `body` are plain, so that
    passes can keep and pickle them.
    """

    def __init__(self, path: str, source: bytes) -> None:
        """Raises BrokenSource where the grammar finds an error."""
        self._tree = parse(source)
        root = self._tree.root_node
        if root.has_error:
            raise BrokenSource(f"syntax error near line {error_line(root)}")
        self.source = source
        self._builder = Statements(source, package_of(path))
        self._bodies: dict[int, tuple[str, Node]] = {}
        self._built: dict[int, Block] = {}
        self.binds_inside: set[int] = set()
        self.too_deep: list[int] = []
        self._functions: list[Function] = []
        self._classes: list[Class] = []
        try:
            body = self._collect(root, "", 0, in_class=False)
        except RecursionError:
            raise BrokenSource("too deeply nested") from None
        self.outline = Outline(path, module_name(path), tuple(self._functions), tuple(self._classes), body)

    def body(self, line: int) -> Block:
        """The statements of the function whose `def` is on this line, docstring included."""
        built = self._built.get(line)
        if built is None:
            built = self._built[line] = self._build(line)
        return built

    def _build(self, line: int) -> Block:
        qualname, node = self._bodies[line]
        try:
            return self._block(node, qualname, line)
        except RecursionError:
            self.too_deep.append(line)
            return ()

    def segment(self, line: int) -> bytes:
        """The source of the body of the function whose `def` is on this line."""
        node = self._bodies[line][1]
        return self.source[node.start_byte : node.end_byte]

    def fingerprint(self, line: int) -> str:
        """What the function whose `def` is on this line says, as a hash; see `timing_audit.syntax.fingerprint`."""
        return fingerprint(self._bodies[line][1], self.source)

    def extent(self, line: int) -> tuple[int, int]:
        """First byte and the byte behind the last of the body of the function at this line."""
        node = self._bodies[line][1]
        return node.start_byte, node.end_byte

    def _collect(self, node: Node, owner: str, line: int, *, in_class: bool) -> Block:
        """Notes the definitions below a module or class body; gives back its own statements."""
        for child in node.named_children:
            self._visit(child, owner, in_class)
        return self._block(node, owner, line)

    def _block(self, node: Node, owner: str, line: int) -> Block:
        before = self._builder.bindings
        built = self._builder.block(node, owner)
        if self._builder.bindings > before:
            self.binds_inside.add(line)
        return built

    def _visit(self, node: Node, owner: str, in_class: bool) -> None:
        kind = node.type
        if kind == "decorated_definition":
            definition = node.child_by_field_name("definition")
            if definition is not None:
                self._define(definition, node, owner, in_class)
        elif kind in ("function_definition", "class_definition"):
            self._define(node, node, owner, in_class)
        elif kind in COMPOUND:
            for child in node.named_children:
                self._visit(child, owner, in_class)

    def _define(self, node: Node, outer: Node, owner: str, in_class: bool) -> None:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            return
        name = self._builder.text(name_node)
        qualname = f"{owner}.{name}" if owner else name
        decorators = tuple(
            Decorator(self._builder.build(child.named_children[0]), child.start_point.row + 1)
            for child in outer.named_children
            if child.type == "decorator"
        )
        if node.type == "class_definition":
            self._define_class(node, body, qualname, name, owner, decorators)
        else:
            self._define_function(node, outer, body, qualname, name, owner, in_class, decorators)

    def _define_class(
        self, node: Node, body: Node, qualname: str, name: str, owner: str, decorators: tuple[Decorator, ...]
    ) -> None:
        bases = node.child_by_field_name("superclasses")
        written = () if bases is None else tuple(
            self._builder.build(base) for base in bases.named_children
            if base.type not in ("keyword_argument", "comment")
        )  # fmt: skip
        place = len(self._classes)
        self._classes.append(Class(qualname, name, owner, *lines(node), written, decorators, (), ()))
        before = len(self._functions)
        statements = self._collect(body, qualname, node.start_point[0] + 1, in_class=True)
        methods = tuple(f.qualname for f in self._functions[before:] if f.owner == qualname)
        plain = tuple(s for s in statements if not isinstance(s, Nested) or s.is_class)
        self._classes[place] = self._classes[place]._replace(methods=methods, body=plain)

    def _define_function(
        self, node: Node, outer: Node, body: Node, qualname: str, name: str, owner: str,
        in_class: bool, decorators: tuple[Decorator, ...],
    ) -> None:  # fmt: skip
        line, end_line = lines(node)
        params = self._builder.params(node.child_by_field_name("parameters"))
        returns = node.child_by_field_name("return_type")
        self._functions.append(
            Function(
                qualname, name, owner, in_class, line, end_line, outer.start_point.row + 1, params,
                None if returns is None else self._builder.build(returns), decorators,
                node.children[0].type == "async",
            )
        )  # fmt: skip
        self._bodies[line] = (qualname, body)
        if (
            b"def " in self.source[body.start_byte : body.end_byte]
            or b"class " in self.source[body.start_byte : body.end_byte]
        ):
            for child in body.named_children:
                self._visit(child, qualname, in_class=False)


COMPOUND = frozenset(
    (
        "if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "finally_clause",
        "with_statement", "for_statement", "while_statement", "match_statement", "case_clause", "block",
    )
)  # fmt: skip


@cache
def language() -> Language:
    """The Python grammar, loaded once."""
    import tree_sitter_python

    return Language(tree_sitter_python.language())


def expression(text: str) -> Expr | None:
    """The expression that a string annotation holds; None where it is none."""
    root = parse(text.encode()).root_node
    if root.has_error or len(root.named_children) != 1 or root.named_children[0].type != "expression_statement":
        return None
    return Statements(text.encode(), "").build(root.named_children[0].named_children[0])


def parse(source: bytes) -> Tree:
    """The syntax tree of a source, which may hold errors."""
    return Parser(language()).parse(source)


def error_line(root: Node) -> int:
    """The 1-based line of the first error or missing node."""
    node = root
    while True:
        bad = next((child for child in node.children if child.has_error or child.is_missing), None)
        if bad is None:
            return node.start_point.row + 1
        node = bad


def module_name(path: str) -> str:
    """`sglang/srt/a.py` -> `sglang.srt.a`, `sglang/__init__.py` -> `sglang`."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(path: str) -> str:
    """The package that a relative import of one dot in this file starts from."""
    return ".".join(path.split("/")[:-1])
