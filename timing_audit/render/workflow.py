"""The commands of a whole day, in order, with what each is for."""

from __future__ import annotations

import json
import shlex
from typing import NamedTuple


class Step(NamedTuple):
    """One command; `command` is empty for what is done outside the tool."""

    about: str
    command: tuple[str, ...]


RUN, OTHER = "RUN_DIR", "OTHER_RUN_DIR"
STEPS = (
    Step("See what nobody measures", ("timing-audit", "scan", "TARGET", "--worker", "EAGLE3")),
    Step("Ask why a function is hot", ("timing-audit", "graph", "TARGET", "--to", "FUNCTION")),
    Step("Ask what a finding means", ("timing-audit", "explain", "CHECK-ID")),
    Step("Look at the timers that would be inserted", ("timing-audit", "apply", "TARGET", "--worker", "EAGLE3")),
    Step("Insert them", ("timing-audit", "apply", "--codemod", "TARGET", "--worker", "EAGLE3")),
    Step("Restart the engine, with a folder for its run files", ("export", f"TIMING_AUDIT_DIR={RUN}")),
    Step("See what is inserted, and what runs", ("timing-audit", "status", "TARGET")),
    Step("Measure while it serves", ("timing-audit", "record", RUN, "--level", "device", "--for", "30s")),
    Step("Read the breakdown of the cycle", ("timing-audit", "report", RUN)),
    Step("Change one thing, measure again, and compare", ("timing-audit", "compare", RUN, OTHER)),
    Step("Take the timers out again, byte for byte", ("timing-audit", "strip", "TARGET")),
    Step(
        "Keep what is timed now from getting lost",
        ("timing-audit", "scan", "TARGET", "--baseline", "timing-audit-baseline.json", "--update-baseline"),
    ),
)


def workflow_text() -> str:
    """The day for a terminal."""
    lines = ["A day with timing-audit: from a guess to a figure, and back to a clean tree.", ""]
    for number, step in enumerate(STEPS, start=1):
        lines += [f"{number:>2}. {step.about}:", f"      {shlex.join(step.command)}"]
    return "\n".join(lines) + "\n"


def workflow_json() -> str:
    """The day as a JSON document."""
    listed = [{"about": step.about, "command": list(step.command)} for step in STEPS]
    return json.dumps({"schema": 1, "steps": listed}, indent=1, ensure_ascii=False) + "\n"
