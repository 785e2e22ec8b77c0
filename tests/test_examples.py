"""Every example of every rule, through the real passes."""

from __future__ import annotations

from functools import cache

import pytest

from timing_audit.examples import check, example_tree
from timing_audit.model.pack import Example, Packs, Rule
from timing_audit.packs.load import load_packs, read_packs


@cache
def packs() -> Packs:
    return load_packs()


EXAMPLES = [(rule, example) for rule in packs().rules for example in rule.examples]


@pytest.mark.parametrize(
    ("rule", "example"), EXAMPLES, ids=[f"{rule.id}: {example.name}" for rule, example in EXAMPLES]
)
def test_example(rule: Rule, example: Example) -> None:
    assert [str(failure) for failure in check(rule, example, packs())] == []


PACK = """
pack = "p"
[[rule]]
id = "ticks"
kind = "clock-read"
family = "t"
calls = ["engine.ticks"]
summary = "s"
rationale = "r"
[[rule.example]]
name = "wrong"
code = '''
import engine
%s
'''
[[rule.example]]
name = "right"
code = '''
import engine
a = engine.ticks()  # expect: ticks
'''
[[rule.example]]
name = "none"
code = '''
pass
'''
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a = engine.tocks()  # expect: ticks", "ticks was expected"),
        ("a = engine.ticks()", "ticks was not expected"),
        ("a = engine.ticks()  # expect-gap: ticks", "ticks is found now: a gap no more"),
    ],
)
def test_an_example_that_does_not_hold_says_why(line: str, message: str) -> None:
    code = f"def f():\n    {line}"
    loaded = read_packs((("p.toml", (PACK % code).encode()),))
    rule = loaded.rules[0]
    assert [(failure.line, failure.message) for failure in check(rule, rule.examples[0], loaded)] == [(3, message)]


def test_files_of_an_example_keep_their_line_numbers() -> None:
    tree = example_tree("import a\n# --- file: a.py\nx = 1\n")
    assert tree.paths == ("a.py", "example.py")
    assert tree.raw("a.py") == b"\n# --- file: a.py\nx = 1\n"
