"""Tar archives and streams: read once, front to back, Python files kept in memory."""

from __future__ import annotations

import lzma
import tarfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from timing_audit.errors import TimingAuditError
from timing_audit.source import limits
from timing_audit.source.archives import Archive, Intake, bomb, damaged, link_target, normal_name

_DAMAGE = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)
_DRAIN_BYTES = limits.MIB


def read_tar(name: str, stream: BinaryIO, packed_size: int = 0) -> Archive:
    """Read a tar of any compression from a stream; `packed_size`, where known, bounds what it may unpack to."""
    intake = Intake(name)
    contents: dict[str, bytes] = {}
    try:
        for entry, tar in _entries(name, stream):
            _take(intake, contents, entry, tar)
            _check_ratio(intake, packed_size)
    except _DAMAGE as error:
        raise _explain(intake, error) from None
    # The sender of a pipe should not die of our not reading its padding.
    stream.read(_DRAIN_BYTES)
    return intake.finish(contents.__getitem__)


def _entries(name: str, stream: BinaryIO) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    header = _noting_header()
    with tarfile.open(fileobj=stream, mode="r|*", tarinfo=header) as tar:
        for entry in tar:
            yield entry, tar
            # A stream cannot go back, so what tarfile remembers of it is only memory.
            tar.members.clear()  # type: ignore[attr-defined]
    if any(header.last_block) or len(header.last_block) != tarfile.BLOCKSIZE:
        raise damaged(name, "no end-of-archive mark")


def _noting_header() -> type[_Header]:
    # A class of its own for each archive: tarfile takes a class, and calls it for every block it reads.
    return type("_NotedHeader", (_Header,), {"last_block": b""})


class _Header(tarfile.TarInfo):
    """Remembers the last header block: tarfile takes a damaged or missing header for the end of the archive."""

    last_block: bytes = b""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        cls.last_block = bytes(buf)
        return super().frombuf(buf, encoding, errors)


def _take(intake: Intake, contents: dict[str, bytes], entry: tarfile.TarInfo, tar: tarfile.TarFile) -> None:
    intake.count(max(entry.size, 0) if entry.isreg() else 0)
    if entry.issym():
        intake.link(entry.name, link_target(entry.name, entry.linkname))
    elif entry.islnk():
        _take_hard_link(intake, contents, entry)
    elif entry.isreg():
        member = intake.admit(entry.name, entry.size)
        body = tar.extractfile(entry) if member else None
        if body is not None:
            contents[member] = body.read()


def _take_hard_link(intake: Intake, contents: dict[str, bytes], entry: tarfile.TarInfo) -> None:
    # A hard link is a file like its twin, and tar names a twin that came before.
    twin = contents.get(normal_name(entry.linkname))
    if twin is None:
        intake.link(entry.name, normal_name(entry.linkname))
        return
    member = intake.admit(entry.name, len(twin))
    if member:
        contents[member] = twin


def _check_ratio(intake: Intake, packed_size: int) -> None:
    if packed_size and intake.unpacked > max(packed_size * limits.MAX_RATIO, limits.RATIO_MATTERS_FROM):
        raise bomb(intake.name, f"it unpacks to more than {limits.MAX_RATIO} times its size")


def _explain(intake: Intake, error: Exception) -> TimingAuditError:
    message = str(error)
    if intake.entries:
        return damaged(intake.name, message or type(error).__name__)
    if "empty file" in message:
        return TimingAuditError(f"{intake.name} is empty", hint="did the command that makes the archive fail?")
    return TimingAuditError(f"{intake.name} is no tar archive", hint="make one with: tar -C SGLANG -c python")
