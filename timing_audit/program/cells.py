"""A least fixpoint computed on demand.

A cell is a question (`what may attribute x of class C be?`) with a set of values that only grows.
Whoever reads a cell while computing another is computed again when the cell has grown, so the
answer does not depend on the order of the questions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from timing_audit.model.program import NOTHING, Values

Key = tuple[Any, ...]
DEEPEST = 60
MOST_VALUES = 60
SCAN = "scan"
# What many cells flow into waits until the cells that it reads are still.
LATER = {"dotted": 1, "called": 1, "returns": 1, "effects": 1, SCAN: 2}


class Cell:
    """What is known of one question, and which cells have read it."""

    __slots__ = ("busy", "queued", "readers", "values")

    def __init__(self) -> None:
        self.values: Values = NOTHING
        self.readers: set[Key] = set()
        self.busy = False
        self.queued = False


class Cells:
    """All cells, and the queues of those that are to be computed again."""

    def __init__(self, compute: Callable[[Key], Values]) -> None:
        self._compute = compute
        self._cells: dict[Key, Cell] = {}
        self._stack: list[Key] = []
        self._queues: tuple[deque[Key], ...] = (deque(), deque(), deque())
        self.growth = 0

    def read(self, key: Key) -> Values:
        """What is known of the cell by now; the reader is told when it grows."""
        cell = self._cells.get(key)
        fresh = cell is None
        if cell is None:
            cell = self._cells[key] = Cell()
        if self._stack:
            cell.readers.add(self._stack[-1])
        if fresh:
            if len(self._stack) < DEEPEST:
                self._run(key, cell)
            else:
                self._enqueue(key, cell)
        return cell.values

    def poke(self, key: Key) -> None:
        """Something that the cell depends on, other than a cell, has changed."""
        cell = self._cells.get(key)
        if cell is not None:
            self._enqueue(key, cell)

    def settle(self) -> None:
        """Computes until nothing changes; whole bodies are read again only when all values are still."""
        first, second, last = self._queues
        while first or second or last:
            key = (first or second or last).popleft()
            cell = self._cells[key]
            cell.queued = False
            self._run(key, cell)

    def ask(self, key: Key) -> Values:
        """The settled answer."""
        self.read(key)
        self.settle()
        return self._cells[key].values

    def _enqueue(self, key: Key, cell: Cell) -> None:
        if not cell.queued:
            cell.queued = True
            self._queues[LATER.get(key[0], 0)].append(key)

    def _run(self, key: Key, cell: Cell) -> None:
        if cell.busy:
            self._enqueue(key, cell)
            return
        cell.busy = True
        self._stack.append(key)
        try:
            found = self._compute(key)
        finally:
            self._stack.pop()
            cell.busy = False
        if found <= cell.values or (len(cell.values) > MOST_VALUES and key[0] != SCAN):
            return
        cell.values |= found
        self.growth += 1
        for reader in cell.readers:
            self._enqueue(reader, self._cells[reader])
