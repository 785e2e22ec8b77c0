"""Which file configures a run: the one that was named, else the nearest from the current folder upwards."""

from __future__ import annotations

import os
from pathlib import Path

from timing_audit.config.read import TABLE, read_config
from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.model.config import Config

OWN, SHARED = "timing-audit.toml", "pyproject.toml"
_MARK = TABLE.encode()


def find_config(named: str | None = None, folder: str = os.curdir) -> Config:
    """The configuration. Raises TimingAuditError with every fault of the file.

    In one folder `timing-audit.toml` goes before `pyproject.toml`, which only counts with a table of ours.
    The search ends at the top of a git repository.
    """
    if named is not None:
        return read_config(named, _read(named), shared=Path(named).name == SHARED, must=True)
    for place in _upwards(folder):
        for name in (OWN, SHARED):
            file = os.path.join(place, name)
            if os.path.isfile(file):
                content = _read(file)
                if name == OWN or _MARK in content:
                    found = read_config(_shown(file), content, shared=name == SHARED)
                    if found.file:
                        return found
    return Config()


def _upwards(folder: str) -> list[str]:
    places, here = [], os.path.abspath(folder)
    while True:
        places.append(here)
        above = os.path.dirname(here)
        if above == here or os.path.exists(os.path.join(here, ".git")):
            return places
        here = above


def _shown(file: str) -> str:
    """As short as it can be named from here."""
    return os.path.relpath(file)


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise TimingAuditError(f"{file} cannot be read: {error.strerror or error}", exit_code=USAGE) from None
