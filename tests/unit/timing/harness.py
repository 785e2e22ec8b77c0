"""A target in memory and a small vocabulary: the real program layer under the timing layer."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from timing_audit.model.program import ClassRef, ClassValue, Frame, FunctionRef, FunctionValue, PartialValue
from timing_audit.model.syntax import Call, Function
from timing_audit.model.timing import BodyTiming, Bracket, Clock, ClassTiming, Purpose, Site, Wrapper
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.library import Library
from timing_audit.timing.audit import Definition, Timing
from timing_audit.timing.classes import class_timing


class Words(NamedTuple):
    """A rule that names calls."""

    id: str
    kind: str
    calls: tuple[str, ...]
    clock: Clock | None = None
    site: str = ""
    family: str = ""
    pair: str = ""
    pairing: str = ""
    timing_keyword: str = ""
    timing_position: int | None = None
    event_position: int | None = None


class Setter(NamedTuple):
    """A rule that names functions of the target."""

    id: str
    functions: tuple[str, ...]
    site: str
    clock: Clock | None = None
    name_position: int | None = None
    start: str = ""
    end: str = ""

    def matches(self, path: str, qualname: str) -> bool:
        return any(fnmatchcase(qualname.rpartition(".")[2], name) for name in self.functions)


def clock(name: str) -> Words:
    return Words(name, "clock-read", (name,), Clock.HOST, "clock_read", name)


DEVICE = Clock.DEVICE
RULES = (
    *map(clock, ("time.perf_counter", "time.monotonic", "time.monotonic_ns", "time.time", "timeit.default_timer")),
    Words("record-function", "span", ("torch.profiler.record_function", "sglang.srt.utils.nvtx_utils.profile_range"), Clock.TRACE, "record_function"),
    Words("nvtx-range", "span", ("nvtx.annotate", "torch.cuda.nvtx.range"), Clock.TRACE, "nvtx"),
    Words("torch-profiler", "span", ("torch.profiler.profile",), Clock.TRACE, "profiler"),
    Words("push", "open", ("torch.cuda.nvtx.range_push",), Clock.TRACE, "nvtx", pair="nvtx", pairing="stack"),
    Words("pop", "close", ("torch.cuda.nvtx.range_pop",), Clock.TRACE, "nvtx", pair="nvtx", pairing="stack"),
    Words("open-handle", "open", ("nvtx.start_range",), Clock.TRACE, "nvtx", pair="h", pairing="handle"),
    Words("close-handle", "close", ("nvtx.end_range",), Clock.TRACE, "nvtx", pair="h", pairing="handle"),
    Words(
        "device-event", "event-create", ("torch.*.Event",), DEVICE, "cuda_event_create",
        timing_keyword="enable_timing", timing_position=0,
    ),
    Words("any-event", "event-create", ("torch.Event",), DEVICE, "cuda_event_create", timing_keyword="enable_timing"),
    Words("record", "event-record", ("torch.*.Event().record", "torch.Event().record"), DEVICE, "cuda_event_record"),
    Words("elapsed", "event-elapsed", ("torch.*.Event().elapsed_time",), DEVICE, "cuda_event_elapsed"),
    Words("query", "event-query", ("torch.*.Event().query",), DEVICE),
    Words("wait", "event-synchronize", ("torch.*.Event().synchronize",), DEVICE, "synchronize"),
    Words("sync", "synchronize", ("torch.*.synchronize",), None, "synchronize"),
    Words("order", "ordering", ("torch.*.current_stream().wait_stream",), None, "synchronize"),
    Words("gate", "gate", ("torch.autograd._profiler_enabled",)),
    Words("hook", "metric-hook", ("prometheus_client.Histogram().observe",), None, "metric_hook"),
)  # fmt: skip
SETTERS = (
    Setter("by-name", ("set_time_batch",), "trace_span", Clock.TRACE, 1, "set_*_start_time", "set_*_end_time"),
)


class Vocabulary:
    """The rules above."""

    call_rules: Sequence[Words] = RULES
    setter_rules: Sequence[Setter] = SETTERS

    def match_call(self, name: str) -> Words | None:
        parts = name.split(".")
        for rule in RULES:
            for call in rule.calls:
                wanted = call.split(".")
                if len(wanted) == len(parts) and all(w in ("*", p) for w, p in zip(wanted, parts)):
                    return rule
        return None


class Sources:
    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.paths = sorted(files)

    def utf8(self, path: str) -> bytes:
        return self.files[path].encode()


class Names(Evaluator):
    """The program layer, with the one question that it does not answer yet."""

    def partial_call(self, value: PartialValue) -> Call | None:
        made = self.expressions.get(value.key)
        return made if isinstance(made, Call) else None


class Audit:
    """A whole target: `Audit("source")` for one file `m.py`, or a dict of files."""

    def __init__(self, files: str | dict[str, str]) -> None:
        self.files = {"m.py": files} if isinstance(files, str) else files
        self.library = Library(Sources(self.files), ())
        self.names = Names(self.library)
        self.timing = Timing(self.names, Vocabulary())
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
