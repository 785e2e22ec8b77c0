"""Walks and texts of plain syntax."""

from __future__ import annotations

from typing import Any

from timing_audit.model.syntax import (
    Attr, Await, Binary, Call, Compare, Conditional, Const, Display, Expr, FString, Keyword, Lambda, Logical,
    Mapping, Name, Starred, Subscript, Unary, Walrus, Yield,
)  # fmt: skip

from timing_audit.program.scopes import nodes

LONGEST_TEXT = 100


def holds_yield(root: tuple[Any, ...]) -> bool:
    """Whether a `yield` lies below, nested functions aside."""
    return any(type(node) is Yield for node in nodes(root))


def terminal(expr: Expr) -> str:
    """The last name of a dotted expression, empty for any other."""
    if type(expr) is Attr:
        return expr.name
    return expr.id if type(expr) is Name else ""


def root_name(expr: Expr) -> str:
    """The first name of a dotted, subscripted or called expression."""
    while not isinstance(expr, Name):
        if isinstance(expr, (Attr, Subscript)):
            expr = expr.value
        elif isinstance(expr, Call):
            expr = expr.func
        else:
            return ""
    return expr.id


def text(expr: Expr | None) -> str:
    """The expression as one line of source, normalised: for labels, gates and keys."""
    if expr is None:
        return ""
    written = _TEXTS[type(expr)](expr) if type(expr) in _TEXTS else "..."
    return written if len(written) <= LONGEST_TEXT else written[: LONGEST_TEXT - 3] + "..."


def _call(expr: Call) -> str:
    return f"{text(expr.func)}({', '.join([*map(text, expr.args), *map(_keyword, expr.keywords)])})"


def _keyword(expr: Keyword) -> str:
    return f"{expr.name}={text(expr.value)}" if expr.name else f"**{text(expr.value)}"


def _display(expr: Display) -> str:
    around = {"list": "[]", "tuple": "()", "set": "{}"}[expr.kind]
    return f"{around[0]}{', '.join(map(text, expr.items))}{around[1]}"


def _mapping(expr: Mapping) -> str:
    pairs = zip(expr.keys, expr.values, strict=True)
    return "{" + ", ".join(f"{text(key)}: {text(value)}" for key, value in pairs) + "}"


def _compare(expr: Compare) -> str:
    ops = [op.replace("-", " ") for op in expr.ops]
    rest = zip(ops, expr.items[1:], strict=False)
    return " ".join([text(expr.items[0]), *(f"{op} {text(item)}" for op, item in rest)])


def _logical(expr: Logical) -> str:
    return f" {expr.op} ".join(
        f"({text(side)})" if type(side) is Logical and side.op != expr.op else text(side)
        for side in (expr.left, expr.right)
    )


def _unary(expr: Unary) -> str:
    inner = f"({text(expr.value)})" if type(expr.value) in (Logical, Binary) else text(expr.value)
    return f"not {inner}" if expr.op == "not" else f"{expr.op}{inner}"


_TEXTS: dict[type, Any] = {
    Name: lambda expr: expr.id,
    Const: lambda expr: repr(expr.value),
    Attr: lambda expr: f"{text(expr.value)}.{expr.name}",
    Call: _call,
    Starred: lambda expr: f"*{text(expr.value)}",
    Subscript: lambda expr: f"{text(expr.value)}[{text(expr.key)}]",
    Display: _display,
    Mapping: _mapping,
    Lambda: lambda expr: "lambda",
    Binary: lambda expr: f"{text(expr.left)} {expr.op} {text(expr.right)}",
    Logical: _logical,
    Unary: _unary,
    Compare: _compare,
    Conditional: lambda expr: f"{text(expr.body)} if {text(expr.test)} else {text(expr.orelse)}",
    Walrus: lambda expr: f"{expr.target} := {text(expr.value)}",
    Await: lambda expr: f"await {text(expr.value)}",
    FString: lambda expr: expr.text or "f'...'",
}
