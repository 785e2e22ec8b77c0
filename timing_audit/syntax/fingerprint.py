"""What a function's body says, without layout, comments and docstring, as a short hash."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from tree_sitter import Node

SHORTEST = 40
"""Shorter bodies are alike by chance."""
LENGTH = 16


def fingerprint(body: Node, source: bytes) -> str:
    """The hash of the parameters and the body of a function; empty where the body is too short to tell it apart.

    The function's own name and its decorators are left out, so that it stays the same under another name.
    """
    function = body.parent
    parameters = function.child_by_field_name("parameters") if function is not None else None
    said = b"".join(_tokens(body, source))
    if len(said) < SHORTEST:
        return ""
    given = b"".join(_tokens(parameters, source)) if parameters is not None else b""
    return sha256(given + b"\n" + said).hexdigest()[:LENGTH]


def _tokens(node: Node, source: bytes) -> Iterator[bytes]:
    """The text of the leaves; blocks are bracketed, since their indentation is none."""
    if node.type == "comment":
        return
    if node.type == "string" or not node.children:
        yield source[node.start_byte : node.end_byte]
        return
    is_block = node.type == "block"
    children = node.children[1:] if is_block and _has_docstring(node) else node.children
    if is_block:
        yield b"{"
    for child in children:
        yield from _tokens(child, source)
        if is_block:
            yield b"\n"
    if is_block:
        yield b"}"


def _has_docstring(block: Node) -> bool:
    first = block.children[0] if block.children else None
    if first is None or first.type != "expression_statement":
        return False
    return [child.type for child in first.children] == ["string"]
