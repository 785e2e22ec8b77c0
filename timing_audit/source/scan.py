"""Lists the Python files of a folder on disk, and reads them one at a time."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from timing_audit.model.source import Skipped
from timing_audit.source.decode import Unreadable
from timing_audit.source.layout import is_python_name, is_source_name
from timing_audit.source.limits import MAX_FILE_BYTES, too_large

_VENV_MARK = "pyvenv.cfg"


class Listing(NamedTuple):
    """What a folder holds; members are POSIX and relative to it, both sorted."""

    members: tuple[str, ...]
    skipped: tuple[Skipped, ...]


def list_python(base: str, start: str = "") -> Listing:
    """The Python files below `base/start`, named from `base`; links are followed inside `base` only."""
    walk = _Walk(base, start)
    real = walk.real_name(start)
    walk.folder(start, f"{real}/" if real else "")
    walk.follow_links()
    return Listing(tuple(sorted(walk.files)), tuple(sorted(walk.skipped)))


def read_file(path: str) -> bytes:
    """The bytes of a file, which may be gone, locked or huge by now: `Unreadable` then."""
    try:
        with open(path, "rb", buffering=0) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > MAX_FILE_BYTES:
                raise Unreadable(too_large(size))
            return stream.readall()
    except OSError as error:
        raise Unreadable(_os_reason(error)) from None


@dataclass(frozen=True)
class FolderReader:
    """Reads the members of a folder."""

    base: str

    def __call__(self, member: str) -> bytes:
        """The bytes of a member of the folder."""
        return read_file(os.path.join(self.base, member))


class _Walk:
    """One walk over a folder: real files first, so that a link never hides or doubles one."""

    def __init__(self, base: str, start: str) -> None:
        self.base = base
        self.real_base = os.path.realpath(base)
        self.bounds = (self.real_base, os.path.realpath(os.path.join(base, start)))
        self.seen: set[str] = set()
        self.files: list[str] = []
        self.links: list[str] = []
        self.skipped: list[Skipped] = []

    def folder(self, prefix: str, real: str) -> None:
        """Walk a folder; both its name and its real one are relative to the base and end in `/`, or are empty."""
        pending = [(prefix, real)]
        while pending:
            prefix, real = pending.pop()
            if real not in self.seen:
                self.seen.add(real)
                pending.extend(self._visit(prefix, real))

    def follow_links(self) -> None:
        """Walk what links lead to, where nothing else led there."""
        while self.links:
            pending, self.links = sorted(self.links), []
            for link in pending:
                self._follow(link)

    def real_name(self, member: str) -> str:
        """The name of what a member leads to, through all links."""
        real = os.path.relpath(os.path.realpath(os.path.join(self.base, member)), self.real_base)
        return "" if real == "." else real.replace(os.sep, "/")

    def _visit(self, prefix: str, real: str) -> Iterator[tuple[str, str]]:
        entries = self._entries(prefix)
        if prefix and any(entry.name == _VENV_MARK for entry in entries):
            return
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if self._holds_source(prefix, name):
                    yield f"{prefix}{name}/", f"{real}{name}/"
            elif entry.is_symlink():
                self.links.append(prefix + name)
            elif is_python_name(name):
                self._add(prefix + name, real + name, entry.is_file(follow_symlinks=False))

    def _entries(self, prefix: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(os.path.join(self.base, prefix)) as found:
                return list(found)
        except OSError as error:
            self._skip(prefix.rstrip("/"), _os_reason(error))
            return []

    def _holds_source(self, prefix: str, name: str) -> bool:
        if is_source_name(name):
            return True
        return not name.startswith(".") and os.path.isfile(os.path.join(self.base, prefix, name, "__init__.py"))

    def _add(self, member: str, real: str, regular: bool) -> None:
        if real in self.seen:
            return
        self.seen.add(real)
        if not regular:
            self._skip(member, "not a regular file")
        elif not member.isascii() and _printable(member) != member:
            self._skip(member, "its name is not UTF-8")
        else:
            self.files.append(member)

    def _follow(self, link: str) -> None:
        path = os.path.join(self.base, link)
        prefix, _, name = link.rpartition("/")
        is_folder = os.path.isdir(path)
        if not (self._holds_source(f"{prefix}/" if prefix else "", name) if is_folder else is_python_name(name)):
            return
        fault = self._link_fault(path)
        if fault:
            self._skip(link, fault)
        elif is_folder:
            real = self.real_name(link)
            self.folder(f"{link}/", f"{real}/" if real else "")
        else:
            self._add(link, self.real_name(link), os.path.isfile(path))

    def _link_fault(self, path: str) -> str:
        try:
            os.stat(path)
        except FileNotFoundError:
            return "dangling symbolic link"
        except OSError as error:
            return "symbolic link loop" if error.errno == errno.ELOOP else _os_reason(error)
        real = os.path.realpath(path)
        inside = any(os.path.commonpath((real, bound)) == bound for bound in self.bounds)
        return "" if inside else "symbolic link leads out of the tree"

    def _skip(self, member: str, reason: str) -> None:
        self.skipped.append(Skipped(_printable(member), reason))


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _os_reason(error: OSError) -> str:
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return "gone since the folder was listed"
    return f"cannot be read: {error.strerror or type(error).__name__}"
