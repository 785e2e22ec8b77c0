"""Edits of a module's text: a probe around a statement, its import, and both taken out again by their marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from timing_audit.codemod.statements import Refused, Source, Spot
from timing_audit.model.edit import BLOCK, LINES

MARK = re.compile(r"  # timing: probe (\d+)(, in place of a blank line)?$")
MARKED = b"# timing: probe "
IMPORT = 0
"""The id on the mark of an import."""

IN_PLACE = ", in place of a blank line"
NO_ROOM = "layout lines: no line of the module has room for the import"


DEFINES = re.compile(r"\b(?:def|class)\b")


def mark(number: int) -> str:
    """The comment that tells a probe from what others wrote."""
    return f"  # timing: probe {number}"


class Change(NamedTuple):
    """A piece of the text, by offsets, and what comes in its place."""

    start: int
    end: int
    text: str


class Insert(NamedTuple):
    """A probe to be written: `item` is the expression of the `with`."""

    spot: Spot
    item: str
    number: int


def apply_changes(text: str, changes: Sequence[Change]) -> str:
    """The text with all changes; of two at one place the earlier in the list comes first."""
    parts, at = [], 0
    for change in sorted(changes, key=lambda change: (change.start, change.end)):
        parts += [text[at : change.start], change.text]
        at = change.end
    return "".join([*parts, text[at:]])


def insert(source: Source, inserts: Sequence[Insert], imported: str, layout: str, *, marked: bool = True) -> str:
    """The text with probes and their import; an empty `imported` is in the file already."""
    changes = [change for entry in inserts for change in _probe(source, entry, layout, marked=marked)]
    if imported:
        changes += place_import(source, imported, layout) if marked else [_sorted_line(source, imported)]
    return apply_changes(source.text, changes)


def _probe(source: Source, entry: Insert, layout: str, *, marked: bool) -> Iterator[Change]:
    comment = mark(entry.number) if marked else ""
    if entry.spot.around is not None:
        yield from _join(source, entry, entry.spot.around, layout, comment)
    elif layout == LINES:
        start = source.offset(entry.spot.line, entry.spot.column)
        end = source.line_end(entry.spot.end_line)
        yield Change(start, start, f"with {entry.item}: ")
        yield Change(end, end, comment)
    else:
        yield from _indent(source, entry, comment)


def _indent(source: Source, entry: Insert, comment: str) -> Iterator[Change]:
    """A `with` line of its own, and the statement one step further in."""
    spot = entry.spot
    start = source.offset(spot.line, spot.column)
    margin = source.text[source.starts[spot.line - 1] : start]
    head = f"with {entry.item}:{comment}{source.newline(spot.line)}{margin}{spot.step}"
    yield Change(start, start, head)
    for line in range(spot.line + 1, spot.end_line + 1):
        text, at = source.line_text(line), source.starts[line - 1]
        if text.strip() and text.startswith(margin) and not _is_glued(source, line):
            yield Change(at, at, spot.step)


def _is_glued(source: Source, line: int) -> bool:
    """Whether the line's indentation is part of a string, or behind a backslash."""
    return line in source.inside_strings or source.line_text(line - 1).endswith("\\")


def _join(source: Source, entry: Insert, around: cst.With, layout: str, comment: str) -> Iterator[Change]:
    """One more item in the `with` that already wraps the statement: the last, so that it times the body alone."""
    last = source.range(around.items[-1])[1]
    line = source.lines(around.items[-1])[1]
    colon = _colon(source.text, last)
    end_line = source.text.count("\n", 0, colon) + 1
    own_line = layout == BLOCK and isinstance(around.lpar, cst.LeftParen) and end_line > line
    margin = source.line_text(line)[: len(source.line_text(line)) - len(source.line_text(line).lstrip())]
    yield Change(last, last, f",{source.newline(line)}{margin}{entry.item}" if own_line else f", {entry.item}")
    if isinstance(around.body, cst.SimpleStatementSuite):
        end_line = entry.spot.end_line
    end = source.line_end(end_line)
    yield Change(end, end, comment)


def _colon(text: str, at: int) -> int:
    """The colon that ends the head of a `with`, behind its last item."""
    while text[at] != ":":
        at = text.index("\n", at) if text[at] == "#" else at + 1
    return at


# The import.


