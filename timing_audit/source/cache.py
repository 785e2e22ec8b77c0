"""Where the tool keeps what it can make or fetch again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from timing_audit.errors import TimingAuditError

WHEELS, REPORTS = "wheels", "reports"
KINDS = (WHEELS, REPORTS)
"""The folders of the cache; what else lies there is not ours."""


def cache_root() -> Path:
    """`TIMING_AUDIT_CACHE`, else `timing-audit` in the user's cache folder; nothing is created."""
    own = os.environ.get("TIMING_AUDIT_CACHE", "")
    if own:
        return Path(os.path.abspath(os.path.expanduser(own)))
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path is to be ignored.
    home = Path(shared) if os.path.isabs(shared) else Path(os.path.expanduser("~"), ".cache")
    return home / "timing-audit"


class Content(NamedTuple):
    """What the tool keeps in its cache."""

    files: int
    size_bytes: int


def content() -> Content:
    """How much is kept; nothing where there is no cache."""
    sizes = [path.lstat().st_size for path in _kept()]
    return Content(len(sizes), sum(sizes))


def clear() -> Content:
    """Removes what the tool keeps, and only that: the folder may be shared. Gives back what was removed.

    Raises TimingAuditError where something cannot be removed.
    """
    before = content()
    for folder in _folders():
        _remove(folder)
    return before


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:  # another run was quicker
        return
    except OSError as error:
        raise TimingAuditError(f"{folder} cannot be removed: {error.strerror or error}") from None


def _folders() -> list[Path]:
    found = (cache_root() / kind for kind in KINDS)
    return [folder for folder in found if folder.is_dir() and not folder.is_symlink()]


def _kept() -> list[Path]:
    return [path for folder in _folders() for path in folder.rglob("*") if not path.is_dir()]
