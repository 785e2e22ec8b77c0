"""A least fixpoint computed on demand.

A cell is a question (`what may attribute x of class C be?`) with a set of values that only grows.
Whoever reads a cell while computing another is computed again when the cell has grown, so the
answer does not depend on the order of the questions.

What is only written (annotations) or hinted speaks where nothing better is known. That can be told
only when everything is still, so it is told for all doubtful cells at once, level by level.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from timing_audit.model.program import NOTHING, Values
from timing_audit.program.values import joined

Key = tuple[Any, ...]
DEEPEST = 60
MOST_VALUES = 60
SCAN, EFFECTS = "scan", "effects"
WRITTEN, HINTED = 1, 2


class Cell:
    """What is known of one question, and which cells have read it.

    `place` is its place in the order in which cells were first computed: what a cell reads was
    computed before it. `trust` is the level up to which it believes what is not known, `doubt` the
    level that it needs.
    """

    __slots__ = ("busy", "doubt", "key", "place", "queued", "readers", "trust", "values")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.values: Values = NOTHING
        self.readers: set[Cell] = set()
        self.busy = False
        self.queued = False
        self.place = 0
        self.trust = 0
        self.doubt = 0


class Cells:
    """All cells, and the queue of those that are to be computed again, those that others read first."""

    def __init__(self, compute: Callable[[Key], Values]) -> None:
        self._compute = compute
        self._cells: dict[Key, Cell] = {}
        self._stack: list[Cell] = []
        self._queue: list[tuple[bool, int, Cell]] = []
        self._doubtful: set[Cell] = set()
        self._placed = 0
        self._grown = {SCAN: 0, EFFECTS: 0}

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

    def grown(self, kind: str) -> int:
        """How often cells of a kind, what bodies do or what they leave behind, have changed."""
        return self._grown[kind]

    def settle(self) -> None:
        """Computes until nothing changes; whole bodies are read again only when all values are still."""
        queue = self._queue
        while queue:
            cell = heappop(queue)[2]
            cell.queued = False
            self._run(cell)

    def mature(self) -> None:
        """Computes the values that are known to have changed; leaves whole bodies for later."""
        queue = self._queue
        while queue and not queue[0][0]:
            cell = heappop(queue)[2]
            cell.queued = False
            self._run(cell)

    def conclude(self) -> None:
        """Settles, and lets what is written or hinted speak where nothing else does, until all is still."""
        self.settle()
        while self.believe():
            self.settle()

    def trusts(self, level: int) -> bool:
        """Whether the cell that is being computed, which knows nothing better, may believe things of this level."""
        cell = self._stack[-1] if self._stack else None
        if cell is None or cell.trust >= level:
            return True
        if not cell.doubt or level < cell.doubt:
            cell.doubt = level
            self._doubtful.add(cell)
        return False

    def believe(self) -> bool:
        """When everything is still: lets all cells that need the lowest level believe; whether there was one."""
        doubtful = [cell for cell in self._doubtful if cell.doubt]
        level = min((cell.doubt for cell in doubtful), default=0)
        self._doubtful = {cell for cell in doubtful if cell.doubt > level}
        for cell in doubtful:
            if cell.doubt == level:
                cell.trust = level
                self._enqueue(cell)
        return bool(doubtful)

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
        cell.doubt = 0
        self._stack.append(cell)
        try:
            found = self._compute(cell.key)
        finally:
            self._stack.pop()
            cell.busy = False
        self._place(cell)
        if self._changes(cell, found):
            self._tell(cell)

    def _changes(self, cell: Cell, found: Values) -> bool:
        """Takes what was found. Values only grow; what a body does is read anew."""
        known = cell.values
        if cell.key[0] is SCAN:
            cell.values = found
            return found != known
        if found <= known or len(known) > MOST_VALUES:
            return False
        cell.values = joined(known | found)
        return cell.values != known

    def _tell(self, cell: Cell) -> None:
        kind = cell.key[0]
        if kind in self._grown:
            self._grown[kind] += 1
        for reader in cell.readers:
            self._enqueue(reader)
