"""Rules for people and programs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from timing_audit.model.pack import Rule


def rules_text(rules: Sequence[Rule]) -> str:
    """One line a rule."""
    wide = max(len(rule.id) for rule in rules)
    kind = max(len(rule.kind) for rule in rules)
    return "".join(f"{rule.id:<{wide}}  {rule.kind:<{kind}}  {rule.summary} ({rule.pack})\n" for rule in rules)


def rule_text(rule: Rule) -> str:
    """Everything about one rule."""
    examples = "".join(f"\n{example.name}:\n\n{_indented(example.code)}" for example in rule.examples)
    return f"{rule.id} ({rule.kind}, pack {rule.pack})\n\n{rule.summary}\n{rule.rationale}\n{examples}"


def rules_json(rules: Sequence[Rule]) -> str:
    """The rules as a JSON document."""
    listed = [
        {"id": rule.id, "kind": rule.kind, "pack": rule.pack, "summary": rule.summary, "rationale": rule.rationale,
         "examples": [{"name": example.name, "code": example.code} for example in rule.examples]}
        for rule in rules
    ]  # fmt: skip
    return json.dumps({"schema": 1, "rules": listed}, indent=1, ensure_ascii=False) + "\n"


def _indented(code: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in code.strip("\n").split("\n"))
