"""What apply, strip and status say, as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from timing_audit.model.edit import Choice, Plan

Commands = Sequence[Sequence[str]]


def plan_text(plan: Plan, label: str, choice: Choice, *, everything: bool) -> str:
    """Probes by file, then what was refused and why."""
    lines = [
        f"{label}: {_count(len(plan.probes), 'probe')} ({choice.detail}, {choice.backend}, layout {choice.layout})"
    ]
    by_file: dict[str, list[str]] = {}
    for probe in plan.probes:
        by_file.setdefault(probe.file, []).append(
            f"  {probe.file}:{probe.line}  {probe.id} {probe.name}  in {probe.function}"
        )
    shown = [line for held in by_file.values() for line in held]
    lines += shown if everything or len(shown) <= MOST else [f"  {len(v):>4} in {k}" for k, v in by_file.items()]
    if plan.timed:
        lines.append(f"{_count(plan.timed, 'region')} timed already")
    if plan.refusals:
        lines.append(f"{_count(len(plan.refusals), 'region')} refused:")
        for reason, count in Counter(refusal.reason for refusal in plan.refusals).most_common():
            first = next(refusal for refusal in plan.refusals if refusal.reason == reason)
            lines.append(f"  {count:>4} {reason} ({first.file}:{first.line})")
    return "\n".join([*lines, *plan.notes]) + "\n"


MOST = 30


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def plan_json(plan: Plan, choice: Choice, written: Sequence[str], following: Commands) -> str:
    """The plan as other programs read it, without the bytes of files."""
    document = {
        "schema": 1,
        "kind": "plan",
        "detail": choice.detail,
        "backend": choice.backend,
        "layout": choice.layout,
        "probes": [probe._asdict() for probe in plan.probes],
        "refused": [refusal._asdict() for refusal in plan.refusals],
        "timed": plan.timed,
        "changes": [change.path for change in plan.changes if change.before != change.after],
        "written": list(written),
        "notes": list(plan.notes),
        "next": [list(command) for command in following],
    }
    return json.dumps(document, indent=1) + "\n"
