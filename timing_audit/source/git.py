"""Which lines of a tree differ from a git revision, as git itself tells it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from timing_audit.errors import USAGE, TimingAuditError

Ranges = tuple[tuple[int, int], ...]
"""Inclusive lines of the file as it is now; where lines were only removed, those around the place."""
WHOLE: Ranges = ((1, 1_000_000_000),)

_HUNK = re.compile(rb"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_PLAIN = (
    "--unified=0", "--relative", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/",
    "--dst-prefix=b/",
)  # fmt: skip


def changed_lines(root: Path, revision: str) -> Mapping[str, Ranges]:
    """By path from `root`, what differs from the revision, untracked files included.

    Raises TimingAuditError where there is no repository or no such revision.
    """
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        if _git(root, "rev-parse", "--git-dir") is None:
            raise TimingAuditError(f"--diff {revision}: the target is in no git repository", exit_code=USAGE)
        raise TimingAuditError(f"--diff {revision}: git knows no such revision", exit_code=USAGE)
    base = commit.decode().strip()
    patch = _git(root, "-c", "core.quotePath=false", "diff", *_PLAIN, base, "--", ".")
    fresh = _git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
    found = _hunks(patch or b"")
    return found | {name.decode("utf-8", "replace"): WHOLE for name in (fresh or b"").split(b"\0") if name}


def _git(root: Path, *arguments: str) -> bytes | None:
    """What git says; None where it fails."""
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        raise TimingAuditError("--diff needs git, which is not installed", exit_code=USAGE) from None
    return done.stdout if done.returncode == 0 else None


def _hunks(patch: bytes) -> dict[str, Ranges]:
    found: dict[str, Ranges] = {}
    file = ""
    for line in patch.split(b"\n"):
        if line.startswith(b"+++ "):
            file = _name(line[4:])
        elif file and (hunk := _HUNK.match(line)):
            start, count = int(hunk[1]), int(hunk[2]) if hunk[2] is not None else 1
            lines = (start, start + count - 1) if count else (start, start + 1)
            found[file] = (*found.get(file, ()), lines)
    return found


def _name(written: bytes) -> str:
    """The path behind `+++ `; empty for a file that is gone."""
    name = written.split(b"\t")[0].rstrip(b"\r")
    if name.startswith(b'"'):
        name = name.strip(b'"').decode("unicode_escape").encode("latin-1")
    return name.decode("utf-8", "replace").removeprefix("b/") if name.startswith(b"b/") else ""
