"""The launches of one side of a comparison, and what is measured of each cycle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

from timing_audit.runs.find import Run
from timing_audit.runs.model import NOT_MEASURED, Process
from timing_audit.runs.select import Chosen, choose
from timing_audit.runs.summarise import cycle_steps

CYCLE, PER_TOKEN, STEP, SEAMS, ACCEPTED = "cycle", "ms_per_token", "start_to_start", "seams", "tokens_per_cycle"
STAGES = ("verify", "draft", "draft_extend", "target_extend")


class Point(NamedTuple):
    """One cycle: its batch size, its times by metric, its tokens and the requests that they are for."""

    size: int
    times: dict[str, int]
    tokens: int
    requests: int


class Launch(NamedTuple):
    """One start of the engine."""

    name: str
    windows: int
    points: list[Point]


class Side(NamedTuple):
    """One side of a comparison."""

    name: str
    clock: str
    launches: list[Launch]
    facts: dict[str, str]


def read_side(name: str, run: Run, clock: str) -> Side:
    """The launches of a run, on one clock."""
    groups = group(run.processes)
    launches = [
        Launch(f"launch {number}", _windows(processes), [point for one in processes for point in _points(one, clock)])
        for number, processes in enumerate(groups, start=1)
    ]
    return Side(name, clock, [launch for launch in launches if launch.points], facts(run.processes[0]))


def has_stream_time(run: Run) -> bool:
    """Whether any cycle of the run has stream time."""
    return any(value != NOT_MEASURED for process in run.processes for value in process.cycles.stream)


def group(processes: Sequence[Process]) -> list[list[Process]]:
    """Processes by launch: one folder, one parent, and no rank twice."""
    found: dict[tuple[str, str], list[list[Process]]] = {}
    for process in sorted(processes, key=lambda one: (one.header.started_ns, one.name)):
        key = (str(PurePath(process.name).parent), process.header.launch or process.name)
        launches = found.setdefault(key, [])
        for launch in launches:
            if all(dict(one.header.ranks) != dict(process.header.ranks) for one in launch):
                launch.append(process)
                break
        else:
            launches.append([process])
    return [launch for launches in found.values() for launch in launches]


def facts(process: Process) -> dict[str, str]:
    """What the sides may differ in, by name."""
    header = process.header
    named = {"engine": header.engine_version, "worker": header.worker, "probes": header.manifest[:12]}
    for values in (header.server, header.environment, header.device):
        named.update({name: "unset" if value is None else str(value) for name, value in values.items()})
    return named


def _windows(processes: Sequence[Process]) -> int:
    return max(len(set(process.cycles.window)) for process in processes)


def _points(process: Process, clock: str) -> list[Point]:
    one = choose(process)
    cycles, times = process.cycles, _times(one, clock)
    steps = dict(cycle_steps(one))
    found = []
    for at, row in enumerate(one.rows):
        if times[CYCLE][at] == NOT_MEASURED:
            continue
        values = {name: column[at] for name, column in times.items() if column[at] != NOT_MEASURED}
        if row in steps:
            values[STEP] = steps[row]
        tokens = cycles.tokens[row] if cycles.tokens[row] != NOT_MEASURED else 0
        found.append(Point(cycles.size[row], values, tokens, cycles.requests[row] if tokens else 0))
    return found


def _times(one: Chosen, clock: str) -> dict[str, list[int]]:
    stream = clock == "stream"
    columns = {CYCLE: one.stream if stream else one.host, SEAMS: one.stream_seams if stream else one.host_seams}
    for sums in one.parts.values():
        probe = sums.part.probe
        if sums.part.parent or probe.stage not in STAGES:
            continue
        column = sums.stream if stream else sums.host
        before = columns.get(probe.stage)
        columns[probe.stage] = column if before is None else [_add(a, b) for a, b in zip(before, column, strict=True)]
    return columns


def _add(a: int, b: int) -> int:
    return NOT_MEASURED if NOT_MEASURED in (a, b) else a + b
