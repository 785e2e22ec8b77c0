"""A target in memory: the real packs and the real program layer under the timing layer."""

from __future__ import annotations

from timing_audit.model.pack import CallRule, Packs
from timing_audit.model.program import ClassRef, ClassValue, Frame, FunctionRef, FunctionValue
from timing_audit.model.syntax import Function
from timing_audit.model.timing import BodyTiming, Bracket, ClassTiming, Purpose, Site, Wrapper
from timing_audit.packs.load import load_packs
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.library import Library
from timing_audit.timing.audit import Definition, Timing
from timing_audit.timing.classes import class_timing
from timing_audit.timing.names import Vocabulary, kept_results


class Sources:
    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.paths = sorted(files)

    def utf8(self, path: str) -> bytes:
        return self.files[path].encode()


PACKS = load_packs()


class Audit:
    """A whole target: `Audit("source")` for one file `m.py`, or a dict of files."""

    def __init__(self, files: str | dict[str, str], packs: Packs = PACKS) -> None:
        self.files = {"m.py": files} if isinstance(files, str) else files
        self.library = Library(Sources(self.files), ())
        known = [name for rule in packs.select(CallRule) for name in rule.calls]
        self.names = Evaluator(self.library, [*known, *kept_results(packs)])
        self.timing = Timing(self.names, Vocabulary(packs))
        self.functions: dict[tuple[str, str], Frame] = {}
        definitions = []
        for path in self.library._sources.paths:
            definitions += self._read(path)
        self.timing.learn([text.encode() for text in self.files.values()], definitions)

    def _read(self, path: str) -> list[Definition]:
        unit = self.library.unit(path)
        assert unit is not None
        lines = self.files[path].encode().split(b"\n")
        found = []
        for function in unit.outline.functions:
            value = self._value(path, function)
            self.functions[path, function.qualname] = self.names.frame_of(value)
            segment = b"\n".join(lines[function.first_line - 1 : function.end_line])
            found.append(Definition(value, function.name, segment))
        for cls in unit.outline.classes:
            segment = b"\n".join(lines[cls.line - 1 : cls.end_line])
            found.append(Definition(ClassValue(ClassRef(path, cls.qualname)), cls.name, segment))
        return found

    def _value(self, path: str, function: Function) -> FunctionValue:
        ref = FunctionRef(path, function.qualname, function.line)
        receiver = ClassRef(path, function.owner) if function.in_class else None
        return FunctionValue(ref, receiver, None)

    def module_frame(self, path: str) -> Frame:
        return Frame(path, None, None)

    def body(self, qualname: str, path: str = "m.py") -> BodyTiming:
        return self.timing.body(self.functions[path, qualname])

    def bodies(self, path: str = "m.py") -> list[BodyTiming]:
        return [self.timing.body(frame) for (file, _), frame in self.functions.items() if file == path]

    def of_class(self, qualname: str, path: str = "m.py") -> ClassTiming:
        cls = self.names.class_(ClassRef(path, qualname))
        return class_timing([self.body(method, path) for method in cls.methods])

    def wrapper(self, qualname: str, path: str = "m.py") -> tuple[Wrapper, ...]:
        frame = self.functions[path, qualname]
        assert frame.function is not None
        return self.timing.wrapper_of(FunctionValue(frame.function, frame.receiver, None))

    def wrapper_class(self, qualname: str, path: str = "m.py") -> tuple[Wrapper, ...]:
        return self.timing.wrapper_of(ClassValue(ClassRef(path, qualname)))


def pairs(body: BodyTiming) -> list[tuple[int, int]]:
    return [(bracket.start_line, bracket.end_line) for bracket in body.brackets]


def lines_of(bracket: Bracket) -> set[int]:
    return {line for start, end in bracket.covers for line in range(start, end + 1)}


def timing_sites(body: BodyTiming) -> list[tuple[int, str]]:
    return [(site.line, site.kind) for site in body.sites if site.purpose is Purpose.TIMING]


def site(body: BodyTiming, line: int) -> Site:
    (found,) = [site for site in body.sites if site.line == line]
    return found
