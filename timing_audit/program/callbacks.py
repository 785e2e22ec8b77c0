"""Call-backs into the cycle from behind the path's boundary.

Model code is not followed, but attention backends ask the batch's speculative input for its
arguments. A leaf file that mentions a package which holds a draft, and calls something there that
nothing else reaches, is read after all; what in it leads to such a call may be entered by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from timing_audit.model.program import ClassRef, Frame, FunctionRef
from timing_audit.program.engine import Engine
from timing_audit.program.library import Library, Unit, ref_of

SHORTEST_NAME = 6
COLLECTION_METHODS = frozenset(name for kind in (dict, list, set, str) for name in dir(kind))


class Callbacks:
    """Finds the leaf files that call back, and opens them."""

    def __init__(self, library: Library, engine: Engine) -> None:
        self._library = library
        self._engine = engine

    def open(self, reached: Iterable[FunctionRef]) -> dict[str, list[Frame]]:
        """Opens the leaf files that call back; gives the frames in them that may be entered, by method name."""
        known = set(reached)
        packages = {ref.path.rpartition("/")[0] for ref in known if self._drafts(ref)}
        wanted = sorted(self._unreached(packages, known))
        if not wanted:
            return {}
        found: dict[str, list[Frame]] = {}
        calls = re.compile(rb"\b(?:%b)\(" % b"|".join(name.encode() for name in wanted))
        for path in self._mentioning(packages):
            if calls.search(self._library.source(path)):
                self._library.open(path)
                unit = self._library.unit(path)
                for function in [] if unit is None else relevant(unit, calls):
                    self._enter(unit, function, found)
        return found

    def _drafts(self, ref: FunctionRef) -> bool:
        return any(rule.stage == "draft" and rule.matches(ref.path, ref.qualname) for rule in self._engine.stages)

    def _unreached(self, packages: set[str], known: set[FunctionRef]) -> set[str]:
        return {
            function.name
            for unit in self._library.units
            if unit.path.rpartition("/")[0] in packages
            for function in unit.outline.functions
            if len(function.name) >= SHORTEST_NAME and not function.name.startswith("__")
            if ref_of(unit, function) not in known
        }

    def _mentioning(self, packages: set[str]) -> list[str]:
        names = [package.replace("/", ".").encode() for package in sorted(packages)]
        return [
            path for path in self._library.leaf_paths() if any(name in self._library.source(path) for name in names)
        ]

    def _enter(self, unit: Unit | None, line: int, found: dict[str, list[Frame]]) -> None:
        if unit is None:
            return
        function = unit.functions[line]
        if function.in_class and function.name not in COLLECTION_METHODS:
            frame = Frame(unit.path, ref_of(unit, function), ClassRef(unit.path, function.owner))
            found.setdefault(function.name, []).append(frame)


def relevant(unit: Unit, calls: re.Pattern[bytes]) -> list[int]:
    """The lines of the functions that make one of the calls, themselves or through others of the file."""
    found: set[int] = set()
    pattern: re.Pattern[bytes] | None = calls
    while pattern is not None:
        new = {line for line in unit.functions if line not in found and pattern.search(unit.module.segment(line))}
        found |= new
        names = sorted({unit.functions[line].name for line in new} - {"__init__"})
        pattern = re.compile(rb"\.(?:%b)\(" % b"|".join(name.encode() for name in names)) if names else None
    return sorted(found)
