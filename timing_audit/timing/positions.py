"""Where a statement lies in a body, and which statements lie between two others."""

from __future__ import annotations

from typing import NamedTuple

from timing_audit.model.syntax import Block, For, If, Match, Stmt, Try, While, With


class Step(NamedTuple):
    """One level of nesting: the branch of the statement above, and the place in that branch."""

    branch: str
    place: int


Position = tuple[Step, ...]
Range = tuple[int, int]


def branch_of(stmt: Stmt, branch: str) -> Block:
    """A block of a compound statement by the name of its branch."""
    if branch.startswith("handler") and type(stmt) is Try:
        return stmt.handlers[int(branch[7:])].body
    if branch.startswith("case") and type(stmt) is Match:
        return stmt.cases[int(branch[4:])].body
    block: Block = getattr(stmt, branch)
    return block


def blocks(stmt: Stmt) -> list[tuple[str, Block]]:
    """The blocks of a compound statement with the names of their branches."""
    if type(stmt) in (If, While, For):
        return [("body", stmt.body), ("orelse", stmt.orelse)]  # type: ignore[union-attr]
    if type(stmt) is With:
        return [("body", stmt.body)]
    if type(stmt) is Try:
        handlers = [(f"handler{place}", handler.body) for place, handler in enumerate(stmt.handlers)]
        return [("body", stmt.body), *handlers, ("orelse", stmt.orelse), ("final", stmt.final)]
    if type(stmt) is Match:
        return [(f"case{place}", case.body) for place, case in enumerate(stmt.cases)]
    return []


class Tree:
    """A body whose statements are found by position."""

    def __init__(self, root: Block) -> None:
        self.root = root

    def block(self, position: Position, level: int) -> Block:
        """The block that holds the statement at `position[: level + 1]`."""
        block = self.root
        for depth in range(1, level + 1):
            block = branch_of(block[position[depth - 1].place], position[depth].branch)
        return block

    def statement(self, position: Position) -> Stmt:
        """The statement at a position."""
        return self.block(position, len(position) - 1)[position[-1].place]

    def ancestors(self, position: Position) -> list[tuple[Stmt, str]]:
        """The compound statements around a position, outermost first, each with the branch taken."""
        return [(self.statement(position[:depth]), position[depth].branch) for depth in range(1, len(position))]

    def between(self, start: Position, end: Position) -> list[Stmt]:
        """The statements that run after `start` and before `end`, in the order of the source.

        Where `end` stands before `start` in a loop, the rest of the loop's body and its beginning.
        """
        level = 0
        while level < min(len(start), len(end)) and start[level] == end[level]:
            level += 1
        if level == len(start):
            return self._before(end, level)
        if level == len(end):
            return self._after(start, level)
        above, below = self._after(start, level + 1), self._before(end, level + 1)
        here, there = start[level], end[level]
        mine, theirs = self.block(start, level), self.block(end, level)
        if here.branch != there.branch:
            between = self._from_branch_to_branch(start, level, there.branch)
            return [*above, *mine[here.place + 1 :], *between, *theirs[: there.place], *below]
        if here.place < there.place:
            return [*above, *mine[here.place + 1 : there.place], *below]
        return [*theirs[: there.place], *below, *above, *mine[here.place + 1 :]]

    def _from_branch_to_branch(self, start: Position, level: int, end: str) -> Block:
        stmt = self.statement(start[:level]) if level else None
        return stmt.orelse if type(stmt) is Try and start[level].branch == "body" and end == "final" else ()

    def rest(self, position: Position, level: int) -> list[Stmt]:
        """What follows a statement inside the compound statement at `level` around it."""
        return self._after(position, level)

    def _after(self, position: Position, level: int) -> list[Stmt]:
        found: list[Stmt] = []
        for depth in range(len(position) - 1, level - 1, -1):
            found += self.block(position, depth)[position[depth].place + 1 :]
            if depth and type(stmt := self.statement(position[:depth])) is Try:
                branch = position[depth].branch
                found += stmt.orelse if branch == "body" else ()
                found += stmt.final if branch != "final" else ()
        return found

    def _before(self, position: Position, level: int) -> list[Stmt]:
        found: list[Stmt] = []
        for depth in range(level, len(position)):
            if depth and type(stmt := self.statement(position[:depth])) is Try:
                branch = position[depth].branch
                found += stmt.body if branch in ("orelse", "final") else ()
                found += stmt.orelse if branch == "final" else ()
            found += self.block(position, depth)[: position[depth].place]
        return found


def ranges(statements: list[Stmt]) -> tuple[Range, ...]:
    """The line ranges of statements, joined where they touch."""
    found: list[Range] = []
    for line, end_line in sorted((stmt.line, stmt.end_line) for stmt in statements):
        if found and line <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], end_line))
        else:
            found.append((line, end_line))
    return tuple(found)
