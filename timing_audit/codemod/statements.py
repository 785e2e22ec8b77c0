"""The statements of a module and where they stand: what the edits of its text go by."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import libcst as cst
import libcst.matchers as m
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

HEADS: Mapping[type, str] = {
    cst.If: "in the condition of an `if`",
    cst.While: "in the condition of a `while`",
    cst.For: "in the head of a `for`",
    cst.With: "in the head of a `with`",
    cst.Match: "in the head of a `match`",
    cst.FunctionDef: "in the head of a nested function",
    cst.ClassDef: "in the head of a class",
}
SHARED = "it stands on the line of the statement that holds it"
SUSPENDS = "it may suspend: a timer would count what runs meanwhile"
WORD = re.compile(r"\w+")


class Refused(Exception):
    """A file or statement that is not edited; its text is the reason."""


class Spot(NamedTuple):
    """A statement with calls: where it stands, and the `with` of which it is the whole body, if any."""

    node: cst.CSTNode
    line: int
    column: int
    end_line: int
    end_column: int
    reason: str
    around: cst.With | None
    step: str


LARGEST_CHARACTERS = 2_000_000


def _bounded(text: str) -> None:
    """Refuses what libcst's parser, which nests without a limit of its own, would not survive."""
    if len(text) > LARGEST_CHARACTERS:
        raise Refused(f"larger than {LARGEST_CHARACTERS:,} characters")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError as error:
            if "nested" in str(error):
                raise Refused("too deeply nested") from None
        except (RecursionError, MemoryError):
            raise Refused("too deeply nested") from None
        except ValueError as error:
            raise Refused(f"cannot be parsed: {error}") from None


class Source:
    """A parsed module. Raises Refused where it cannot be parsed, or not be written back to the byte."""

    def __init__(self, text: str) -> None:
        self.text = text
        _bounded(text)
        try:
            module = cst.parse_module(text)
            if module.code != text:
                raise Refused("the parser does not give back the bytes of this file")
            wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
            positions = wrapper.resolve(PositionProvider)
        except cst.ParserSyntaxError as error:
            raise Refused(f"cannot be parsed (line {error.raw_line})") from None
        except RecursionError:
            raise Refused("too deeply nested") from None
        self.module = module
        self._positions = positions
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def range(self, node: cst.CSTNode) -> tuple[int, int]:
        """The offsets of a node in the text."""
        where = self._positions[node]
        return self.offset(where.start.line, where.start.column), self.offset(where.end.line, where.end.column)

    def lines(self, node: cst.CSTNode) -> tuple[int, int]:
        """The first and the last line of a node."""
        where = self._positions[node]
        return where.start.line, where.end.line

    def offset(self, line: int, column: int) -> int:
        """Where a place lies in the text; the column counts from 0."""
        return self.starts[line - 1] + column

    def line_end(self, line: int) -> int:
        """The end of a line's text, in front of its line end."""
        end = self.starts[line] - 1 if line < len(self.starts) else len(self.text)
        return end - 1 if end > 0 and self.text[end - 1 : end + 1] == "\r\n" else end

    def line_text(self, line: int) -> str:
        """A line without its line end."""
        return self.text[self.starts[line - 1] : self.line_end(line)]

    def newline(self, line: int) -> str:
        """The line end of a line; the module's where the file ends without one."""
        found = self.text[self.line_end(line) : self.starts[line]] if line < len(self.starts) else ""
        return found or self.module.default_newline

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the file: what a new name must not be."""
        return frozenset(WORD.findall(self.text))

    def fresh(self, name: str) -> str:
        """A name that the file does not use."""
        number, found = 2, name
        while found in self.words:
            found, number = f"{name}_{number}", number + 1
        return found

    @cached_property
    def inside_strings(self) -> frozenset[int]:
        """The lines that begin inside a string."""
        found: set[int] = set()
        for node, where in self._positions.items():
            if isinstance(node, (cst.SimpleString, cst.FormattedString)):
                found.update(range(where.start.line + 1, where.end.line + 1))
        return frozenset(found)

    @cached_property
    def spots(self) -> list[Spot]:
        """Every simple statement and every compound one, the outer in front of the inner."""
        return list(self._block(self.module.body, self.module.default_indent, None))

    def find(self, line: int, column: int) -> Spot | None:
        """The innermost statement at a place; the column counts from 1."""
        place = (line, column - 1)
        around = [spot for spot in self.spots if (spot.line, spot.column) <= place < (spot.end_line, spot.end_column)]
        return around[-1] if around else None

    def _block(self, body: Sequence[cst.CSTNode], step: str, around: cst.With | None) -> Iterator[Spot]:
        for node in body:
            if isinstance(node, cst.SimpleStatementLine):
                yield self._spot(node, _fault(node), around if len(body) == 1 else None, step)
            elif isinstance(node, cst.BaseCompoundStatement):
                reason = HEADS.get(type(node), "in a statement's head")
                yield self._spot(node, reason, None, step)
                for held in _suites(node):
                    yield from self._suite(held, node, step)

    def _suite(self, suite: cst.BaseSuite, owner: cst.CSTNode, step: str) -> Iterator[Spot]:
        inside = owner if isinstance(owner, cst.With) and owner.asynchronous is None else None
        if isinstance(suite, cst.IndentedBlock):
            yield from self._block(suite.body, suite.indent or self.module.default_indent, inside)
        elif isinstance(suite, cst.SimpleStatementSuite):
            reason = _fault(suite)
            yield self._spot(suite, reason or ("" if inside is not None else SHARED), inside, step)

    def _spot(self, node: cst.CSTNode, reason: str, around: cst.With | None, step: str) -> Spot:
        where = self._positions[node]
        if isinstance(node, cst.SimpleStatementSuite):
            where = CodeRange(self._positions[node.body[0]].start, self._positions[node.body[-1]].end)
        start, end = where.start, where.end
        return Spot(node, start.line, start.column, end.line, end.column, reason, around, step)


def _suites(node: cst.CSTNode) -> Iterator[cst.BaseSuite]:
    """The suites of a compound statement, in order."""
    for part in node.children:
        if isinstance(part, cst.BaseSuite):
            yield part
        elif isinstance(part, (cst.If, cst.Else, cst.ExceptHandler, cst.ExceptStarHandler, cst.Finally, cst.MatchCase)):
            yield from _suites(part)


def _fault(line: cst.SimpleStatementLine | cst.SimpleStatementSuite) -> str:
    """Why a simple statement takes no probe, empty where it does."""
    suspending = m.Yield() | m.Await() | m.CompFor(asynchronous=m.Asynchronous())
    if m.findall(line, suspending):
        return SUSPENDS
    calling = sum(bool(m.findall(small, m.Call())) for small in line.body)
    return "" if calling < 2 else "several statements with calls stand on its line"
