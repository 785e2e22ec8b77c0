"""Rewriting plain expressions: parameters by arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timing_audit.model.syntax import Attr, Call, Const, Expr, Function, Name, Starred, Unary

GLOBAL = "::"


def substitute(expr: Expr, names: Mapping[str, Expr]) -> Expr:
    """The expression with some of its names replaced."""
    changed: Expr = _rebuild(expr, names)
    return changed


def _rebuild(node: Any, names: Mapping[str, Expr]) -> Any:
    if type(node) is Name:
        return names.get(node.id, node)
    if type(node) is tuple:
        return tuple(_rebuild(part, names) for part in node)
    if isinstance(node, tuple):
        return type(node)(*(_rebuild(part, names) if isinstance(part, tuple) else part for part in node))
    return node


def negate(expr: Expr) -> Expr:
    """`not expr`, without a double negation."""
    return expr.value if type(expr) is Unary and expr.op == "not" else Unary("not", expr)


def arguments(function: Function, call: Call, *, bound: bool) -> dict[str, Expr]:
    """What each parameter of the function is in this call; `bound` where the receiver is passed along."""
    params = [param for param in function.params if param.name]
    found: dict[str, Expr] = {param.name: param.default for param in params if param.default is not None}
    plain = [param.name for param in params if not param.kind]
    if bound and plain:
        found[plain.pop(0)] = call.func.value if type(call.func) is Attr else Const(None)
    for name, arg in zip(plain, call.args, strict=False):
        if type(arg) is Starred:
            break
        found[name] = arg
    found.update((keyword.name, keyword.value) for keyword in call.keywords if keyword.name)
    return found