def place_import(source: Source, imported: str, layout: str) -> list[Change]:
    """Where the import goes. Raises Refused where layout `lines` has no room for it."""
    if layout == BLOCK:
        return [_new_line(source, imported)]
    line = _hosting_line(source)
    if line is not None:
        end = source.range(line)[1]
        after = source.line_end(source.lines(line)[1])
        return [Change(end, end, f"; {imported}"), Change(after, after, mark(IMPORT))]
    blank = _blank_line(source)
    if blank is None:
        raise Refused(NO_ROOM)
    start, end = source.starts[blank - 1], source.line_end(blank)
    return [Change(start, end, f"{imported}{mark(IMPORT)}{IN_PLACE}")]


def _first_free(source: Source) -> int:
    """The place in the module's body behind its docstring and its `__future__` imports."""
    body = source.module.body
    first = 1 if source.module.get_docstring(clean=False) is not None else 0
    for place, node in enumerate(body):
        if isinstance(node, cst.SimpleStatementLine) and any(map(_is_future, node.body)):
            first = place + 1
    return first


def _first_definition(source: Source) -> int:
    """The place of the first statement of the module that defines something: before it no probe can run."""
    for place, node in enumerate(source.module.body):
        if not isinstance(node, cst.SimpleStatementLine) and DEFINES.search(source.module.code_for_node(node)):
            return place
    return len(source.module.body)


def _is_future(small: cst.BaseSmallStatement) -> bool:
    return (
        isinstance(small, cst.ImportFrom) and isinstance(small.module, cst.Name) and small.module.value == "__future__"
    )


def _is_import(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and all(
        isinstance(small, (cst.Import, cst.ImportFrom)) for small in node.body
    )


def _hosting_line(source: Source) -> cst.SimpleStatementLine | None:
    """The statement of the module whose line takes the import: a plain import if there is one."""
    body = source.module.body[max(_first_free(source) - 1, 0) : _first_definition(source)]
    lines = [
        node
        for node in body
        if isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[-1].semicolon, cst.MaybeSentinel)
    ]
    return min(lines, key=lambda node: _unfitness(source, node), default=None)


def _unfitness(source: Source, node: cst.SimpleStatementLine) -> tuple[bool, bool, bool, int]:
    first, last = source.lines(node)
    future = any(map(_is_future, node.body))
    return not _is_import(node) or future, first != last, node.trailing_whitespace.comment is not None, first


def _blank_line(source: Source) -> int | None:
    """A blank line between the module's own statements, behind its docstring and `__future__`."""
    body = source.module.body
    ends = [0, *(source.lines(node)[1] for node in body)]
    begins = [*(_first_line(source, node) for node in body), len(source.starts)]
    for place in range(_first_free(source), min(len(ends), _first_definition(source) + 1)):
        for line in range(ends[place] + 1, begins[place]):
            if line < len(source.starts) and not source.line_text(line).strip("\r\n") and line > 2:
                return line
    return None


def _first_line(source: Source, node: cst.CSTNode) -> int:
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)) and node.decorators:
        return source.lines(node.decorators[0])[0]
    return source.lines(node)[0]


def _new_line(source: Source, imported: str) -> Change:
    """A line of its own behind the module's first imports."""
    body, first = source.module.body, _first_free(source)
    anchor = body[first - 1] if first else None
    for node in body[first:]:
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            break
        if _is_import(node):
            anchor = node
    text = f"{imported}{mark(IMPORT)}"
    if anchor is None:
        start = source.starts[_first_line(source, body[0]) - 1]
        return Change(start, start, text + source.module.default_newline)
    line = source.lines(anchor)[1]
    end = source.line_end(line)
    return Change(end, end, source.newline(line) + text)


def _sorted_line(source: Source, imported: str) -> Change:
    """Where isort would put it: in the list of an import of the same module, else between its neighbours."""
    _, module, _, name = imported.split(" ", 3)
    top, anchor = module.partition(".")[0], None
    for node in source.module.body:
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            break
        found = re.match(r"from ([\w.]+) import ", source.line_text(source.lines(node)[0]))
        if found is None or not _is_import(node):
            continue
        if found[1] == module:
            return _into_list(source, node, name)
        if found[1].partition(".")[0] == top and found[1] < module:
            anchor = node
    if anchor is None:
        return _new_line(source, imported)._replace(text=source.module.default_newline + imported)
    line = source.lines(anchor)[1]
    end = source.line_end(line)
    return Change(end, end, source.newline(line) + imported)


