"""tree-sitter expression nodes -> `model.syntax` expressions."""

from __future__ import annotations

from collections.abc import Callable

from tree_sitter import Node

from timing_audit.model.syntax import (
    Attr, Await, Binary, Call, Clause, Compare, Comprehension, Conditional, Const, Display, Expr, FString,
    Keyword, Lambda, Logical, Mapping, Name, Opaque, Param, Starred, Subscript, Unary, Walrus, Yield,
)  # fmt: skip

LONGEST_FSTRING = 200
NONE = Const(None)


class Names(dict[str, Name]):
    """Names by their text, each made once: half of all nodes are names, and making one costs more than a look-up."""

    def __missing__(self, text: str) -> Name:
        made = self[text] = Name(text)
        return made


class Expressions:
    """Builds expressions of one file; `source` are the bytes that were parsed.

    `bindings` counts the expressions built so far that bind a name or yield: lambdas, `:=`, comprehensions, `yield`.
    A child by its place costs half of one by its field; where comments stand between the children, fields tell.
    """

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.bindings = 0
        self._names = Names()
        self._ascii = source.decode("ascii") if source.isascii() else None
        self._lines = None if self._ascii is not None else source.split(b"\n")

    def column(self, row: int, byte_column: int) -> int:
        """The 1-based character column of a byte column."""
        if self._lines is None:
            return byte_column + 1
        return len(self._lines[row][:byte_column].decode("utf-8", "replace")) + 1

    def text(self, node: Node) -> str:
        """The source text of a node."""
        if self._ascii is not None:
            return self._ascii[node.start_byte : node.end_byte]
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def build(self, node: Node) -> Expr:
        """The expression that a node stands for."""
        kind = node.type
        if kind == "identifier":
            return self._names[self.text(node)]
        maker = MAKERS.get(kind)
        return maker(self, node) if maker else self._opaque(node)

    def field(self, node: Node, name: str) -> Expr | None:
        """The expression in a field of the node; None where the field is empty."""
        child = node.child_by_field_name(name)
        return None if child is None else self.build(child)

    def required(self, node: Node, name: str) -> Expr:
        """The expression in a field of the node; the constant `None` where the field is empty."""
        return self.field(node, name) or NONE

    def parts(self, node: Node) -> tuple[Expr, ...]:
        """The expressions of the named children, without comments."""
        return tuple(self.build(child) for child in node.named_children if child.type != "comment")

    def params(self, node: Node | None) -> tuple[Param, ...]:
        """The parameters of a `def` or `lambda`; separators are left out."""
        found = []
        for child in node.named_children if node is not None else ():
            param = self._param(child)
            if param is not None:
                found.append(param)
        return tuple(found)

    def _param(self, node: Node) -> Param | None:
        kind = node.type
        if kind == "identifier":
            return Param(self.text(node), None, None, "")
        if kind in ("default_parameter", "typed_default_parameter"):
            name = node.child_by_field_name("name")
            return Param(self.text(name) if name else "", self.field(node, "type"), self.required(node, "value"), "")
        if kind == "typed_parameter":
            return self._typed_param(node)
        if kind in SPLATS:
            return Param(self.text(node).lstrip("* "), None, None, SPLATS[kind])
        return None

    def _typed_param(self, node: Node) -> Param:
        inner = node.named_children[0]
        return Param(self.text(inner).lstrip("* "), self.field(node, "type"), None, SPLATS.get(inner.type, ""))

    def _opaque(self, node: Node) -> Expr:
        return Opaque(self.parts(node))

    def _attribute(self, node: Node) -> Expr:
        if node.child_count == 3:
            return Attr(self.build(node.child(0)), self.text(node.child(2)))
        name = node.child_by_field_name("attribute")
        return Attr(self.required(node, "object"), self.text(name) if name else "")

    def _call(self, node: Node) -> Expr:
        plain = node.child_count == 2
        args: list[Expr] = []
        keywords: list[Keyword] = []
        arguments = node.child(1) if plain else node.child_by_field_name("arguments")
        if arguments is not None and arguments.type == "argument_list":
            for child in arguments.named_children:
                self._argument(child, args, keywords)
        elif arguments is not None:
            args.append(self.build(arguments))
        function = self.build(node.child(0)) if plain else self.required(node, "function")
        row, column = node.start_point
        return Call(
            function, tuple(args), tuple(keywords), row + 1, self.column(row, column), node.end_point[0] + 1
        )  # fmt: skip

    def _argument(self, node: Node, args: list[Expr], keywords: list[Keyword]) -> None:
        kind = node.type
        if kind == "identifier":
            args.append(self._names[self.text(node)])
        elif kind == "keyword_argument" and node.child_count == 3:
            keywords.append(Keyword(self.text(node.child(0)), self.build(node.child(2))))
        elif kind == "keyword_argument":
            name = node.child_by_field_name("name")
            keywords.append(Keyword(self.text(name) if name else "", self.required(node, "value")))
        elif kind == "dictionary_splat":
            keywords.append(Keyword("", self.build(node.named_children[0])))
        elif kind != "comment":
            args.append(self.build(node))

    def _starred(self, node: Node) -> Expr:
        return Starred(self.build(node.named_children[0]))

    def _subscript(self, node: Node) -> Expr:
        if node.child_count == 4:
            return Subscript(self.build(node.child(0)), self.build(node.child(2)))
        index = node.children_by_field_name("subscript")
        if len(index) == 1:
            return Subscript(self.required(node, "value"), self.build(index[0]))
        return Subscript(self.required(node, "value"), Display("tuple", tuple(map(self.build, index))))

    def _display(self, node: Node) -> Expr:
        return Display(DISPLAYS[node.type], self.parts(node))

    def _dictionary(self, node: Node) -> Expr:
        keys: list[Expr | None] = []
        values: list[Expr] = []
        for child in node.named_children:
            if child.type == "pair":
                keys.append(self.required(child, "key"))
                values.append(self.required(child, "value"))
            elif child.type == "dictionary_splat":
                keys.append(None)
                values.append(self.build(child.named_children[0]))
        return Mapping(tuple(keys), tuple(values))

    def _lambda(self, node: Node) -> Expr:
        self.bindings += 1
        return Lambda(self.params(node.child_by_field_name("parameters")), self.required(node, "body"))

    def _binary(self, node: Node) -> Expr:
        if node.child_count == 3:
            return Binary(self.text(node.child(1)), self.build(node.child(0)), self.build(node.child(2)))
        operator = node.child_by_field_name("operator")
        return Binary(
            self.text(operator) if operator else "", self.required(node, "left"), self.required(node, "right")
        )

    def _logical(self, node: Node) -> Expr:
        if node.child_count == 3:
            return Logical(self.text(node.child(1)), self.build(node.child(0)), self.build(node.child(2)))
        operator = node.child_by_field_name("operator")
        return Logical(
            self.text(operator) if operator else "", self.required(node, "left"), self.required(node, "right")
        )

    def _not(self, node: Node) -> Expr:
        return Unary("not", self.required(node, "argument"))

    def _unary(self, node: Node) -> Expr:
        return Unary(self.text(node.children[0]), self.required(node, "argument"))

    def _compare(self, node: Node) -> Expr:
        if node.child_count == 3:
            op = self.text(node.child(1))
            if op in SYMBOLS:
                return Compare((self.build(node.child(0)), self.build(node.child(2))), (op,))
        ops = " ".join(self.text(op) for op in node.children_by_field_name("operators"))
        return Compare(self.parts(node), tuple(ops.replace("is not", "is-not").replace("not in", "not-in").split()))

    def _conditional(self, node: Node) -> Expr:
        parts = self.parts(node)
        return Conditional(parts[1], parts[0], parts[2]) if len(parts) == 3 else Opaque(parts)

    def _walrus(self, node: Node) -> Expr:
        name = node.child_by_field_name("name")
        self.bindings += 1
        return Walrus(self.text(name) if name else "", self.required(node, "value"))

    def _await(self, node: Node) -> Expr:
        return Await(self.build(node.named_children[0]))

    def _yield(self, node: Node) -> Expr:
        parts = self.parts(node)
        self.bindings += 1
        return Yield(parts[0] if parts else None)

    def _inner(self, node: Node) -> Expr:
        parts = self.parts(node)
        return parts[0] if len(parts) == 1 else Opaque(parts)

    def _comprehension(self, node: Node) -> Expr:
        body, key = node.child_by_field_name("body"), None
        if body is not None and body.type == "pair":
            key, element = self.required(body, "key"), self.required(body, "value")
        else:
            element = self.build(body) if body is not None else NONE
        self.bindings += 1
        return Comprehension(COMPREHENSIONS[node.type], key, element, self._clauses(node))

    def _clauses(self, node: Node) -> tuple[Clause, ...]:
        clauses: list[Clause] = []
        for child in node.named_children:
            if child.type == "for_in_clause":
                clauses.append(Clause(self.required(child, "left"), self.required(child, "right"), ()))
            elif child.type == "if_clause" and clauses:
                last = clauses[-1]
                clauses[-1] = last._replace(conditions=(*last.conditions, *self.parts(child)))
        return tuple(clauses)

    def _generic(self, node: Node) -> Expr:
        """`Optional[X]` in an annotation, which the grammar tells from a subscript."""
        base, given = node.named_children[0], node.named_children[-1]
        args = tuple(self.build(child) for child in given.named_children)
        return Subscript(self.build(base), args[0] if len(args) == 1 else Display("tuple", args))

    def _union(self, node: Node) -> Expr:
        left, right = node.named_children[0], node.named_children[-1]
        return Binary("|", self.build(left), self.build(right))

    def _member(self, node: Node) -> Expr:
        return Attr(self.build(node.named_children[0]), self.text(node.named_children[-1]))

    def _string(self, node: Node) -> Expr:
        values = tuple(
            self.build(expression)
            for child in node.named_children
            if child.type == "interpolation"
            for expression in child.named_children[:1]
        )
        if values or self.source[node.start_byte : node.start_byte + 2].lower() in (b"f'", b'f"'):
            return FString(values, self.text(node) if node.end_byte - node.start_byte < LONGEST_FSTRING else "")
        return Const("".join(self.text(child) for child in node.named_children if child.type == "string_content"))

    def _strings(self, node: Node) -> Expr:
        parts = [self._string(child) for child in node.named_children if child.type == "string"]
        values = tuple(value for part in parts if isinstance(part, FString) for value in part.values)
        if any(isinstance(part, FString) for part in parts):
            return FString(values, "")
        return Const("".join(str(part.value) for part in parts if isinstance(part, Const)))

    def _integer(self, node: Node) -> Expr:
        try:
            return Const(int(self.text(node), 0))
        except ValueError:
            return Const(0)

    def _float(self, node: Node) -> Expr:
        try:
            return Const(float(self.text(node)))
        except ValueError:
            return Const(0.0)


