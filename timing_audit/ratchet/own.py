"""What one file shows of its own timers: nothing else is parsed, other files' wrappers are taken from records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from timing_audit.model.baseline import Identity, OwnTimer, WrapperRecord
from timing_audit.model.pack import Packs
from timing_audit.model.program import FunctionRef
from timing_audit.model.source import Skipped
from timing_audit.model.syntax import Assign, Call, Name
from timing_audit.model.timing import Bracket
from timing_audit.program.engine import Engine
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.library import Library, Unit, UnreadableError, ref_of
from timing_audit.program.scopes import nodes
from timing_audit.ratchet.stubs import stubs, with_primitives
from timing_audit.timing.names import kept_results
from timing_audit.timing.regions import contains
from timing_audit.timing.survey import Survey
from timing_audit.timing.walk import terminal, text


class _Sources:
    """One real file and the stubs."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts

    @property
    def paths(self) -> Sequence[str]:
        return sorted(self._texts)

    def utf8(self, path: str) -> bytes:
        if path not in self._texts:
            raise UnreadableError("gone")
        return self._texts[path]


class OwnFile:
    """One file: fingerprints cost a parse, all else is worked out when it is asked for."""

    def __init__(self, path: str, data: bytes, wrappers: Iterable[WrapperRecord], packs: Packs) -> None:
        """`data` is the file's text in UTF-8, `path` its name from the import root."""
        texts = {file: stub for file, stub in stubs(wrappers).items() if file != path}
        self.path = path
        self._packs = with_primitives(packs)
        engine = Engine(self._packs)
        self._library = Library(_Sources({**texts, path: data}), ())
        self._names = Evaluator(self._library, (*engine.calls, *kept_results(self._packs)))
        self._library.on_unit = self._on_unit
        self._unit = self._library.unit(path)
        self._stubs = sorted(texts)

    def _on_unit(self, unit: Unit) -> None:
        self._names.attributes.want_again(unit)
        self._names.classes.note(unit)

    @property
    def problem(self) -> Skipped | None:
        """Why the file cannot be parsed."""
        return next((Skipped(*problem) for problem in self._library.problems), None)

    def fingerprints(self) -> dict[Identity, set[str]]:
        """What the functions of the file say, as hashes; more than one where a name is defined more than once."""
        found: dict[Identity, set[str]] = {}
        for ref in self._functions():
            known = found.setdefault(Identity(self.path, ref.qualname), set())
            known.add(self._unit.module.fingerprint(ref.line) if self._unit is not None else "")
        return found

    def lines(self) -> dict[Identity, int]:
        """Where the functions of the file are defined, the first of each name."""
        return {Identity(self.path, ref.qualname): ref.line for ref in reversed(self._functions())}

    def timers(self) -> dict[Identity, tuple[OwnTimer, ...]]:
        """The brackets that the functions' own bodies and decorators hold."""
        survey = self._survey
        found: dict[Identity, tuple[OwnTimer, ...]] = {}
        for ref, body in survey.read([self.path], {}).items():
            timers = tuple(self._timer(ref, bracket) for bracket in body.brackets if bracket.covers)
            identity = Identity(self.path, ref.qualname)
            if timers and not survey.wrapper(ref):
                found[identity] = tuple(sorted({*found.get(identity, ()), *timers}))
        return found

    def calls(self) -> dict[Identity, Counter[str]]:
        """How often each function makes which call, as it is written."""
        found: dict[Identity, Counter[str]] = {}
        for ref in self._functions():
            counts = found.setdefault(Identity(self.path, ref.qualname), Counter())
            counts.update(text(call.func) for call in self._calls(ref))
        return found

    def wrappers(self) -> dict[Identity, WrapperRecord]:
        """The wrappers that the file defines; `gate` is what this file says of it."""
        found = {}
        for inferred in self._survey.inferred(self.path):
            identity = Identity(self.path, inferred.ref.qualname)
            clocks = tuple(dict.fromkeys(measure.clock.value for measure in inferred.measures))
            first = inferred.measures[0]
            found[identity] = WrapperRecord(identity, clocks, tuple(sorted(first.forms)), first.gate)
        return found

    def aliases(self) -> dict[str, set[str]]:
        """By a name of the module, the other names that it binds to it or to a `partial` of it."""
        found: dict[str, set[str]] = {}
        for statement in self._unit.outline.body if self._unit is not None else ():
            target, bound = _binding(statement)
            if target and bound:
                found.setdefault(bound, set()).add(target)
        return found

    @cached_property
    def _survey(self) -> Survey:
        for path in self._stubs:
            self._library.unit(path)
        return Survey(self._library, self._names, self._packs)

    def _functions(self) -> list[FunctionRef]:
        unit = self._unit
        return [] if unit is None else [ref_of(unit, function) for function in unit.outline.functions]

    def _calls(self, ref: FunctionRef) -> Iterator[Call]:
        return (node for node in nodes(self._library.body(ref)) if isinstance(node, Call))

    def _timer(self, ref: FunctionRef, bracket: Bracket) -> OwnTimer:
        inside = (c for c in self._calls(ref) if contains(bracket, c.line, c.end_line, c.column))
        return OwnTimer(bracket.clock.value, bracket.gate, bracket.label, tuple(sorted(text(c.func) for c in inside)))


def _binding(statement: object) -> tuple[str, str]:
    """Of `x = y` or `x = partial(y, ...)` both names; empty for anything else."""
    if not isinstance(statement, Assign) or len(statement.targets) != 1:
        return "", ""
    target: object = statement.targets[0]
    value: object = statement.value
    if isinstance(value, Call) and terminal(value.func) == "partial" and value.args:
        value = value.args[0]
    if isinstance(target, Name) and isinstance(value, Name):
        return target.id, value.id
    return "", ""
