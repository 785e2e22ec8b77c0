"""What the pre-commit hook says: a line for each place, or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from timing_audit.model.source import Skipped
from timing_audit.model.staged import Loss, Mark

SCHEMA = 1


class HookResult(NamedTuple):
    """Everything that one run of the hook found; `next` are argument vectors of what to run now."""

    losses: tuple[Loss, ...]
    probes: tuple[Mark, ...]
    skipped: tuple[Skipped, ...]
    next: tuple[tuple[str, ...], ...]


def hook_text(result: HookResult) -> str:
    """One line a place."""
    lines = [f"{loss.file}:{loss.line}: {loss.qualname}{_where(loss)}: {loss.why}" for loss in result.losses]
    lines += [f"{mark.file}:{mark.line}: an inserted timer, {mark.probe}" for mark in result.probes]
    return "".join(f"{line}\n" for line in lines)


def hook_json(result: HookResult) -> str:
    """The same as a document."""
    document = {
        "schema": SCHEMA,
        "losses": [loss._asdict() for loss in result.losses],
        "probes": [mark._asdict() for mark in result.probes],
        "skipped": [entry._asdict() for entry in result.skipped],
        "next": result.next,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _where(loss: Loss) -> str:
    told: Sequence[str] = [*([loss.stage] if loss.stage else []), *(["+".join(loss.phases)] if loss.phases else [])]
    return f" ({', '.join(told)})" if told else ""
