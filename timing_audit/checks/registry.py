"""All checks, and which of them a run wants."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from timing_audit.checks import coverage, devices, labels, pairing, remarks, timers
from timing_audit.checks.base import Check
from timing_audit.errors import USAGE, TimingAuditError

CHECKS: tuple[Check, ...] = (
    *coverage.CHECKS, *timers.CHECKS, *pairing.CHECKS, *devices.CHECKS, *labels.CHECKS, *remarks.CHECKS,
)  # fmt: skip


def find(check_id: str) -> Check | None:
    """The check of this id."""
    return next((check for check in CHECKS if check.id == check_id), None)


def chosen(select: Sequence[str], ignore: Sequence[str]) -> tuple[Check, ...]:
    """The checks that a run wants, by ids or globs such as `untimed-*`; all, where none is selected."""
    _refuse_unknown((*select, *ignore))
    wanted = [check for check in CHECKS if not select or _matches(check.id, select)]
    return tuple(check for check in wanted if not _matches(check.id, ignore))


def _matches(check_id: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(check_id, glob) for glob in globs)


def _refuse_unknown(globs: Sequence[str]) -> None:
    ids = [check.id for check in CHECKS]
    for glob in globs:
        if not any(fnmatchcase(known, glob) for known in ids):
            near = get_close_matches(glob, ids, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(ids)}"
            raise TimingAuditError(f"no check is called {glob}", hint=hint, exit_code=USAGE)
