"""Where a statement lies in a body, and which statements lie between two others."""

from __future__ import annotations

from typing import NamedTuple

from timing_audit.model.syntax import Block, Stmt, Try


class Step(NamedTuple):
    """One level of nesting: the branch of the statement above, and where in that branch."""

    branch: str
    at: int


Position = tuple[Step, ...]
Range = tuple[int, int]


def branch_of(stmt: Stmt, branch: str) -> Block:
    """A block of a compound statement by the name of its branch."""
    holder: object = stmt
    if branch.startswith("handler"):
        holder = getattr(stmt, "handlers")[int(branch[7:])]  # noqa: B009
    elif branch.startswith("case"):
        holder = getattr(stmt, "cases")[int(branch[4:])]  # noqa: B009
    block: Block = getattr(holder, branch if holder is stmt else "body")
    return block


class Tree:
    """A body whose statements are found by position."""

    def __init__(self, root: Block) -> None:
        self.root = root

    def block(self, position: Position, level: int) -> Block:
        """The block that holds the statement at `position[: level + 1]`."""
        block = self.root
        for depth in range(1, level + 1):
            block = branch_of(block[position[depth - 1].at], position[depth].branch)
        return block

    def statement(self, position: Position) -> Stmt:
        """The statement at a position."""
        return self.block(position, len(position) - 1)[position[-1].at]

    def _around(self, position: Position, depth: int) -> Try | None:
        """The `try` that directly holds a position at a depth."""
        if not depth:
            return None
        holder: object = self.statement(position[:depth])
        return holder if isinstance(holder, Try) else None

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
        after: list[Stmt] = self._after(start, level + 1)
        after.extend(self.block(start, level)[start[level].at + 1 :])
        before: list[Stmt] = list(self.block(end, level)[: end[level].at])
        before.extend(self._before(end, level + 1))
        return self._joined(start, end, level, after, before)

    def _joined(
        self, start: Position, end: Position, level: int, after: list[Stmt], before: list[Stmt]
    ) -> list[Stmt]:  # fmt: skip
        """What follows the start and what precedes the end, without counting anything twice."""
        if start[level].branch != end[level].branch:
            return after + self._from_branch_to_branch(start, level, end[level].branch) + before
        if start[level].at < end[level].at:
            rest = len(self.block(start, level)) - end[level].at
            return after[: len(after) - rest] + self._before(end, level + 1)
        return before + after

    def _from_branch_to_branch(self, start: Position, level: int, end: str) -> list[Stmt]:
        stmt = self._around(start, level)
        if stmt is not None and start[level].branch == "body" and end == "final":
            return list(stmt.orelse)
        return []

    def rest(self, position: Position, level: int) -> list[Stmt]:
        """What follows a statement inside the compound statement at `level` around it."""
        return self._after(position, level)

    def _after(self, position: Position, level: int) -> list[Stmt]:
        found: list[Stmt] = []
        for depth in range(len(position) - 1, level - 1, -1):
            found.extend(self.block(position, depth)[position[depth].at + 1 :])
            stmt = self._around(position, depth)
            if stmt is not None:
                if position[depth].branch == "body":
                    found.extend(stmt.orelse)
                if position[depth].branch != "final":
                    found.extend(stmt.final)
        return found

    def _before(self, position: Position, level: int) -> list[Stmt]:
        found: list[Stmt] = []
        for depth in range(level, len(position)):
            stmt = self._around(position, depth)
            if stmt is not None:
                if position[depth].branch in ("orelse", "final"):
                    found.extend(stmt.body)
                if position[depth].branch == "final":
                    found.extend(stmt.orelse)
            found.extend(self.block(position, depth)[: position[depth].at])
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
