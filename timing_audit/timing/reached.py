"""Which statements of a hot body run in which phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from timing_audit.model.program import Frame, FunctionRef
from timing_audit.model.syntax import Call, Stmt
from timing_audit.program.engine import DECODE, PHASES
from timing_audit.program.hotpath import Explorer
from timing_audit.program.phases import Phase
from timing_audit.program.walk import Walker
from timing_audit.timing.cycle import Cycle
from timing_audit.timing.lines import Lines


class _Reader(Walker):
    """A walk that remembers where it came by."""

    def __init__(self, explorer: Explorer, frame: Frame, phase: Phase) -> None:
        super().__init__(explorer.evaluator, explorer.phases, explorer.engine, frame, phase)
        self.lines: set[int] = set()

    def _statement(self, node: object) -> bool:
        self.lines.add(cast("Stmt", node).line)
        return super()._statement(node)


class Reached:
    """The first lines of the statements on the branches that a phase takes, over all states of a function."""

    def __init__(self, explorer: Explorer, cycle: Cycle, *, everywhere: bool = False) -> None:
        """With `everywhere`, every statement runs in decode."""
        self._everywhere = everywhere
        self._explorer = explorer
        self._cycle = cycle
        self._known: dict[tuple[FunctionRef, str], frozenset[int]] = {}
        self._walked: dict[tuple[Frame, Phase], _Reader] = {}

    def lines(self, ref: FunctionRef, phase: str) -> frozenset[int]:
        """The lines of one phase."""
        key = (ref, phase)
        if key not in self._known:
            states = [state for state in self._cycle.states.get(ref, ()) if state.phase.name == phase]
            ways = {self.way(state.frame, state.phase) for state in states}
            self._known[key] = frozenset().union(*(self._walk(frame, walked).lines for frame, walked in ways))
        return self._known[key]

    def phases(self, ref: FunctionRef, lines: Lines) -> tuple[str, ...]:
        """The phases in which any statement that starts on these lines runs."""
        if self._everywhere:
            return (DECODE,)
        wanted = range(lines.start, lines.end + 1)
        return tuple(phase for phase in PHASES if not self.lines(ref, phase).isdisjoint(wanted))

    def calls(self, frame: Frame, phase: Phase) -> Sequence[Call]:
        """The calls on the branches that the phase takes in a body."""
        return self._walk(*self.way(frame, phase)).calls

    def way(self, frame: Frame, phase: Phase) -> tuple[Frame, Phase]:
        """What is alike where the same statements of a body run."""
        return frame, self._explorer.read_as(frame, phase)

    def _walk(self, frame: Frame, phase: Phase) -> _Reader:
        reader = self._walked.get((frame, phase))
        if reader is None:
            reader = self._walked[frame, phase] = _Reader(self._explorer, frame, phase)
            if frame.function is not None:
                reader.run(self._explorer.library.body(frame.function))
        return reader
