"""Which statements of a hot body run in which phase."""

from __future__ import annotations

from collections.abc import Sequence

from timing_audit.model.program import Frame, FunctionRef
from timing_audit.model.syntax import Call
from timing_audit.program.engine import DECODE, PHASES
from timing_audit.program.hotpath import Explorer
from timing_audit.program.phases import Phase
from timing_audit.timing.cycle import Cycle
from timing_audit.timing.lines import Lines


class Reached:
    """The first lines of the statements on the branches that a phase takes, over all states of a function."""

    def __init__(self, explorer: Explorer, cycle: Cycle, *, everywhere: bool = False) -> None:
        """With `everywhere`, every statement runs in decode."""
        self._everywhere = everywhere
        self._explorer = explorer
        self._cycle = cycle
        self._known: dict[tuple[FunctionRef, str], frozenset[int]] = {}

    def lines(self, ref: FunctionRef, phase: str) -> frozenset[int]:
        """The lines of one phase."""
        key = (ref, phase)
        if key not in self._known:
            states = [state for state in self._cycle.states.get(ref, ()) if state.phase.name == phase]
            ways = {self.way(state.frame, state.phase) for state in states}
            self._known[key] = frozenset().union(*(self._explorer.walked(*way).lines for way in ways))
        return self._known[key]

    def phases(self, ref: FunctionRef, lines: Lines) -> tuple[str, ...]:
        """The phases in which any statement that starts on these lines runs."""
        if self._everywhere:
            return (DECODE,)
        wanted = range(lines.start, lines.end + 1)
        return tuple(phase for phase in PHASES if not self.lines(ref, phase).isdisjoint(wanted))

    def calls(self, frame: Frame, phase: Phase) -> Sequence[Call]:
        """The calls on the branches that the phase takes in a body."""
        return self._explorer.walked(*self.way(frame, phase)).calls

    def way(self, frame: Frame, phase: Phase) -> tuple[Frame, Phase]:
        """What is alike where the same statements of a body run."""
        return frame, self._explorer.read_as(frame, phase)
