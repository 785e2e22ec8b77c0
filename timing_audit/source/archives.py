"""Archives as members and a reader, without unpacking anything to disk."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from timing_audit.errors import TimingAuditError
from timing_audit.model.source import Skipped
from timing_audit.source import limits
from timing_audit.source.layout import is_python_name, is_source_member
from timing_audit.source.tree import Reader

METADATA_MAX_BYTES = limits.MIB
_METADATA_NAMES = ("METADATA", "PKG-INFO", "pyproject.toml")
_METADATA_MAX_DEPTH = 3


class Archive(NamedTuple):
    """What an archive holds; `metadata` are the members that may tell its version."""

    members: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    metadata: tuple[str, ...]
    reader: Reader


@dataclass
class Intake:
    """Judges an archive's entries one by one: what is kept, what is refused, and when it is a bomb."""

    name: str
    members: set[str] = field(default_factory=set)
    metadata: set[str] = field(default_factory=set)
    skipped: list[Skipped] = field(default_factory=list)
    links: dict[str, str | None] = field(default_factory=dict)
    entries: int = 0
    unpacked: int = 0
    python: int = 0

    def count(self, size: int) -> None:
        """Count an entry of any kind; raise when there is too much of them."""
        self.entries += 1
        self.unpacked += size
        if self.entries > limits.MAX_MEMBERS:
            raise bomb(self.name, f"more than {limits.MAX_MEMBERS} entries")
        if self.unpacked > limits.MAX_UNPACKED_BYTES:
            raise bomb(self.name, f"more than {limits.MAX_UNPACKED_BYTES // limits.MIB} MiB unpacked")

    def link(self, name: str, target: str | None) -> None:
        """Note a Python member that is a link; None leads out of the archive."""
        member = self._wanted(name)
        if member:
            self.links[member] = target

    def admit(self, name: str, size: int) -> str:
        """The normal name of a file to keep, or "" for one that is not."""
        if _is_metadata(name) and size <= METADATA_MAX_BYTES:
            self.metadata.add(normal_name(name))
            return normal_name(name)
        member = self._wanted(name)
        if not member:
            return ""
        if size > limits.MAX_FILE_BYTES:
            return self.refuse(member, limits.too_large(size))
        self.python += size
        if self.python > limits.MAX_TOTAL_BYTES:
            raise bomb(self.name, f"more than {limits.MAX_TOTAL_BYTES // limits.MIB} MiB of Python")
        self.members.add(member)
        return member

    def refuse(self, member: str, reason: str) -> str:
        """Record a skipped member."""
        self.skipped.append(Skipped(member, reason))
        return ""

    def finish(self, reader: Reader) -> Archive:
        """The archive, once all entries are seen: links to what is in it add nothing, the others are skipped."""
        for member in self.links.keys() - self.members:
            fault = self._link_fault(member)
            if fault:
                self.refuse(member, fault)
        packages = {posixpath.dirname(m) for m in self.members if posixpath.basename(m) == "__init__.py"}
        members = tuple(sorted(m for m in self.members if is_source_member(m, packages)))
        skipped = tuple(sorted(s for s in set(self.skipped) if _is_told(s.file, packages)))
        return Archive(members, skipped, tuple(sorted(self.metadata)), reader)

    def _link_fault(self, member: str) -> str:
        passed: set[str] = set()
        end: str | None = member
        while end in self.links:
            if end in passed:
                return "symbolic link loop"
            passed.add(end)
            end = self.links[end]
        if end is None:
            return "link leads out of the archive"
        return "" if end in self.members else "dangling link"

    def _wanted(self, name: str) -> str:
        if not is_python_name(posixpath.basename(name)):
            return ""
        if is_escaping(name):
            return self.refuse(printable(name), "its name leads out of the archive")
        member = normal_name(name)
        return member if printable(member) == member else self.refuse(printable(member), "its name is not UTF-8")


def normal_name(name: str) -> str:
    """A member's name without `./` and doubled slashes."""
    return posixpath.normpath(name)


def is_escaping(name: str) -> bool:
    """Whether unpacking this name would write outside the folder it is unpacked in."""
    return name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/") or name[1:3] in (":\\", ":/")


def link_target(member: str, target: str) -> str | None:
    """The member that a symbolic link names, or None where it leads out of the archive."""
    if target.startswith("/"):
        return None
    resolved = posixpath.normpath(posixpath.join(posixpath.dirname(normal_name(member)), target))
    return None if resolved.startswith("../") or resolved == ".." else resolved


def printable(name: str) -> str:
    """A name that can be printed, whatever bytes it was made of."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def bomb(name: str, what: str) -> TimingAuditError:
    """The refusal of an archive that unpacks to too much."""
    return TimingAuditError(f"{name} is refused: {what}", hint="unpack it yourself and scan the folder")


def damaged(name: str, detail: str) -> TimingAuditError:
    """The refusal of an archive that cannot be read to its end."""
    reason = " ".join(detail.split())
    return TimingAuditError(f"{name} is truncated or damaged ({reason})", hint="fetch it again")


def _is_metadata(name: str) -> bool:
    return posixpath.basename(name) in _METADATA_NAMES and normal_name(name).count("/") <= _METADATA_MAX_DEPTH


def _is_told(file: str, packages: Collection[str]) -> bool:
    return is_escaping(file) or is_source_member(file, packages)
