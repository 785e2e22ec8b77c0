"""What a function says, without its name and layout."""

from __future__ import annotations

import pytest

from timing_audit.syntax.module import Module

PLAIN = """\
def first(a, b=1):
    for item in a:
        if item:
            b += call(item, "one  two")
    return b
"""


def fingerprint(source: str) -> str:
    module = Module("a.py", source.encode())
    return module.fingerprint(module.outline.functions[-1].line)


@pytest.mark.parametrize(
    "same",
    [
        PLAIN.replace("first", "second"),
        PLAIN.replace("    ", "\t"),
        PLAIN.replace("def", "@decorated\ndef"),
        PLAIN.replace("        if", "        # why\n\n        if"),
        PLAIN.replace("    for", '    """Says what it does."""\n    for'),
        PLAIN.replace("call(item, ", "call(\n                item,\n                "),
        "class C:\n" + "".join(f"    {line}\n" for line in PLAIN.splitlines()),
    ],
)
def test_name_layout_comments_docstring_and_decorators_do_not_count(same: str) -> None:
    assert fingerprint(same) == fingerprint(PLAIN) != ""


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace("b=1", "b=2"),
        PLAIN.replace("one  two", "one two"),
        PLAIN.replace("    return b", "        return b"),
        PLAIN.replace("+=", "-="),
    ],
)
def test_parameters_strings_blocks_and_operators_count(other: str) -> None:
    assert fingerprint(other) != fingerprint(PLAIN)


def test_a_body_that_says_little_has_none() -> None:
    assert fingerprint("def f(self):\n    return self.x\n") == ""
    assert fingerprint('def f(self):\n    """' + "Long. " * 20 + '"""\n    return self.x\n') == ""
