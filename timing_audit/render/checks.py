"""Checks for people and programs: what `explain` prints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from timing_audit.model.checks import CheckExample, CheckPage


def page_text(page: CheckPage) -> str:
    """Everything about one check, for a terminal."""
    lines = [f"{page.id} (check, {page.severity} at worst)", "", page.summary, "", page.rationale, ""]
    lines += [f"What to do: {page.hint}.", ""]
    for title, examples in (("reported", page.bad), ("not reported", page.good)):
        for example in examples:
            lines += [f"{title}, {example.name}:", "", *_indented(example), ""]
    return "\n".join(lines)


def page_markdown(page: CheckPage) -> str:
    """Everything about one check, for the docs."""
    lines = [f"## {page.id}", "", f"{page.summary} At worst: {page.severity}.", "", page.rationale, ""]
    lines += [f"What to do: {page.hint}.", ""]
    for title, examples in (("Reported", page.bad), ("Not reported", page.good)):
        for example in examples:
            lines += [f"{title}, {example.name}:", "", "```python", *example.code.rstrip("\n").split("\n"), "```", ""]
    return "\n".join(lines).rstrip("\n")


def page_json(pages: Iterable[CheckPage]) -> str:
    """Checks as a JSON document."""
    listed = [
        {"id": page.id, "severity": page.severity, "summary": page.summary, "rationale": page.rationale,
         "hint": page.hint, "bad": _examples(page.bad), "good": _examples(page.good)}
        for page in pages
    ]  # fmt: skip
    return json.dumps({"schema": 1, "checks": listed}, indent=1, ensure_ascii=False) + "\n"


def _examples(examples: Iterable[CheckExample]) -> list[dict[str, str]]:
    return [{"name": example.name, "code": example.code} for example in examples]


def _indented(example: CheckExample) -> Iterator[str]:
    for line in example.code.strip("\n").split("\n"):
        yield f"    {line}" if line else ""
