"""What the hook finds in staged files."""

from __future__ import annotations

from typing import NamedTuple


class Staged(NamedTuple):
    """A staged file: its name from the import root, the name it was given by, its text in UTF-8."""

    path: str
    given: str
    data: bytes


class Loss(NamedTuple):
    """A function or wrapper of a staged file that times less; `phases` are empty for a wrapper."""

    file: str
    line: int
    qualname: str
    phases: tuple[str, ...]
    stage: str | None
    why: str


class Mark(NamedTuple):
    """The mark of an inserted timer; `probe` is its id."""

    file: str
    line: int
    probe: str
