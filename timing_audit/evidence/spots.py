"""Where evidence lies: lines of a file with their function, its stage and the phase in which they run."""

from __future__ import annotations

from timing_audit.model.evidence import Spot
from timing_audit.model.program import FunctionRef
from timing_audit.timing.describe import Describer, Facts, leading_state

NO_TIMING_PHASE = "other"
OUTSIDE = "init"


class Spots:
    """Makes spots of one run."""

    def __init__(self, facts: Facts, describer: Describer) -> None:
        self._facts = facts
        self._describer = describer

    def of(self, ref: FunctionRef | None, file: str, line: int, end_line: int = 0) -> Spot:
        """The spot of some lines of a function, or of a module's own statements."""
        end = max(line, end_line)
        if ref is None:
            return Spot(file, line, end, "", None, OUTSIDE)
        return Spot(file, line, end, ref.qualname, self._stage(ref), self.phase(ref, line, end))

    def phase(self, ref: FunctionRef, line: int, end_line: int) -> str:
        """The phase of some lines of a function."""
        if ref in self._facts.bodies:
            return self._describer.phase_at(ref, line, end_line)
        return NO_TIMING_PHASE

    def _stage(self, ref: FunctionRef) -> str | None:
        states = self._facts.cycle.states.get(ref, ()) if self._facts.roles.role(ref) == "hot" else ()
        if not states:
            return None
        return self._facts.cycle.path.labels.get(ref) or leading_state(states).stage or None
