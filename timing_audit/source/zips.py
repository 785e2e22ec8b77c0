"""Zip archives and wheels: the index is read once, the members one at a time."""

from __future__ import annotations

import contextlib
import os
import stat
import zipfile
import zlib

from timing_audit.errors import TimingAuditError
from timing_audit.source import limits
from timing_audit.source.archives import Archive, Intake, damaged, link_target
from timing_audit.source.decode import Unreadable

_LINK_TARGET_MAX_BYTES = 4096


def read_zip(name: str, path: str) -> Archive:
    """Read the index of a zip archive."""
    intake = Intake(name)
    names: dict[str, str] = {}
    try:
        reader = ZipReader(path, names)
        for entry in reader.archive.infolist():
            _take(intake, names, entry, reader)
    except zipfile.BadZipFile as error:
        raise damaged(name, str(error)) from None
    except OSError as error:
        raise TimingAuditError(f"{name} cannot be read: {error.strerror or error}") from None
    return intake.finish(reader)


class ZipReader:
    """Reads members from one open archive, opened anew in a process that was forked or handed it."""

    def __init__(self, path: str, names: dict[str, str]) -> None:
        self._path = path
        self._names = names
        self._open()

    @property
    def archive(self) -> zipfile.ZipFile:
        """The open archive of this process."""
        # Two processes that share a file position read each other's bytes.
        if self._pid != os.getpid():
            self._open()
        return self._archive

    def __call__(self, member: str) -> bytes:
        """The bytes of a member of the archive."""
        return self.read_entry(self._names[member])

    def read_entry(self, name: str) -> bytes:
        """The bytes of an entry by its name in the index."""
        try:
            return self.archive.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise Unreadable(f"damaged in the archive: {' '.join(str(error).split())}") from None
        except (RuntimeError, NotImplementedError) as error:
            raise Unreadable(f"cannot be unpacked: {' '.join(str(error).split())}") from None

    def __reduce__(self) -> tuple[type[ZipReader], tuple[str, dict[str, str]]]:
        return ZipReader, (self._path, self._names)

    def _open(self) -> None:
        self._archive = zipfile.ZipFile(self._path)
        self._pid = os.getpid()


def _take(intake: Intake, names: dict[str, str], entry: zipfile.ZipInfo, reader: ZipReader) -> None:
    intake.count(entry.file_size)
    if entry.is_dir():
        return
    if stat.S_ISLNK(entry.external_attr >> 16):
        _take_link(intake, entry, reader)
        return
    member = intake.admit(entry.filename, entry.file_size)
    if member and _is_bomb(entry):
        intake.members.discard(member)
        intake.refuse(member, f"unpacks to more than {limits.MAX_RATIO} times its size")
    elif member:
        names[member] = entry.filename


def _take_link(intake: Intake, entry: zipfile.ZipInfo, reader: ZipReader) -> None:
    target = ""
    if entry.file_size <= _LINK_TARGET_MAX_BYTES:
        with contextlib.suppress(Unreadable):
            target = reader.read_entry(entry.filename).decode("utf-8", "surrogateescape")
    # A target that cannot be read is as good as one that leads out.
    intake.link(entry.filename, link_target(entry.filename, target) if target else None)


def _is_bomb(entry: zipfile.ZipInfo) -> bool:
    packed = max(entry.compress_size, 1)
    return entry.file_size > limits.RATIO_MATTERS_FROM and entry.file_size > packed * limits.MAX_RATIO