def _into_list(source: Source, node: cst.CSTNode, name: str) -> Change:
    """One more name in the list of an import, in order."""
    statement = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    if not isinstance(statement, cst.ImportFrom) or isinstance(statement.names, cst.ImportStar):
        raise Refused("its import of the helper's module takes no more names")
    before = [alias for alias in statement.names if _sort_key(str(alias.evaluated_name)) < _sort_key(name)]
    first, last = source.lines(node)
    margin = "" if first == last else source.module.default_newline + source.module.default_indent
    if before:
        at = source.range(before[-1].name)[1] if before[-1].asname is None else source.range(before[-1])[1]
        return Change(at, at, f",{margin or ' '}{name}")
    at = source.range(statement.names[0])[0]
    return Change(at, at, f"{name},{margin or ' '}")


def _sort_key(name: str) -> tuple[bool, bool, str]:
    """isort's order: constants, classes, the rest."""
    return not name.isupper(), not name[:1].isupper(), name


# Out again.


def unmark(source: Source) -> str:
    """The text without what the marks say was inserted; everything else stays as it is."""
    marks = {
        line: match
        for line in range(1, len(source.starts) + 1)
        if (match := MARK.search(source.line_text(line))) is not None and line + 1 not in source.inside_strings
    }
    changes: list[Change] = []
    while_open = dict(marks)
    for node in _marked_lines(source, marks):
        found = _out_import(source, node, marks) if isinstance(node, cst.SimpleStatementLine) else _out(source, node)
        changes += found
        while_open.pop(_mark_line(source, node), None)
    for line, match in marks.items():
        if line not in while_open:
            start = source.starts[line - 1] + match.start()
            changes.append(Change(start, source.line_end(line), ""))
    return apply_changes(source.text, _disjoint(changes))


def _disjoint(changes: Sequence[Change]) -> list[Change]:
    """Without changes that lie inside another."""
    kept: list[Change] = []
    for change in sorted(changes, key=lambda change: (change.start, -change.end)):
        if not kept or change.start >= kept[-1].end:
            kept.append(change)
    return kept


def _marked_lines(source: Source, marks: Mapping[int, re.Match[str]]) -> Iterator[cst.With | cst.SimpleStatementLine]:
    for spot in source.spots:
        node = spot.node
        if isinstance(node, (cst.With, cst.SimpleStatementLine)):
            number = _number(source, node, marks)
            if number is not None and (number == IMPORT) == isinstance(node, cst.SimpleStatementLine):
                yield node


def _number(source: Source, node: cst.With | cst.SimpleStatementLine, marks: Mapping[int, re.Match[str]]) -> int | None:
    match = marks.get(_mark_line(source, node))
    return None if match is None else int(match[1])


def _mark_line(source: Source, node: cst.With | cst.SimpleStatementLine) -> int:
    """The line at whose end the mark of a statement stands."""
    if isinstance(node, cst.With) and isinstance(node.body, cst.IndentedBlock):
        return source.text.count("\n", 0, _colon(source.text, source.range(node.items[-1])[1])) + 1
    if isinstance(node, cst.With):
        return source.lines(node.body.body[-1])[1]
    return source.lines(node)[1]


def _out_import(source: Source, node: cst.SimpleStatementLine, marks: Mapping[int, re.Match[str]]) -> list[Change]:
    line = source.lines(node)[1]
    if len(node.body) > 1:
        return [Change(source.range(node.body[-2])[1], source.range(node.body[-1])[1], "")]
    start, end = source.starts[line - 1], source.line_end(line)
    if marks[line][2]:
        return [Change(start, end, "")]
    if line < len(source.starts):
        return [Change(start, source.starts[line], "")]
    return [Change(source.line_end(line - 1) if line > 1 else 0, end, "")]


def _out(source: Source, node: cst.CSTNode) -> list[Change]:
    if not isinstance(node, cst.With):
        return []
    if len(node.items) > 1:
        return [Change(source.range(node.items[-2])[1], source.range(node.items[-1])[1], "")]
    start = source.range(node)[0]
    if isinstance(node.body, cst.SimpleStatementSuite):
        return [Change(start, source.range(node.body.body[0])[0], "")]
    return list(_dedent(source, node, start))


def _dedent(source: Source, node: cst.With, start: int) -> Iterator[Change]:
    """The `with` line taken out, and the body one step back; comments in front of the body stay."""
    first, last = source.lines(node)
    margin = source.text[source.starts[first - 1] : start]
    head = source.text.count("\n", 0, _colon(source.text, source.range(node.items[-1])[1])) + 1
    inner = _margin(source.line_text(source.lines(node.body.body[0])[0]))
    step = inner[len(margin) :]
    yield Change(source.starts[first - 1], source.starts[head], "")
    for line in range(head + 1, last + 1):
        if source.line_text(line).startswith(inner) and not _is_glued(source, line):
            at = source.starts[line - 1] + len(margin)
            yield Change(at, at + len(step), "")


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
