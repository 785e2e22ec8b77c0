"""What is known of one Python file: its text, and what it takes to write the same bytes back."""

from __future__ import annotations

from typing import NamedTuple


class SourceFile(NamedTuple):
    """A decoded file; `data` is its text in UTF-8 without the BOM, which is what tree-sitter reads."""

    path: str
    """POSIX, from the import root: `sglang/srt/managers/scheduler.py`."""
    text: str
    """As decoded, line ends untouched."""
    data: bytes
    encoding: str
    bom: bool
    newline: str
    """The line end that most lines have, for lines that are added."""


class Skipped(NamedTuple):
    """A file or folder that could not be audited, and why."""

    file: str
    reason: str
