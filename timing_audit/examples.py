"""Runs the examples of rules through the real passes; for `rules test` and for pytest."""

from __future__ import annotations

import re
from typing import NamedTuple

from timing_audit.model.pack import Example, Packs, Rule
from timing_audit.pipeline import rules_spoken
from timing_audit.source.layout import Layout
from timing_audit.source.tree import Tree

_MARK = re.compile(r"^# --- file: (\S+)\s*$")
UNNAMED = "example.py"


class Failure(NamedTuple):
    """An example that does not hold; `line` is that of its code."""

    rule: Rule
    example: Example
    line: int
    message: str

    def __str__(self) -> str:
        return (
            f"{self.rule.file}:{self.rule.line}: {self.rule.id}, `{self.example.name}` line {self.line}: {self.message}"
        )


def run_examples(packs: Packs) -> tuple[list[Failure], int]:
    """The failures of all examples, and how many examples there are."""
    failures: list[Failure] = []
    total = 0
    for rule in packs.rules:
        for example in rule.examples:
            total += 1
            failures += check(rule, example, packs)[:1]
    return failures, total


def check(rule: Rule, example: Example, packs: Packs) -> list[Failure]:
    """What is wrong with one example.

    Each expectation must be met, each gap must still be one, and the rule itself speaks of no other line.
    """
    said = {(found.line, found.rule) for found in rules_spoken(example_tree(example.code), packs)}
    missed = [(line, f"{wanted} was expected") for line, wanted in example.expected if (line, wanted) not in said]
    closed = [(line, f"{gap} is found now: a gap no more") for line, gap in example.gaps if (line, gap) in said]
    known = {*example.expected, *example.gaps}
    more = [(line, f"{name} was not expected") for line, name in said if name == rule.id and (line, name) not in known]
    return [Failure(rule, example, line, message) for line, message in sorted(missed + closed + more)]


def example_tree(code: str) -> Tree:
    """The files of an example; every line keeps its number in the example's code."""
    files: dict[str, list[str]] = {}
    current = UNNAMED
    for number, line in enumerate(code.split("\n")):
        marked = _MARK.match(line)
        if marked:
            current = marked[1]
        lines = files.setdefault(current, [])
        lines += [""] * (number - len(lines))
        lines.append(line)
    content = {path: "\n".join(lines).encode() for path, lines in files.items()}
    return Tree("example", "", "", tuple(sorted(content)), (), Layout(), content.__getitem__)
