"""A least fixpoint computed on demand.

A cell is a question (`what may attribute x of class C be?`) with a set of values that only grows.
Whoever reads a cell while computing another is computed again when the cell has grown, so the
answer does not depend on the order of the questions.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from timing_audit.model.program import NOTHING, Values

Key = tuple[Any, ...]
DEEPEST = 60
MOST_VALUES = 60
SCAN = "scan"


class Cell:
    """What is known of one question, and which cells have read it.

    `place` is its place in the order in which cells were first computed: what a cell reads was
    computed before it.
    """

    __slots__ = ("busy", "key", "place", "queued", "readers", "values")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.values: Values = NOTHING
        self.readers: set[Cell] = set()
        self.busy = False
        self.queued = False
        self.place = 0


class Cells:
    """All cells, and the queue of those that are to be computed again, those that others read first."""

    def __init__(self, compute: Callable[[Key], Values]) -> None:
        self._compute = compute
        self._cells: dict[Key, Cell] = {}
        self._stack: list[Cell] = []
        self._queue: list[tuple[bool, int, Cell]] = []
        self._placed = 0
        self.growth = 0

    def read(self, key: Key) -> Values:
        """What is known of the cell by now; the reader is told when it grows."""
        return self.see(self._cells.get(key) or self.cell(key))

    def cell(self, key: Key) -> Cell:
        """The cell of a question, for those who ask again and again."""
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = Cell(key)
            if len(self._stack) < DEEPEST:
                self._run(cell)
            else:
                self._enqueue(cell)
        return cell

    def see(self, cell: Cell) -> Values:
        """What is known of a cell; the reader is told when it grows."""
        if self._stack:
            cell.readers.add(self._stack[-1])
        return cell.values

    def poke(self, key: Key) -> None:
        """Something that the cell depends on, other than a cell, has changed."""
        cell = self._cells.get(key)
        if cell is not None:
            self._enqueue(cell)

    def settle(self) -> None:
        """Computes until nothing changes; whole bodies are read again only when all values are still."""
        queue = self._queue
        while queue:
            cell = heappop(queue)[2]
            cell.queued = False
            self._run(cell)

    def ask(self, key: Key) -> Values:
        """The settled answer."""
        self.read(key)
        self.settle()
        return self._cells[key].values

    def _enqueue(self, cell: Cell) -> None:
        if not cell.queued:
            cell.queued = True
            heappush(self._queue, (cell.key[0] is SCAN, self._place(cell), cell))

    def _place(self, cell: Cell) -> int:
        if not cell.place:
            self._placed += 1
            cell.place = self._placed
        return cell.place

    def _run(self, cell: Cell) -> None:
        if cell.busy:
            self._enqueue(cell)
            return
        cell.busy = True
        self._stack.append(cell)
        try:
            found = self._compute(cell.key)
        finally:
            self._stack.pop()
            cell.busy = False
        self._place(cell)
        known = cell.values
        if found <= known or (len(known) > MOST_VALUES and cell.key[0] is not SCAN):
            return
        cell.values = known | found
        self.growth += 1
        for reader in cell.readers:
            self._enqueue(reader)
