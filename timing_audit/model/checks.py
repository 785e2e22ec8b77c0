"""What a check says of itself: what `explain`, the docs and the tests read."""

from __future__ import annotations

from typing import NamedTuple

SEVERITIES = ("error", "warning", "info")
CONFIDENCES = ("high", "medium", "low")
EVERY_FUNCTION = ("*",)


class CheckExample(NamedTuple):
    """Code that shows a check; a line with `# finds: id` is where it reports.

    `entries` are where its hot path starts: every function by default, the packs' entry points where it is empty.
    """

    name: str
    code: str
    entries: tuple[str, ...] = EVERY_FUNCTION


class CheckPage(NamedTuple):
    """One check in words: `severity` is the worst that it gives, `hint` what to do about a finding."""

    id: str
    summary: str
    rationale: str
    severity: str
    hint: str
    bad: tuple[CheckExample, ...]
    good: tuple[CheckExample, ...]
