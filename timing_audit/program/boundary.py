"""Where the hot path ends, and which names the packs' globs mean."""

from __future__ import annotations

from fnmatch import fnmatchcase

from timing_audit.model.engine import Engine
from timing_audit.model.program import FunctionRef
from timing_audit.program.classes import is_stub
from timing_audit.program.library import Library


class Boundary:
    def __init__(self, library: Library, engine: Engine) -> None:
        self._library = library
        self._stops = (*engine.cold, *engine.capture)
        self._answers: dict[tuple[str, tuple[str, ...]], bool] = {}

    def stops(self, ref: FunctionRef) -> bool:
        """Whether a call of this function leaves the hot path: a leaf, a stub, cold or capture code."""
        if self._library.is_leaf_path(ref.path):
            return True
        return is_stub(self._library.function(ref)) or self.matches(ref.qualname, self._stops)

    def matches(self, name: str, globs: tuple[str, ...]) -> bool:
        """Whether a qualname or one of its tails (`Class.method`, `method`) is like one of the globs."""
        key = (name, globs)
        answer = self._answers.get(key)
        if answer is None:
            tails = [name[at:] for at in range(len(name)) if at == 0 or name[at - 1] == "."]
            answer = self._answers[key] = any(fnmatchcase(tail, glob) for glob in globs for tail in tails)
        return answer
