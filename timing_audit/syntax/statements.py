"""tree-sitter statement nodes -> `model.syntax` statements."""

from __future__ import annotations

from collections.abc import Callable

from tree_sitter import Node

from timing_audit.model.syntax import (
    Assign, Binding, Block, Case, Const, Display, Evaluate, Expr, For, Handler, If, Import, Jump, Match, Name,
    Nested, Opaque, Raise, Return, Scope, Stmt, Try, While, With, WithItem,
)  # fmt: skip
from timing_audit.syntax.expressions import NONE, Expressions


class Statements(Expressions):
    """Builds the statements of one file; `package` is the dotted package that relative imports start from."""

    def __init__(self, source: bytes, package: str) -> None:
        super().__init__(source)
        self.package = package

    def block(self, node: Node | None, owner: str) -> Block:
        """The statements of a block; `owner` is the qualname of the function or class around it."""
        if node is None:
            return ()
        found: list[Stmt] = []
        for child in node.named_children:
            maker = STATEMENTS.get(child.type)
            if maker is not None:
                found.extend(maker(self, child, owner))
            elif child.type not in ("comment", "ERROR"):
                found.append(Evaluate(Opaque(self.parts(child)), "", *lines(child)))
        return tuple(found)

    def _expression(self, node: Node, owner: str) -> Block:
        parts = node.named_children
        child = next((part for part in parts if part.type != "comment"), None)
        if child is None:
            return ()
        kind = child.type
        if kind == "assignment":
            return (self._assignment(child),)
        if kind == "augmented_assignment":
            operator = child.child_by_field_name("operator")
            op = self.text(operator) if operator else "+="
            return (Assign((self.required(child, "left"),), self.field(child, "right"), None, op, *lines(node)),)
        if len(parts) > 1:
            return (Evaluate(Display("tuple", self.parts(node)), "", *lines(node)),)
        return (Evaluate(self.build(child), "", *lines(node)),)

    def _assignment(self, node: Node) -> Assign:
        right = node.child(2) if node.child_count == 3 else None
        if right is not None and right.type not in ("assignment", "type"):
            return Assign((self.build(node.child(0)),), self.build(right), None, "", *lines(node))
        targets, value = [self.required(node, "left")], node.child_by_field_name("right")
        while value is not None and value.type == "assignment":
            targets.append(self.required(value, "left"))
            value = value.child_by_field_name("right")
        built = None if value is None else self.build(value)
        return Assign(tuple(targets), built, self.field(node, "type"), "", *lines(node))

    def _return(self, node: Node, owner: str) -> Block:
        parts = self.parts(node)
        return (Return(parts[0] if parts else None, *lines(node)),)

    def _raise(self, node: Node, owner: str) -> Block:
        parts = self.parts(node)
        return (Raise(parts[0] if parts else None, *lines(node)),)

    def _check(self, node: Node, owner: str) -> Block:
        kind = "assert" if node.type == "assert_statement" else "del"
        return (Evaluate(Opaque(self.parts(node)), kind, *lines(node)),)

    def _jump(self, node: Node, owner: str) -> Block:
        return (Jump(node.type.partition("_")[0], *lines(node)),)

    def _if(self, node: Node, owner: str) -> Block:
        orelse: Block = ()
        for branch in reversed(node.children_by_field_name("alternative")):
            if branch.type == "else_clause":
                orelse = self.block(branch.child_by_field_name("body"), owner)
            else:
                orelse = (self._branch(branch, orelse, owner),)
        return (self._branch(node, orelse, owner),)

    def _branch(self, node: Node, orelse: Block, owner: str) -> If:
        body = self.block(node.child_by_field_name("consequence"), owner)
        start, end = lines(node)
        return If(self.required(node, "condition"), body, orelse, start, max([end, *(s.end_line for s in orelse)]))

    def _orelse(self, node: Node, owner: str) -> Block:
        clause = node.child_by_field_name("alternative")
        return self.block(clause.child_by_field_name("body"), owner) if clause is not None else ()

    def _while(self, node: Node, owner: str) -> Block:
        body = self.block(node.child_by_field_name("body"), owner)
        return (While(self.required(node, "condition"), body, self._orelse(node, owner), *lines(node)),)

    def _for(self, node: Node, owner: str) -> Block:
        body = self.block(node.child_by_field_name("body"), owner)
        target, iterable = self.required(node, "left"), self.required(node, "right")
        return (For(target, iterable, body, self._orelse(node, owner), *lines(node)),)

    def _with(self, node: Node, owner: str) -> Block:
        items = []
        for clause in node.named_children:
            if clause.type == "with_clause":
                items = [item for part in clause.named_children for item in self._with_item(part)]
        return (With(tuple(items), self.block(node.child_by_field_name("body"), owner), *lines(node)),)

    def _with_item(self, node: Node) -> list[WithItem]:
        value = node.child_by_field_name("value") if node.type == "with_item" else None
        if value is None:
            return []
        if value.type in ("tuple", "parenthesized_expression") and any(
            part.type == "as_pattern" for part in value.named_children
        ):
            return [self._context(part) for part in value.named_children if part.type != "comment"]
        if value.type == "tuple":
            return [self._context(part) for part in value.named_children if part.type != "comment"]
        return [self._context(value)]

    def _context(self, node: Node) -> WithItem:
        context, target = self._as_pattern(node)
        start = node.start_point
        return WithItem(context, target, start.row + 1, self.column(start.row, start.column))

    def _as_pattern(self, node: Node) -> tuple[Expr, Expr | None]:
        if node.type != "as_pattern":
            return self.build(node), None
        target = node.child_by_field_name("alias")
        inner = target.named_children[0] if target is not None and target.named_children else target
        return self.build(node.named_children[0]), None if inner is None else self.build(inner)

    def _try(self, node: Node, owner: str) -> Block:
        handlers, orelse, final = [], (), ()  # type: list[Handler], Block, Block
        for child in node.named_children:
            if child.type in ("except_clause", "except_group_clause"):
                handlers.append(self._handler(child, owner))
            elif child.type == "else_clause":
                orelse = self.block(child.child_by_field_name("body"), owner)
            elif child.type == "finally_clause":
                final = self.block(child.named_children[-1], owner)
        body = self.block(node.child_by_field_name("body"), owner)
        return (Try(body, tuple(handlers), orelse, final, *lines(node)),)

    def _handler(self, node: Node, owner: str) -> Handler:
        caught: Expr | None = None
        name = ""
        body: Block = ()
        for child in node.named_children:
            if child.type == "block":
                body = self.block(child, owner)
            elif child.type == "as_pattern":
                caught, target = self._as_pattern(child)
                name = target.id if isinstance(target, Name) else ""
            elif child.type != "comment" and caught is None:
                caught = self.build(child)
            elif child.type == "identifier":
                name = self.text(child)
        return Handler(caught, name, body, node.start_point.row + 1)

    def _match(self, node: Node, owner: str) -> Block:
        body = node.child_by_field_name("body")
        clauses = body.named_children if body is not None else ()
        cases = [self._case(clause, owner) for clause in clauses if clause.type == "case_clause"]
        subjects = node.children_by_field_name("subject")
        subject = self.build(subjects[0]) if subjects else NONE
        return (Match(subject, tuple(cases), *lines(node)),)

    def _case(self, node: Node, owner: str) -> Case:
        patterns = tuple(self.build(c) for c in node.named_children if c.type == "case_pattern")
        guard = node.child_by_field_name("guard")
        body = self.block(node.child_by_field_name("consequence"), owner)
        return Case(
            Opaque(patterns), None if guard is None else Opaque(self.parts(guard)), body, node.start_point.row + 1
        )

    def _import(self, node: Node, owner: str) -> Block:
        found = []
        for child in node.children_by_field_name("name"):
            if child.type == "aliased_import":
                name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
                if name is not None and alias is not None:
                    found.append(Binding(self.text(alias), self.text(name), ""))
            else:
                top = self.text(child).partition(".")[0]
                found.append(Binding(top, top, ""))
                if top != self.text(child):
                    found.append(Binding("", self.text(child), ""))
        return (Import(tuple(found), *lines(node)),)

    def _import_from(self, node: Node, owner: str) -> Block:
        origin = node.child_by_field_name("module_name")
        module = "__future__" if origin is None else self._module_name(self.text(origin))
        found = []
        for child in node.children_by_field_name("name"):
            name, alias = child, child
            if child.type == "aliased_import":
                name, alias = child.child_by_field_name("name") or child, child.child_by_field_name("alias") or child
            found.append(Binding(self.text(alias), module, self.text(name)))
        if any(child.type == "wildcard_import" for child in node.named_children):
            found.append(Binding("*", module, "*"))
        return (Import(tuple(found), *lines(node)),)

    def _module_name(self, written: str) -> str:
        name = written.lstrip(". ")
        level = written[: len(written) - len(name)].count(".")
        if not level:
            return name
        base = self.package.split(".") if self.package else []
        base = base[: len(base) - level + 1] if level > 1 else base
        return ".".join([*base, *([name] if name else [])])

    def _scope(self, node: Node, owner: str) -> Block:
        return (Scope(tuple(self.text(name) for name in node.named_children), *lines(node)),)

    def _nested(self, node: Node, owner: str) -> Block:
        definition = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
        name = definition.child_by_field_name("name") if definition is not None else None
        if definition is None or name is None:
            return ()
        text = self.text(name)
        is_class = definition.type == "class_definition"
        return (Nested(text, f"{owner}.{text}" if owner else text, is_class, *lines(node)),)

    def _print(self, node: Node, owner: str) -> Block:
        return (Evaluate(Const(None), "", *lines(node)),)


def lines(node: Node) -> tuple[int, int]:
    """First and last line of a node; one that ends just behind a newline ends on the line before."""
    row, column = node.end_point
    return node.start_point[0] + 1, row + 1 if column else row


STATEMENTS: dict[str, Callable[[Statements, Node, str], Block]] = {
    "expression_statement": Statements._expression,
    "return_statement": Statements._return,
    "raise_statement": Statements._raise,
    "assert_statement": Statements._check,
    "delete_statement": Statements._check,
    "pass_statement": Statements._jump,
    "break_statement": Statements._jump,
    "continue_statement": Statements._jump,
    "if_statement": Statements._if,
    "while_statement": Statements._while,
    "for_statement": Statements._for,
    "with_statement": Statements._with,
    "try_statement": Statements._try,
    "match_statement": Statements._match,
    "import_statement": Statements._import,
    "import_from_statement": Statements._import_from,
    "future_import_statement": Statements._print,
    "global_statement": Statements._scope,
    "nonlocal_statement": Statements._scope,
    "function_definition": Statements._nested,
    "class_definition": Statements._nested,
    "decorated_definition": Statements._nested,
    "type_alias_statement": Statements._print,
}
