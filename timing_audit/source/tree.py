"""The audited tree, whatever kind of target it came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from timing_audit.model.source import Skipped, SourceFile
from timing_audit.source.decode import decode
from timing_audit.source.layout import Layout

Reader = Callable[[str], bytes]
"""Reads one member of a target by its name there; raises `Unreadable`."""


@dataclass(frozen=True)
class Tree:
    """The Python files of a target, named from its import root and read one at a time."""

    label: str
    """How reports name the target: the same on every machine."""
    package: str
    """The top-level package that is audited, or "" where there is none or more than one."""
    version: str
    paths: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    layout: Layout
    reader: Reader
    root: Path | None = None
    """The import root, where the tree lies on disk."""

    def raw(self, path: str) -> bytes:
        """The bytes of a file, read now; raises `Unreadable`."""
        return self.reader(self.origin(path))

    def read(self, path: str) -> SourceFile:
        """The decoded file; raises `Unreadable`."""
        return decode(path, self.raw(path))

    def origin(self, path: str) -> str:
        """The name of a file in the target as it was given: `python/sglang/...` in a checkout or a tar of it."""
        return self.layout.member(path)

    def disk_path(self, path: str) -> Path | None:
        """Where a file lies on disk, if it does."""
        return None if self.root is None else self.root / path


def label_of(package: str, version: str, *, name: str, part: str = "", kind: str = "") -> str:
    """How reports name a target: its package and version where it has them, else its own name."""
    if not package:
        return name
    title = f"{package} {version}".rstrip() + (f" ({kind})" if kind else "")
    return f"{title}: {part}" if part else title
