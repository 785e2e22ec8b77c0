"""What a user may ask of a scan."""

from __future__ import annotations

from typing import NamedTuple


class Options(NamedTuple):
    """`entries` are globs that replace the packs' entry rules; no `phases` or `workers` means all of them.

    `select` and `ignore` choose checks; `no_probes` tells that the target must hold no inserted timer.
    `target` is how the user named it, for the commands that the report proposes.
    """

    entries: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    all_files: bool = False
    target: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    no_probes: bool = False
