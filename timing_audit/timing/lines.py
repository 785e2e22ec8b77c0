"""The statements of a body that can take time, as line ranges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from timing_audit.model.syntax import (
    Block, Call, Const, Evaluate, Expr, For, If, Import, Jump, Match, Nested, Return, Scope, Try, While, With,
)  # fmt: skip
from timing_audit.program.scopes import nodes


class Lines(NamedTuple):
    """Inclusive lines of one simple statement, or of the head of a compound one."""

    start: int
    end: int


def statement_lines(body: Block) -> list[Lines]:
    """Disjoint and in order; statements that share a line are one.

    Left out is what costs nothing: docstrings, imports, nested definitions, jumps, and returns that call nothing.
    """
    merged: list[Lines] = []
    for lines in sorted(_all(body)):
        if merged and lines.start <= merged[-1].end:
            merged[-1] = Lines(merged[-1].start, max(merged[-1].end, lines.end))
        else:
            merged.append(lines)
    return merged


def _all(body: Block) -> Iterator[Lines]:
    for statement in body:
        head = _head(statement)
        if head is not None:
            yield Lines(statement.line, max([statement.line, *(_last_line(expr) for expr in head)]))
        elif not _is_free(statement):
            yield Lines(statement.line, statement.end_line)
        for block in blocks(statement):
            yield from _all(block)


def _is_free(statement: object) -> bool:
    if isinstance(statement, (Import, Nested, Scope, Jump, Try)):
        return True
    if isinstance(statement, Evaluate):
        value: object = statement.value
        return isinstance(value, Const)
    if isinstance(statement, Return):
        return statement.value is None or not any(isinstance(node, Call) for node in nodes((statement.value,)))
    return False


def _head(statement: object) -> tuple[Expr, ...] | None:
    """The expressions that a compound statement evaluates itself; None for all others."""
    if isinstance(statement, (If, While)):
        return (statement.test,)
    if isinstance(statement, For):
        return (statement.iterable,)
    if isinstance(statement, With):
        return tuple(item.context for item in statement.items)
    return (statement.subject,) if isinstance(statement, Match) else None


def blocks(statement: object) -> tuple[Block, ...]:
    """The blocks of a compound statement, in order."""
    if isinstance(statement, (If, While, For)):
        return statement.body, statement.orelse
    if isinstance(statement, With):
        return (statement.body,)
    if isinstance(statement, Try):
        return (statement.body, *(handler.body for handler in statement.handlers), statement.orelse, statement.final)
    return tuple(case.body for case in statement.cases) if isinstance(statement, Match) else ()


def _last_line(expr: Expr) -> int:
    return max((node.end_line for node in nodes((expr,)) if isinstance(node, Call)), default=0)
