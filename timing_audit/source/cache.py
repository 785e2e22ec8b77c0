"""Where the tool keeps what it can make or fetch again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """`TIMING_AUDIT_CACHE`, else `timing-audit` in the user's cache folder; nothing is created."""
    own = os.environ.get("TIMING_AUDIT_CACHE", "")
    if own:
        return Path(os.path.abspath(os.path.expanduser(own)))
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path is to be ignored.
    home = Path(shared) if os.path.isabs(shared) else Path(os.path.expanduser("~"), ".cache")
    return home / "timing-audit"
