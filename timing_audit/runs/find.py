"""Run files wherever the user points: folders, globs, files, a tar on standard input; of live engines too."""

from __future__ import annotations

import glob
import struct
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from timing_audit.errors import TimingAuditError
from timing_audit.runs.join import join
from timing_audit.runs.model import Process
from timing_audit.runs.read import Damaged, read_run_file
from timing_audit.runtime import ring

SUFFIX = ".tarec"
MOST_BYTES = 8 << 30


class Unread(NamedTuple):
    """A file of which nothing could be read, with the reason."""

    name: str
    reason: str


class Run(NamedTuple):
    """What lies in the places that a user named."""

    processes: tuple[Process, ...]
    unread: tuple[Unread, ...]


def read_run(places: Iterable[str], reading: Callable[[str], None] = lambda name: None) -> Run:
    """Every process of a run; `reading` hears of each file. Raises TimingAuditError where there is none."""
    places = list(places)
    processes: list[Process] = []
    unread: list[Unread] = []
    for name, data in _files(places):
        reading(name)
        try:
            processes.append(join(read_run_file(name, data)))
        except Damaged as error:
            unread.append(Unread(name, str(error)))
    if not processes:
        why = f": {unread[0].name} is {unread[0].reason}" if unread else ""
        raise TimingAuditError(
            f"no run file in {' '.join(places)}{why}",
            hint="run files end in .tarec; the engine writes them once it is switched on, at its next cycle",
        )
    processes.sort(key=lambda one: (one.header.started_ns // 10**12, sorted(one.header.ranks.items()), one.name))
    return Run(tuple(processes), tuple(unread))


def _files(places: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for place in places:
        if place == "-":
            yield from _tar(sys.stdin.buffer)
        elif tarfile_like(place):
            with open(place, "rb") as file:
                yield from _tar(file)
        else:
            for path in run_paths(place):
                yield str(path), _bytes(path)


def tarfile_like(place: str) -> bool:
    """Whether the name is that of a tar archive."""
    return place.endswith((".tar", ".tar.gz", ".tgz", ".tar.xz")) and Path(place).is_file()


def run_paths(place: str) -> list[Path]:
    """The run files of a folder, a glob or a name. Raises TimingAuditError where the name leads nowhere."""
    path = Path(place)
    if path.is_dir():
        return sorted(path.rglob(f"*{SUFFIX}"))
    if path.exists():
        return [path]
    found = [Path(one) for one in sorted(glob.glob(place, recursive=True))]
    if not found:
        raise TimingAuditError(f"{place} does not exist", exit_code=2)
    return [inner for one in found for inner in (run_paths(str(one)) if one.is_dir() else [one])]


def _bytes(path: Path) -> bytes:
    """The content; what the engine has begun to overwrite meanwhile counts as overwritten."""
    try:
        with path.open("rb") as file:
            data = bytearray(file.read())
            file.seek(0)
            after = file.read(ring.HEAD_SIZE)
        if len(after) == ring.HEAD_SIZE and len(data) >= ring.HEAD_SIZE:
            struct.pack_into("<q", data, 8 * ring.RESERVED, struct.unpack_from("<q", after, 8 * ring.RESERVED)[0])
        return bytes(data)
    except OSError as error:
        raise TimingAuditError(f"{path} cannot be read: {error.strerror or error}") from None


def _tar(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(fileobj=stream, mode="r|*") as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(SUFFIX) and member.size <= MOST_BYTES:
                    file = archive.extractfile(member)
                    if file is not None:
                        yield member.name, file.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise TimingAuditError(f"the archive is damaged: {error}") from None
