"""Timing helpers that nothing calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from timing_audit.evidence.mentions import Mentions, Named, defined_around_clocks
from timing_audit.evidence.spots import Spots
from timing_audit.model.evidence import UnusedTimer
from timing_audit.model.program import ClassRef, FunctionRef
from timing_audit.model.syntax import Class
from timing_audit.program.library import Unit, decorator_name, ref_of
from timing_audit.timing.describe import Facts

LONGEST_HELPER = 8000
PLAIN = ("contextmanager", "asynccontextmanager", "staticmethod", "classmethod", "wraps")


class Unused:
    """Searches the bytes of a whole tree; only what is never mentioned is parsed and judged."""

    def __init__(
        self, facts: Facts, spots: Spots, paths: Sequence[str], raw: Callable[[str], bytes], package: str
    ) -> None:
        self._facts = facts
        self._spots = spots
        self._paths = paths
        self._raw = raw
        self._whole = not package or f"{package}/__init__.py" in paths

    def found(self) -> Iterator[UnusedTimer]:
        """The helpers without a caller."""
        # Every file is looked at twice, and reading costs as much as looking.
        sources = {path: self._raw(path) for path in self._paths}
        candidates = [named for path, source in sources.items() for named in defined_around_clocks(path, source)]
        short = [named for named in candidates if named.end - named.start < LONGEST_HELPER]
        mentions = Mentions(short, sources.__getitem__)
        mentions.read(mentions.home)
        parsed = {unit.path: unit for unit in self._facts.library.units}
        judged: dict[Named, UnusedTimer] = {}
        for named in mentions.left:
            found = self._judged(parsed[named.path], named) if named.path in parsed else None
            if found is not None:
                judged[named] = found
            elif named.path in parsed:
                mentions.drop(named)
        mentions.read(self._paths)
        classes: set[str] = set()
        for named in mentions.left:
            unit = self._facts.library.unit(named.path)
            found = judged.get(named) or (self._judged(unit, named) if unit is not None else None)
            # The methods of a class that nothing mentions go without saying.
            if found is not None and f"{named.path} {found.name.rpartition('.')[0]}" not in classes:
                classes.update([f"{named.path} {found.name}"] if found.form == "class" else [])
                yield found

    def _judged(self, unit: Unit, named: Named) -> UnusedTimer | None:
        name = named.name.decode()
        line = unit.module.source.count(b"\n", 0, named.start) + 1
        for function in unit.outline.functions:
            if function.name == name and function.line == line:
                ref = ref_of(unit, function)
                form = self._form(unit, ref)
                spot = self._spots.of(ref, unit.path, line, function.end_line)
                return UnusedTimer(spot, function.qualname, form, self._whole) if form else None
        for cls in unit.outline.classes:
            if cls.name == name and cls.line == line:
                spot = self._spots.of(None, unit.path, line, cls.end_line)._replace(function=cls.qualname)
                return UnusedTimer(spot, cls.qualname, "class", self._whole) if self._times(unit, cls) else None
        return None

    def _times(self, unit: Unit, cls: Class) -> bool:
        """Whether objects of the class time for others: by `with`, or by a method."""
        methods = [f for f in unit.outline.functions if f.owner == cls.qualname and not f.name.startswith("__")]
        entered = any(
            found.ref == ClassRef(unit.path, cls.qualname) for found in self._facts.survey.inferred(unit.path)
        )
        return entered or any(self._form(unit, ref_of(unit, method)) for method in methods)

    def _form(self, unit: Unit, ref: FunctionRef) -> str:
        """How a function times for its callers; what another library decorates is called by that library."""
        decorators = unit.functions[ref.line].decorators
        if any(decorator_name(decorator.value) not in PLAIN for decorator in decorators):
            return ""
        return self._facts.survey.form(ref)
