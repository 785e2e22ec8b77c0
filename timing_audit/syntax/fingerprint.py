"""What a function's body says, without layout, comments and docstring, as a short hash."""

from __future__ import annotations

import re
from hashlib import sha256

from tree_sitter import Node

SHORTEST = 40
"""Shorter bodies are alike by chance."""
LENGTH = 16
COMPOUND = frozenset((
    "block", "if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "except_group_clause",
    "finally_clause", "with_statement", "for_statement", "while_statement", "match_statement", "case_clause",
    "function_definition", "class_definition", "decorated_definition",
))  # fmt: skip
"""What holds blocks."""
SPACED = re.compile(rb"[\"'#\\\x80-\xff]|not")
"""Where white space may be a part of a token: strings, comments, continued lines, `is not`; and other alphabets."""


def fingerprint(body: Node, source: bytes) -> str:
    """The hash of the parameters and the body of a function; empty where the body is too short to tell it apart.

    The function's own name and its decorators are left out, so that it stays the same under another name.
    """
    function = body.parent
    parameters = function.child_by_field_name("parameters") if function is not None else None
    said = _tokens(body, source)
    if len(said) < SHORTEST:
        return ""
    given = _tokens(parameters, source) if parameters is not None else b""
    return sha256(given + b"\n" + said).hexdigest()[:LENGTH]


def _tokens(node: Node, source: bytes) -> bytes:
    found: list[bytes] = []
    _read(node, source, found)
    return b"".join(found)


def _read(node: Node, source: bytes, found: list[bytes]) -> None:
    """The text of the leaves; blocks are bracketed, since their indentation is none."""
    kind, text = node.type, source[node.start_byte : node.end_byte]
    if kind == "comment":
        return
    if kind == "block":
        _read_block(node, source, found)
    elif kind not in COMPOUND and SPACED.search(text) is None:
        found.extend(text.split())
    elif kind == "string" or not node.child_count:
        found.append(text)
    else:
        for child in node.children:
            _read(child, source, found)


def _read_block(block: Node, source: bytes, found: list[bytes]) -> None:
    children = block.children
    found.append(b"{")
    for child in children[1:] if _has_docstring(block) else children:
        _read(child, source, found)
        found.append(b"\n")
    found.append(b"}")


def _has_docstring(block: Node) -> bool:
    first = block.children[0] if block.children else None
    if first is None or first.type != "expression_statement":
        return False
    return [child.type for child in first.children] == ["string"]
