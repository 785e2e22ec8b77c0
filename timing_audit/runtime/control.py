"""The level of a process: from the environment at first, then from the control file."""

from __future__ import annotations

import os
import re
import time
from typing import NamedTuple

OFF, HOST, DEVICE = 0, 1, 2
LEVELS = ("off", "host", "device")
ORDER = re.compile(r"(off|host|device)(?:\s+(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)?)?\s*\Z", re.IGNORECASE)
UNITS = {"ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
POLL_NS = 250_000_000


class Order(NamedTuple):
    """What the control file asks for: a level, and for how long; 0 is for good."""

    level: int
    length_ns: int


def read_order(text: str) -> Order | None:
    """The order that a text gives; None where it gives none."""
    found = ORDER.match(text.strip())
    if found is None:
        return None
    length = round(float(found.group(2)) * UNITS[(found.group(3) or "s").lower()]) if found.group(2) else 0
    return Order(LEVELS.index(found.group(1).lower()), length)


class Control:
    """Looks at the control file; knows what it has seen."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.seen: tuple[int, int, int] = (0, 0, 0)
        self.first = True

    def changed(self) -> Order | None:
        """The order, where the file holds one that was not seen before."""
        first, self.first = self.first, False
        try:
            status = os.stat(self.path)
            mark = (status.st_mtime_ns, status.st_ino, status.st_size)
            if mark == self.seen:
                return None
            with open(self.path, encoding="utf-8", errors="replace") as file:
                text = file.read(200)
        except OSError:
            return None
        self.seen = mark
        order = read_order(text)
        if order is None:
            return None
        if first and order.length_ns:
            # A file from before this process: what is left of its time.
            left = order.length_ns - max(0, time.time_ns() - status.st_mtime_ns)
            return order._replace(length_ns=left) if left > 0 else None
        return order


def environment_level(value: str) -> int:
    """The level that `TIMING_AUDIT` asks for; anything unknown is off."""
    word = value.strip().lower()
    return LEVELS.index(word) if word in LEVELS else OFF


def run_folder(value: str) -> str:
    """The run's folder: the named one, else one of this user's below the folder for temporary files."""
    if value:
        return os.path.abspath(os.path.expanduser(value))
    user = os.getuid() if hasattr(os, "getuid") else 0
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"timing-audit-{user}")
