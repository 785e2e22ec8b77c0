"""A run as plain data: processes, their cycles, and the parts of these, in columns of integers."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

NOT_MEASURED = -1
DECODE, PREFILL, IDLE, UNKNOWN = range(4)
PHASES = ("decode", "prefill", "idle", "unknown")
GRAPHS = ("unknown", "miss", "hit")


class Probe(NamedTuple):
    """A probe, as the file's header names it."""

    id: int
    name: str
    kind: str
    phase: str
    stage: str
    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Header:
    """What a process said of itself."""

    probes: Mapping[int, Probe]
    manifest: str
    engine: str
    engine_version: str
    pid: int
    host: str
    role: str
    launch: str
    worker: str
    ranks: Mapping[str, int]
    server: Mapping[str, object]
    environment: Mapping[str, object]
    device: Mapping[str, object]
    modes: tuple[str, ...]
    notes: tuple[str, ...]
    started_ns: int
    off_ps: int
    host_ps: int


class Counters(NamedTuple):
    """What the head of a file counts."""

    committed: int
    overwritten: int
    lost: int
    errors: int
    level: int
    own_ns: int
    cycles: int
    event_ns: int
    event_pairs: int
    perf_ns: int
    wall_ns: int


@dataclass(frozen=True)
class RunFile:
    """One file: its header, its records that are whole, and what is wrong with it."""

    name: str
    header: Header
    counters: Counters
    words: array[int]
    faults: tuple[str, ...] = ()


@dataclass
class Part:
    """The calls of one probe inside cycles, a row a call; columns of one length."""

    probe: Probe
    parent: int = 0
    cycle: array[int] = field(default_factory=lambda: array("q"))
    start: array[int] = field(default_factory=lambda: array("q"))
    host: array[int] = field(default_factory=lambda: array("q"))
    stream: array[int] = field(default_factory=lambda: array("q"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    raised: int = 0
    across: int = 0


@dataclass
class Cycles:
    """The cycles of one process, a row a cycle."""

    start: array[int] = field(default_factory=lambda: array("q"))
    host: array[int] = field(default_factory=lambda: array("q"))
    stream: array[int] = field(default_factory=lambda: array("q"))
    step: array[int] = field(default_factory=lambda: array("q"))
    phase: bytearray = field(default_factory=bytearray)
    size: array[int] = field(default_factory=lambda: array("q"))
    steps: array[int] = field(default_factory=lambda: array("q"))
    graph: bytearray = field(default_factory=bytearray)
    forward: array[int] = field(default_factory=lambda: array("q"))
    tokens: array[int] = field(default_factory=lambda: array("q"))
    requests: array[int] = field(default_factory=lambda: array("q"))
    window: array[int] = field(default_factory=lambda: array("q"))
    raised: int = 0


@dataclass
class Process:
    """One process of a run: its cycles and their parts."""

    name: str
    header: Header
    counters: Counters
    faults: tuple[str, ...]
    cycles: Cycles = field(default_factory=Cycles)
    parts: dict[int, Part] = field(default_factory=dict)
    outside: int = 0
    """Calls of probes outside any cycle: at start-up, while graphs are captured, in other threads."""

    @property
    def rank(self) -> str:
        """`TP3`, or `DP1 TP3`: how people name the process."""
        ranks = self.header.ranks
        named = [f"{word.upper()}{ranks[word]}" for word in ("dp", "pp", "tp") if word in ranks]
        return " ".join(named) or f"pid {self.header.pid}"
