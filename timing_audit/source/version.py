"""The version of an audited package, read from text; nothing is executed."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable

_METADATA = re.compile(r"^Version:[ \t]*(\S+)", re.MULTILINE)
_ASSIGNED = re.compile(r"""^__version__\s*(?::[^=\n]*)?=\s*(?:version\s*=\s*)?['"]([^'"\n]+)['"]""", re.MULTILINE)
_PYPROJECT = re.compile(
    r"""^\[project\]\s*$(?:(?!^\[).)*?^version\s*=\s*['"]([^'"\n]+)['"]""", re.MULTILINE | re.DOTALL
)

_PLACEHOLDER = "0.0.0"
"""What source trees say whose version is made at build time."""


def find_version(read: Callable[[str], str], package: str, metadata: Iterable[str]) -> str:
    """The version that the first telling text gives, or ""; `read` gives "" for what is not there.

    Names are relative to the import root; `metadata` lists the METADATA and PKG-INFO files that exist.
    """
    dist = re.sub(r"[-_.]+", "_", package).lower()
    for name in sorted(metadata):
        if fnmatch.fnmatchcase(name.lower(), f"{dist}-*.dist-info/metadata"):
            return _first(_METADATA, read(name).split("\n\n", 1)[0])
    for name in ("_version.py", "version.py", "__init__.py"):
        version = _first(_ASSIGNED, read(f"{package}/{name}"))
        if version and not version.startswith(_PLACEHOLDER):
            return version
    return _first(_PYPROJECT, read("pyproject.toml"))


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match else ""
