"""Modules with odd formatting: the edit of a text is proven, comes out again, and nothing else moves."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from timing_audit.codemod.statements import Refused, Source
from timing_audit.codemod.text import Insert, insert, unmark
from timing_audit.codemod.verify import verify

HEADS = (
    "", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n", '"""Doc."""\n', '"""Doc."""; import os\n',
    "from __future__ import annotations\n", "from __future__ import annotations; import os\n", "import os\n\n\n",
    "import os  # keep\n", "from os import (\n    path,  # one\n    sep,\n)\n", "import os; import sys;\n",
    "\x0cimport os\n",
    "# a comment\n\nX = 1\n", "if True:\n    import os\n",
)  # fmt: skip
STATEMENTS = (
    "x = go(b)", "x = go(b)  # type: ignore[x]", "go(b);", "n = 1; x = go(b); n += 1;", "return go(b)",
    "x = go(\n{i}{s}b,  # keep\n{i})  # pragma: no cover", 'x = go("""a\n  b\n   c""", 1 + \\\n  2)',
    "if b: x = go(b)", "if b:\n{i}{s}x = go(b)\n{i}elif go(b):\n{i}{s}pass\n{i}else:\n{i}{s}go(b)  # else",
    "with a(b): x = go(b)", "with a(b), c(b) as d:\n{i}{s}x = go(b)",
    "with (\n{i}{s}a(b),\n{i}{s}c(b),\n{i}):  # both\n{i}{s}go(b)",
    "with (a(b)):\n{i}{s}go(b)", "for y in go(b): go(y)", "while (z := go(b)):\n{i}{s}go(z)\n{i}{s}{s}# odd",
    "match go(b):\n{i}{s}case 1:\n{i}{s}{s}go(b)\n{i}{s}case _: pass", "def inner(q=go(b)):\n{i}{s}return go(q)",
    "@go(b)\n{i}def deco():\n{i}{s}yield go(b)",
    "try:\n{i}{s}go(b)\n{i}except ValueError:\n{i}{s}go(b)\n{i}finally:\n{i}{s}go(b)",
    "x: int = go(b)", "assert go(b), f'{go(b)}'", "x = [go(y) for y in go(b)]", "x = lambda: go(b)", "del x[go(b)]",
    "# only a comment\n{i}go(b)\n{i}{s}# further in\n{i}# and back", "x = f'''{go(b)}\n  {b}'''", "\n{i}go(b)\n\x0c",
)  # fmt: skip


@st.composite
def modules(draw: st.DrawFn) -> str:
    step = draw(st.sampled_from(["    ", "  ", "\t"]))
    text = draw(st.sampled_from(HEADS))
    for number in range(draw(st.integers(1, 3))):
        word = draw(st.sampled_from(["def", "async def"]))
        text += draw(st.sampled_from(["", "\n", "\n\n\n", "# note\n"]))
        text += f"{word} f{number}(b):  # def\n"
        for written in draw(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=5)):
            text += step + written.replace("{i}", step).replace("{s}", step) + "\n"
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def calls(text: str) -> list[tuple[int, int]]:
    places = [
        (node.lineno, len(text.encode().split(b"\n")[node.lineno - 1][: node.col_offset].decode()) + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
    ]
    return sorted(places)


def edited(text: str, layout: str) -> tuple[str, list[str]]:
    source = Source(text)
    found = {}
    for line, column in calls(text):
        spot = source.find(line, column)
        if spot is not None and not spot.reason:
            found[spot.line, spot.column] = spot
    items = [f"_t.p{number}" for number in range(1, len(found) + 1)]
    inserts = [Insert(spot, item, n) for n, (spot, item) in enumerate(zip(found.values(), items, strict=True), 1)]
    return insert(source, inserts, "import _timing_audit as _t", layout), items


@given(text=modules(), layout=st.sampled_from(["lines", "block"]))
def test_an_edit_is_proven_and_comes_out_again(text: str, layout: str) -> None:
    try:
        after, items = edited(text, layout)
    except Refused as error:
        reason = str(error)
    else:
        reason = ""
    if reason:
        # A line of its own always has room; libcst loses a form feed that opens a file, and then nothing is touched.
        assert layout == "lines" or (text.startswith("\f") and "does not give back the bytes" in reason)
        return
    verify(text, after, items, "import _timing_audit as _t", unmoved=layout == "lines")
    assert unmark(Source(after)) == text
