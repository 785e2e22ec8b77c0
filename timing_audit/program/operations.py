"""What an expression may run, in order, and what a chain of attributes is made of."""

from __future__ import annotations

from typing import Any

from timing_audit.model.syntax import Attr, Call, Compare, Conditional, Logical, Name, Subscript

CONDITIONAL = (Conditional, Logical)
RUNNING = (Call, Attr, Subscript, Compare, *CONDITIONAL)


def list_operations(node: tuple[Any, ...], found: list[Any]) -> None:
    """Adds what a node or group of nodes may run; what stands behind a condition is left inside it."""
    if type(node) not in CONDITIONAL:
        for part in node:
            if isinstance(part, tuple):
                list_operations(part, found)
    if type(node) in RUNNING:
        found.append(node)


def chain(expr: Attr) -> tuple[str, tuple[str, ...]]:
    """`a.b.c` as `a` and the names behind it; an empty root where the expression is more than names."""
    names: list[str] = []
    inner: object = expr
    while isinstance(inner, Attr):
        names.append(inner.name)
        inner = inner.value
    return inner.id if isinstance(inner, Name) else "", tuple(reversed(names))
