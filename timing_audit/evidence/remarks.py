"""Comments that are meant for this tool: what silences findings, and the marks of inserted timers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from timing_audit.model.evidence import Probe, Suppression
from timing_audit.program.library import Unit
from timing_audit.program.scopes import nodes
from timing_audit.syntax.comments import Comment, comments

SILENCING = re.compile(r"#\s*timing:\s*ignore\[([^\]]*)\]\s*(.*)")
MARK = re.compile(rb"#\s*timing: probe ([\w.:-]+)")
HINT, MARKED = b"timing:", b"timing: probe "


def probes(paths: Sequence[str], raw: Callable[[str], bytes]) -> Iterator[Probe]:
    """The marks of inserted timers in a whole tree."""
    for path in paths:
        source = raw(path)
        if MARKED in source:
            for match in MARK.finditer(source):
                yield Probe(path, source.count(b"\n", 0, match.start()) + 1, match[1].decode())


def suppressions(units: Sequence[Unit]) -> Iterator[Suppression]:
    """The comments of some files that silence findings."""
    for unit in units:
        source = unit.module.source
        if HINT in source and b"ignore[" in source:
            for comment in comments(source):
                match = SILENCING.search(comment.text)
                if match is not None:
                    start, end = _range(unit, comment)
                    ids = tuple(name.strip() for name in match[1].split(",") if name.strip())
                    yield Suppression(unit.path, comment.line, start, end, ids, match[2].strip())


def _range(unit: Unit, comment: Comment) -> tuple[int, int]:
    """What a comment speaks of: its line, the function whose `def` it is, or the next statement."""
    line = _next_statement(unit, comment.line) if comment.alone else comment.line
    extents = [(function.first_line, function.line, function.end_line) for function in unit.outline.functions]
    extents += [(cls.line, cls.line, cls.end_line) for cls in unit.outline.classes]
    for first, named, end in extents:
        if named == line or (comment.alone and first == line):
            return first, end
    if not comment.alone:
        return line, line
    return line, max((end for start, end in _statements(unit) if start == line), default=line)


def _next_statement(unit: Unit, line: int) -> int:
    starts = [start for start, _ in _statements(unit) if start > line]
    starts += [function.first_line for function in unit.outline.functions if function.first_line > line]
    return min(starts, default=line)


def _statements(unit: Unit) -> Iterator[tuple[int, int]]:
    bodies = [unit.outline.body, *(cls.body for cls in unit.outline.classes)]
    bodies += [unit.module.body(function.line) for function in unit.outline.functions]
    for body in bodies:
        for node in nodes(body):
            if hasattr(node, "end_line") and hasattr(node, "line") and not hasattr(node, "func"):
                yield node.line, node.end_line
