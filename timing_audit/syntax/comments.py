"""The comments of a source, told from text in strings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from timing_audit.syntax.module import parse


class Comment(NamedTuple):
    """A comment with its `#`; `alone` tells that nothing else stands on its line."""

    line: int
    text: str
    alone: bool


def comments(source: bytes) -> list[Comment]:
    """Every comment, in order; a source with errors has comments too."""
    return [_comment(source, node) for node in _walk(parse(source).root_node) if node.type == "comment"]


def _walk(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def _comment(source: bytes, node: Node) -> Comment:
    begin = source.rfind(b"\n", 0, node.start_byte) + 1
    text = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
    return Comment(node.start_point.row + 1, text, not source[begin : node.start_byte].strip())