SPLATS = {
    "list_splat_pattern": "*", "list_splat": "*", "dictionary_splat_pattern": "**", "dictionary_splat": "**",
}  # fmt: skip
SYMBOLS = frozenset(("<", "<=", "==", "!=", ">=", ">", "in", "is"))
DISPLAYS = {
    "list": "list", "tuple": "tuple", "set": "set", "expression_list": "tuple",
    "pattern_list": "tuple", "tuple_pattern": "tuple", "list_pattern": "list",
}  # fmt: skip
COMPREHENSIONS = {
    "list_comprehension": "list", "set_comprehension": "set",
    "dictionary_comprehension": "dict", "generator_expression": "generator",
}  # fmt: skip
MAKERS: dict[str, Callable[[Expressions, Node], Expr]] = {
    "attribute": Expressions._attribute,
    "call": Expressions._call,
    "list_splat": Expressions._starred,
    "list_splat_pattern": Expressions._starred,
    "parenthesized_list_splat": Expressions._inner,
    "subscript": Expressions._subscript,
    "dictionary": Expressions._dictionary,
    "lambda": Expressions._lambda,
    "binary_operator": Expressions._binary,
    "boolean_operator": Expressions._logical,
    "not_operator": Expressions._not,
    "unary_operator": Expressions._unary,
    "comparison_operator": Expressions._compare,
    "conditional_expression": Expressions._conditional,
    "named_expression": Expressions._walrus,
    "await": Expressions._await,
    "yield": Expressions._yield,
    "parenthesized_expression": Expressions._inner,
    "type": Expressions._inner,
    "generic_type": Expressions._generic,
    "union_type": Expressions._union,
    "member_type": Expressions._member,
    "string": Expressions._string,
    "concatenated_string": Expressions._strings,
    "integer": Expressions._integer,
    "float": Expressions._float,
    "true": lambda _builder, _node: Const(True),
    "false": lambda _builder, _node: Const(False),
    "none": lambda _builder, _node: NONE,
    "ellipsis": lambda _builder, _node: Opaque(()),
    **dict.fromkeys(DISPLAYS, Expressions._display),
    **dict.fromkeys(COMPREHENSIONS, Expressions._comprehension),
}
