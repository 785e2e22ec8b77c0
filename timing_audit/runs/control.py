"""A live run from outside: who runs at which level, and the control file that changes it."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

from timing_audit.errors import TimingAuditError
from timing_audit.runs.find import run_paths
from timing_audit.runs.read import Damaged, read_run_file
from timing_audit.runtime import ring
from timing_audit.runtime.control import LEVELS

CONTROL = "control"


class Live(NamedTuple):
    """One process as its file's head tells: cheap to read, however long the file."""

    file: str
    rank: str
    pid: int
    alive: bool | None
    """None where the process ran on another machine."""
    level: str
    committed: int
    cycles: int
    lost: int
    errors: int


def look(folder: str) -> list[Live]:
    """Every process with a file in the folder. Raises TimingAuditError where there is no such folder."""
    if not Path(folder).is_dir():
        raise TimingAuditError(f"{folder} is no folder of run files", exit_code=2)
    found = []
    for path in run_paths(folder):
        try:
            found.append(_live(path))
        except (Damaged, OSError, struct.error):  # noqa: PERF203 - once a file
            continue  # about to be made, or of something else; `report` says what is wrong with it
    return found


def _live(path: Path) -> Live:
    with path.open("rb") as file:
        head = file.read(ring.HEAD_SIZE)
        size = struct.unpack_from("<q", head, 8 * ring.SLOT_SIZE)[0]
        data = bytearray(head + file.read(2 * size if 0 < size < 1 << 30 else 0))
    committed = struct.unpack_from("<q", data, 8 * ring.COMMITTED)[0]
    struct.pack_into("<q", data, 8 * ring.COMMITTED, 0)
    struct.pack_into("<q", data, 8 * ring.RESERVED, 0)
    file_read = read_run_file(str(path), bytes(data))
    header, counters = file_read.header, file_read.counters
    ranks = [f"{word.upper()}{header.ranks[word]}" for word in ("dp", "pp", "tp") if word in header.ranks]
    return Live(
        path.name, " ".join(ranks) or f"pid {header.pid}", header.pid, _alive(header.host, header.pid),
        LEVELS[counters.level] if 0 <= counters.level < len(LEVELS) else "off", committed, counters.cycles,
        counters.lost, counters.errors,
    )  # fmt: skip


def _alive(host: str, pid: int) -> bool | None:
    from timing_audit.runtime.facts import host as this_host

    if host != this_host():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def order(folder: str, text: str) -> None:
    """Puts an order into the control file, at once and whole. Raises TimingAuditError where it cannot be written."""
    path = Path(folder) / CONTROL
    part = path.with_name(f".{CONTROL}.{os.getpid()}")
    try:
        part.write_text(f"{text}\n", encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise TimingAuditError(f"{path} cannot be written: {error.strerror or error}") from None


def last_order(folder: str) -> str:
    """What the control file asks for; empty where there is none."""
    path = Path(folder) / CONTROL
    return path.read_text(encoding="utf-8", errors="replace").strip()[:80] if path.is_file() else ""
