"""A run -> what its report says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from timing_audit.runs.find import Run
from timing_audit.runs.model import GRAPHS, NOT_MEASURED, Probe, Process
from timing_audit.runs.report import RankRow, Row, RunReport, Stratum
from timing_audit.runs.select import Chosen, choose
from timing_audit.runs.statistics import Interval, median, quantiles, ratio
from timing_audit.runtime.ring import NO_OFFSET

ARGUMENTS = (
    "model_path", "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk",
    "speculative_num_draft_tokens", "tp_size", "dp_size", "pp_size", "ep_size", "attention_backend",
)  # fmt: skip
PAUSE_NS = 1_000_000_000
SERIES, CLASSES = 200, 40
STAGE_WORDS = {"verify": "target verify", "draft": "draft", "draft_extend": "draft extend"}


class Columns(NamedTuple):
    """One line of the table before it is summed up: a value a cycle, and a value a call."""

    host: list[int]
    stream: list[int]
    host_calls: list[int]
    stream_calls: list[int]


def summarise(run: Run, places: Sequence[str] = (), last: int | None = None) -> RunReport:
    """The report of a run's decode cycles."""
    return _Summary(run, list(places), last).report()


class _Summary:
    def __init__(self, run: Run, places: list[str], last: int | None) -> None:
        self._run = run
        self._places = places
        self._chosen = [choose(process, last) for process in run.processes]
        self._streamed = any(value != NOT_MEASURED for one in self._chosen for value in one.stream)
        self._whole = [_whole(one) for one in self._chosen]

    def report(self) -> RunReport:
        processes = self._run.processes
        header = processes[0].header
        rows = self._rows()
        steps = [step for one in self._chosen for _, step in cycle_steps(one)]
        tokens = self._tokens()
        start_to_start = quantiles(steps)
        cycle = rows[0].stream or rows[0].host
        pace = start_to_start.mean if start_to_start is not None else cycle.mean if cycle is not None else 0
        bound, headroom = self._bound(rows[0])
        own, share = self._own(pace)
        series = [value for one in self._chosen for value in self._leading(one)]
        return RunReport(
            engine=header.engine,
            engine_version=header.engine_version,
            worker=header.worker,
            manifest=header.manifest,
            arguments=tuple((name, _word(header.server[name])) for name in ARGUMENTS if name in header.server),
            device=tuple((name, _word(value)) for name, value in header.device.items()),
            clock="stream" if self._streamed else "host",
            launches=len({process.header.launch or process.name for process in processes}),
            windows=sum(len({one.process.cycles.window[row] for row in one.rows}) for one in self._chosen[:1]),
            cycles=sum(len(one.rows) for one in self._chosen),
            set_apart=_totals(one.apart for one in self._chosen),
            rows=tuple(rows),
            start_to_start=start_to_start,
            tokens_per_cycle=tokens,
            ms_per_token=pace / 1e6 / tokens if tokens else None,
            bound=bound,
            headroom_ns=headroom,
            strata=tuple(self._strata()),
            ranks=tuple(_rank(one) for one in self._chosen),
            ranks_expected=_expected(processes),
            ranks_missing=_missing(processes),
            overwritten=sum(process.counters.overwritten for process in processes),
            lost=sum(process.counters.lost for process in processes),
            errors=sum(process.counters.errors for process in processes),
            own_ns_per_cycle=own,
            own_share=share,
            outside=sum(process.outside for process in processes),
            faults=(
                *((process.name, fault) for process in processes for fault in process.faults),
                *((file.name, file.reason) for file in self._run.unread),
            ),
            verdict=self._verdict(rows),
            series=_series(series),
            histogram=_histogram(series),
            next=self._next(),
        )

    def _leading(self, one: Chosen) -> list[int]:
        return [value for value in one.stream if value != NOT_MEASURED] if self._streamed else one.host

    # The table.

    def _rows(self) -> list[Row]:
        everything = Columns(
            [value for one in self._chosen for value in one.host],
            [value for one in self._chosen for value in one.stream],
            [value for one in self._chosen for value in one.host],
            [value for one in self._chosen for value in one.stream if value != NOT_MEASURED],
        )
        raised = sum(one.process.cycles.raised for one in self._chosen)
        spread = self._spread([self._leading(one) for one in self._chosen])
        cycle = self._row("decode cycle", "cycle", "cycle", 0, everything, everything, raised=raised, spread=spread)
        return [cycle, *self._children(0, 1, everything), *self._rest(everything)]

    def _children(self, parent: int, depth: int, cycle: Columns) -> list[Row]:
        found: list[tuple[int, list[Row]]] = []
        numbers = {n for one in self._chosen for n, sums in one.parts.items() if sums.part.parent == parent}
        for number in sorted(numbers):
            own = self._columns(number)
            probe = next(one.parts[number].part.probe for one in self._chosen if number in one.parts)
            row = self._part_row(number, probe, depth, own, cycle)
            weight = sum(own.stream_calls) if self._streamed else sum(own.host_calls)
            found.append((weight, [row, *(self._children(number, depth + 1, cycle) if number != parent else [])]))
        found.sort(key=lambda item: -item[0])
        return [row for _, rows in found for row in rows]

    def _columns(self, number: int) -> Columns:
        columns = Columns([], [], [], [])
        for one in self._chosen:
            sums = one.parts.get(number)
            zeros = [0] * len(one.rows)
            columns.host.extend(sums.host if sums else zeros)
            columns.stream.extend(sums.stream if sums else zeros)
            if sums:
                columns.host_calls.extend(sums.host_calls)
                columns.stream_calls.extend(sums.stream_calls)
        return columns

    def _part_row(self, number: int, probe: Probe, depth: int, own: Columns, cycle: Columns) -> Row:
        parts = [one.parts[number] for one in self._chosen if number in one.parts]
        gaps = [gap for one in self._chosen for gap in one.gaps.get(number, ())]
        calls = [sums.stream_calls if self._streamed else sums.host_calls for sums in parts]
        return self._row(
            label(probe), probe.kind, probe.stage, depth, own, cycle,
            raised=sum(sums.part.raised for sums in parts), spread=self._spread(calls), gap=gaps,
            across=sum(sums.part.across for sums in parts), place=f"{probe.file}:{probe.line}",
        )  # fmt: skip

    def _row(
        self, name: str, kind: str, stage: str, depth: int, own: Columns, cycle: Columns, *, raised: int = 0,
        spread: float | None = None, gap: Sequence[int] = (), across: int = 0, place: str = "",
    ) -> Row:  # fmt: skip
        cycles = len(cycle.host)
        calls = len(own.host_calls)
        return Row(
            name, kind, stage, depth, calls, calls / cycles if cycles else 0.0, quantiles(own.host_calls),
            quantiles(own.stream_calls), ratio(own.host, cycle.host), self._stream_share(own.stream, cycle.stream),
            round(median(gap)) if gap else None, spread, raised, across, place,
        )  # fmt: skip

    def _stream_share(self, own: Sequence[int], cycle: Sequence[int]) -> Interval | None:
        whole = [flag for flags in self._whole for flag in flags]
        pairs = [(part, total) for part, total, flag in zip(own, cycle, whole, strict=True) if flag and part >= 0]
        return ratio([part for part, _ in pairs], [total for _, total in pairs]) if pairs else None

    def _rest(self, cycle: Columns) -> list[Row]:
        """Seams and what is left: with these the table closes."""
        seams, rest = Columns([], [], [], []), Columns([], [], [], [])
        for one, whole in zip(self._chosen, self._whole, strict=True):
            outer = [sums for sums in one.parts.values() if not sums.part.parent]
            for at, flag in enumerate(whole):
                host = sum(sums.host[at] for sums in outer) + one.host_seams[at]
                seams.host.append(one.host_seams[at])
                rest.host.append(one.host[at] - host)
                seams.stream.append(one.stream_seams[at] if flag else NOT_MEASURED)
                left = one.stream[at] - sum(sums.stream[at] for sums in outer) - one.stream_seams[at]
                rest.stream.append(left if flag else NOT_MEASURED)
        flags = [flag for whole in self._whole for flag in whole]
        rows = []
        for name, own in (("seams", seams), ("unattributed", rest)):
            streams = [value for value, flag in zip(own.stream, flags, strict=True) if flag]
            columns = Columns(own.host, own.stream, own.host, streams)
            rows.append(self._row(name, name, "", 1, columns, cycle)._replace(calls=0, calls_per_cycle=0.0))
        return rows

    @staticmethod
    def _spread(ranks: Sequence[Sequence[int]]) -> float | None:
        middles = [median(values) for values in ranks if values]
        return (max(middles) - min(middles)) / median(middles) if len(middles) > 1 and median(middles) else None

    # Below the table.

    def _tokens(self) -> float | None:
        tokens = requests = 0
        for one in self._chosen:
            cycles = one.process.cycles
            for row in one.rows:
                if cycles.tokens[row] != NOT_MEASURED:
                    tokens, requests = tokens + cycles.tokens[row], requests + cycles.requests[row]
        if requests:
            return tokens / requests
        plain = all(not one.process.header.server.get("speculative_algorithm", True) for one in self._chosen)
        return 1.0 if plain else None

    def _bound(self, cycle: Row) -> tuple[str, int | None]:
        if cycle.host is None or cycle.stream is None:
            return "unknown", None
        headroom = cycle.stream.p50 - cycle.host.p50
        return ("device" if headroom > cycle.stream.p50 // 20 else "host"), headroom

    def _own(self, pace: int) -> tuple[int, float]:
        """What the timers cost a cycle, as measured by themselves."""
        costs = []
        for one in self._chosen:
            counters, header = one.process.counters, one.process.header
            regions = sum(len(sums.host_calls) for sums in one.parts.values()) / max(1, len(one.rows)) + 1
            pair = counters.event_ns / counters.event_pairs if counters.event_pairs else 0.0
            tail = counters.own_ns / counters.cycles if counters.cycles else 0.0
            costs.append(tail + regions * (header.host_ps / 1000 + pair))
        own = round(max(costs, default=0.0))
        return own, own / pace if pace else 0.0

    def _strata(self) -> Iterable[Stratum]:
        found: dict[tuple[int, int, int], list[int]] = {}
        for one in self._chosen:
            cycles = one.process.cycles
            for at, row in enumerate(one.rows):
                value = one.stream[at] if self._streamed else one.host[at]
                if value != NOT_MEASURED:
                    key = (cycles.size[row], cycles.steps[row], cycles.graph[row])
                    found.setdefault(key, []).append(value)
        for (size, steps, graph), values in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
            cycle = quantiles(values)
            if cycle is not None:
                yield Stratum(size, steps, GRAPHS[graph], len(values), cycle)

    def _verdict(self, rows: Sequence[Row]) -> str:
        cycle, outer = rows[0], [row for row in rows if row.depth == 1 and row.kind not in ("seams", "unattributed")]
        shares = [(row.stream_share if self._streamed else row.host_share, row) for row in outer]
        known = [(share.value, row) for share, row in shares if share is not None]
        if not self._chosen or not any(one.rows for one in self._chosen):
            return "no decode cycle was recorded"
        if not known:
            return "no part of the cycle was timed: its time is unattributed"
        share, row = max(known, key=lambda item: item[0])
        times = row.stream if self._streamed else row.host
        rest = ", ".join(f"{other.name} {100 * value:.1f} %" for value, other in known if other is not row)
        unit = "the cycle" if self._streamed else "the cycle on the host's clock"
        told = f"p50 {times.p50 / 1e6:.2f}, p99 {times.p99 / 1e6:.2f} ms" if times is not None else "not measured"
        note = "" if self._streamed else "; host times say when work was launched, not how long the device took"
        if cycle.host is None:
            return "no decode cycle was recorded"
        return f"{row.name} is {100 * share:.1f} % of {unit} ({told}){'; ' + rest if rest else ''}{note}"

    def _next(self) -> tuple[tuple[str, ...], ...]:
        where = tuple(self._places) or ("RUN",)
        folder = where[0]
        found: list[tuple[str, ...]] = []
        if not self._streamed:
            found.append(("timing-audit", "record", folder, "--level", "device", "--for", "30s"))
        found.append(("timing-audit", "report", *where, "--format", "trace", "-o", "trace.json.gz"))
        found.append(("timing-audit", "compare", folder, "OTHER"))
        return tuple(found)


def label(probe: Probe) -> str:
    """How a part is called in a table."""
    if probe.kind == "cycle":
        return "inner cycle"
    if probe.kind == "stage" and probe.stage:
        return STAGE_WORDS.get(probe.stage, probe.stage.replace("_", " "))
    return probe.name.rpartition("/")[2] or probe.name


def _whole(one: Chosen) -> list[bool]:
    """Which cycles have stream time for themselves and for each of their outermost parts."""
    outer = [sums.stream for sums in one.parts.values() if not sums.part.parent]
    return [value >= 0 and all(column[at] >= 0 for column in outer) for at, value in enumerate(one.stream)]


def cycle_steps(one: Chosen) -> Iterable[tuple[int, int]]:
    """From the start of each cycle to that of the next, where the next follows at once."""
    cycles, chosen = one.process.cycles, set(one.rows)
    for row in one.rows:
        if row + 1 in chosen and cycles.window[row] == cycles.window[row + 1]:
            step = cycles.start[row + 1] - cycles.start[row]
            if cycles.step[row + 1] not in (NOT_MEASURED, NO_OFFSET):
                step = cycles.step[row + 1]
            if 0 <= step < PAUSE_NS:
                yield row, step


def _totals(counts: Iterable[dict[str, int]]) -> tuple[tuple[str, int], ...]:
    totals: dict[str, int] = {}
    for one in counts:
        for name, count in one.items():
            totals[name] = totals.get(name, 0) + count
    return tuple((name, count) for name, count in totals.items() if count)


def _rank(one: Chosen) -> RankRow:
    process = one.process
    ended = "; ".join(process.faults) or "complete"
    streams = [value for value in one.stream if value != NOT_MEASURED]
    return RankRow(process.rank, process.name, len(one.rows), quantiles(one.host), quantiles(streams), ended)


def _sizes(process: Process) -> tuple[int, int, int]:
    server = process.header.server
    tp, pp, dp = (server.get(name) for name in ("tp_size", "pp_size", "dp_size"))
    replicas = dp if isinstance(dp, int) and not server.get("enable_dp_attention") else 1
    return (tp if isinstance(tp, int) else 0, pp if isinstance(pp, int) else 1, replicas)


def _expected(processes: Sequence[Process]) -> int:
    """How many processes a launch should have; 0 where the engine did not say."""
    tp, pp, dp = _sizes(processes[0])
    return tp * pp * dp * len({process.header.launch for process in processes})


def _missing(processes: Sequence[Process]) -> tuple[str, ...]:
    tp, pp, dp = _sizes(processes[0])
    ranks = [process.header.ranks for process in processes]
    there = {(one.get("dp", 0) if dp > 1 else 0, one.get("pp", 0), one.get("tp", 0)) for one in ranks}
    wanted = [(d, p, t) for d in range(dp) for p in range(pp) for t in range(tp)]
    return tuple(
        " ".join([*([f"DP{d}"] if dp > 1 else []), *([f"PP{p}"] if pp > 1 else []), f"TP{t}"])
        for d, p, t in wanted
        if (d, p, t) not in there
    )


def _word(value: object) -> str:
    return "unset" if value is None else str(value)


def _series(values: Sequence[int]) -> list[int]:
    size = -(-len(values) // SERIES) or 1
    return [round(median(values[at : at + size])) for at in range(0, len(values), size)]


def _histogram(values: Sequence[int]) -> list[tuple[int, int]]:
    """Classes of equal width up to the 99.5th percentile; what lies above is in the last."""
    if not values:
        return []
    ordered = sorted(values)
    low, high = ordered[0], ordered[min(len(ordered) - 1, round(0.995 * len(ordered)))]
    width = max(1, -(-(high - low + 1) // CLASSES))
    counts = [0] * min(CLASSES, (high - low) // width + 1)
    for value in ordered:
        counts[min(len(counts) - 1, (value - low) // width)] += 1
    return [(low + at * width, count) for at, count in enumerate(counts)]
