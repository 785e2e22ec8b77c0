"""Expressions back to short source text, for labels, gates and loop counts."""

from __future__ import annotations

from timing_audit.model.syntax import (
    Attr, Binary, Call, Compare, Const, Expr, FString, Logical, Name, Starred, Subscript, Unary,
)  # fmt: skip


def written(expr: Expr | None) -> str:
    """How the expression reads; `...` stands for parts that do not matter for a label."""
    if isinstance(expr, Name):
        return expr.id
    if isinstance(expr, Attr):
        return f"{written(expr.value)}.{expr.name}"
    if isinstance(expr, Const):
        return repr(expr.value)
    if isinstance(expr, Call):
        return f"{written(expr.func)}({', '.join(map(written, expr.args))})"
    if isinstance(expr, Subscript):
        return f"{written(expr.value)}[{written(expr.key)}]"
    return _compound(expr)


def _compound(expr: Expr | None) -> str:
    if isinstance(expr, (Binary, Logical)):
        return f"{written(expr.left)} {expr.op} {written(expr.right)}"
    if isinstance(expr, Unary):
        return f"{expr.op} {written(expr.value)}" if expr.op == "not" else f"{expr.op}{written(expr.value)}"
    if isinstance(expr, Compare):
        parts = [written(expr.items[0])]
        for op, item in zip(expr.ops, expr.items[1:], strict=False):
            parts += [op.replace("-", " "), written(item)]
        return " ".join(parts)
    if isinstance(expr, FString):
        return expr.text or 'f"..."'
    return f"*{written(expr.value)}" if isinstance(expr, Starred) else "..."
