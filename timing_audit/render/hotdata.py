"""The hot path as the script of the HTML page reads it: short keys, every source line once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from timing_audit.model.report import EdgeFact, FunctionFact, Report

HOST, DEVICE, TRACE = 1, 2, 4


def payload(report: Report, workers: Sequence[str], source: Callable[[str], str], prefix: str) -> Mapping[str, object]:
    """Everything below the page's fold. Lists by file are keyed by its place in `files`."""
    hot = [fact for fact in report.functions if fact.role == "hot"]
    files = sorted({fact.file for fact in hot})
    place = {file: number for number, file in enumerate(files)}
    texts = {file: source(file).split("\n") for file in files}
    found = Counter(_holder(hot, finding.file, finding.line) for finding in report.findings)
    parents = _parents(hot, report.edges)
    functions = [
        {
            "f": place[fact.file], "n": fact.qualname, "l": fact.line, "e": fact.end_line,
            "d": _first_line(texts[fact.file], fact.line), "s": fact.stage or "", "b": fact.substage or "",
            "p": fact.phases, "w": [workers.index(worker) for worker in fact.workers], "c": fact.coverage,
            "k": fact.clocks, "g": int(fact.captured), "r": fact.reason, "o": fact.loops, "u": parents[number],
            "a": _call_line(fact), "x": found[number],
        }
        for number, fact in enumerate(hot)
    ]  # fmt: skip
    return {
        "files": files, "workers": workers, "prefix": prefix, "functions": functions,
        "source": _sources(functions, hot, texts, place), "regions": _regions(report, place),
        "brackets": _brackets(report, place), "findings": _findings(report, place),
    }  # fmt: skip


def _call_line(fact: FunctionFact) -> int:
    return int(fact.via[-1].rpartition(":")[2]) if len(fact.via) > 1 else 0


def _holder(hot: Sequence[FunctionFact], file: str, line: int) -> int:
    """The innermost hot function around a line; -1 where there is none."""
    around = [
        (fact.end_line - fact.line, number)
        for number, fact in enumerate(hot)
        if fact.file == file and fact.line <= line <= fact.end_line
    ]
    return min(around)[1] if around else -1


def _parents(hot: Sequence[FunctionFact], edges: Iterable[EdgeFact]) -> list[int]:
    """The caller through which each function is first reached; where that would close a circle, another one."""
    by_file: dict[str, list[int]] = {}
    for number, fact in enumerate(hot):
        by_file.setdefault(fact.file, []).append(number)
    parents = [_caller(hot, by_file, fact) for fact in hot]
    others = _callers(hot, edges)
    for number in range(len(parents)):
        if number in _above(parents, parents[number]):
            free = (other for other in others.get(number, ()) if number not in _above(parents, other))
            parents[number] = next(free, -1)
    return parents


def _above(parents: Sequence[int], number: int) -> set[int]:
    """A function and all that it hangs below."""
    seen: set[int] = set()
    while number >= 0 and number not in seen:
        seen.add(number)
        number = parents[number]
    return seen


def _callers(hot: Sequence[FunctionFact], edges: Iterable[EdgeFact]) -> dict[int, list[int]]:
    lines = {(fact.file, fact.line): number for number, fact in enumerate(hot)}
    names = {(fact.file, fact.qualname): number for number, fact in enumerate(hot)}
    found: dict[int, list[int]] = {}
    for edge in edges:
        caller, callee = names.get((edge.file, edge.caller)), lines.get((edge.callee_file, edge.callee_line))
        if caller is not None and callee is not None:
            found.setdefault(callee, []).append(caller)
    return found


def _caller(hot: Sequence[FunctionFact], by_file: Mapping[str, Iterable[int]], fact: FunctionFact) -> int:
    if len(fact.via) < 2:
        return -1
    file, _, line = fact.via[-1].rpartition(":")
    at = int(line)
    around = [
        (hot[number].end_line - hot[number].line, number)
        for number in by_file.get(file, ())
        if hot[number].line <= at <= hot[number].end_line and hot[number] is not fact
    ]
    return min(around)[1] if around else -1


def _first_line(lines: Sequence[str], line: int) -> int:
    """Where the decorators above a `def` begin."""
    while line > 1 and line - 2 < len(lines) and lines[line - 2].lstrip().startswith("@"):
        line -= 1
    return line


def _sources(
    functions: Sequence[Mapping[str, object]], hot: Sequence[FunctionFact], texts: Mapping[str, list[str]],
    place: Mapping[str, int],
) -> dict[int, list[tuple[int, list[str]]]]:  # fmt: skip
    """By file, pieces of (first line, lines), which do not overlap."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for row, fact in zip(functions, hot, strict=True):
        start = row["d"]
        if isinstance(start, int):
            spans.setdefault(fact.file, []).append((start, fact.end_line))
    return {
        place[file]: [(start, texts[file][start - 1 : end]) for start, end in _merged(found)]
        for file, found in spans.items()
    }


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _regions(report: Report, place: Mapping[str, int]) -> dict[int, list[tuple[int, int, int]]]:
    found: dict[int, list[tuple[int, int, int]]] = {}
    for region in report.regions:
        if region.file in place:
            mask = HOST * region.timed.host | DEVICE * region.timed.device | TRACE * region.timed.trace
            found.setdefault(place[region.file], []).append((region.start_line, region.end_line, mask))
    return found


def _brackets(report: Report, place: Mapping[str, int]) -> dict[int, list[tuple[int, int, str, str, str, str]]]:
    found: dict[int, list[tuple[int, int, str, str, str, str]]] = {}
    for bracket in report.brackets:
        if bracket.file in place:
            hops = " → ".join(hop.partition(" ")[2] or hop for hop in bracket.hops)
            row = (bracket.start_line, bracket.end_line, bracket.clock, bracket.label, bracket.gate, hops)
            found.setdefault(place[bracket.file], []).append(row)
    return found


def _findings(report: Report, place: Mapping[str, int]) -> dict[int, list[tuple[int, str, str, str, str]]]:
    found: dict[int, list[tuple[int, str, str, str, str]]] = {}
    for finding in report.findings:
        if finding.file in place:
            row = (finding.line, finding.severity, finding.check, finding.message, finding.hint)
            found.setdefault(place[finding.file], []).append(row)
    return found
