"""Where the import root lies in a target: pure functions of member names."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

ENGINE = "sglang"
"""The package looked for, where a target holds more than one thing."""

ENGINE_HOMES = ("python/", "", "src/")
"""Where a folder may hold the engine's package; a checkout's comes first."""

SOURCE_FOLDERS = ("python/", "src/")
"""Folders that are an import root where packages lie right below them."""

ENGINE_MAX_DEPTH = 4
"""How many folders may lie above the engine's package: `name-1.0/python/` takes two."""

_INIT = "__init__.py"
_NOT_SOURCE = frozenset(
    ("__pycache__", "node_modules", "site-packages", "dist-packages", "venv", "env", "build", "dist", "__MACOSX")
)


class Layout(NamedTuple):
    """How member names of a target become paths from the import root, and back."""

    strip: str = ""
    """Leads every member name, and no path."""
    add: str = ""
    """Leads every path, and no member name: the target lies inside a package."""
    only: str = ""
    """Members that do not start so are not audited."""

    def path(self, member: str) -> str:
        """The path from the import root."""
        return self.add + member.removeprefix(self.strip)

    def member(self, path: str) -> str:
        """The name in the target."""
        return self.strip + path.removeprefix(self.add)

    def select(self, members: Iterable[str]) -> list[str]:
        """The members that are audited."""
        return [member for member in members if member.startswith(self.only)]


def in_folder(members: Collection[str]) -> Layout:
    """The layout of a folder that is no package: the engine's package in it, else its source folder, else all."""
    engine = _engine(members)
    if engine is not None:
        return engine
    home = next((folder for folder in SOURCE_FOLDERS if _is_source_folder(folder, members)), "")
    return Layout(strip=home, only=home)


def in_archive(members: Collection[str]) -> Layout:
    """The layout of an archive, which may also be a package without its name, or have one folder on top (sdist)."""
    engine = _engine(members)
    if engine is not None:
        return engine
    if _INIT in members or any(member.startswith("srt/") for member in members):
        # `tar -C .../sglang -c .`: the only package one sends us like that.
        return Layout(add=f"{ENGINE}/")
    top = _single_top(members)
    if not top:
        return in_folder(members)
    inner = in_folder([member.removeprefix(top) for member in members])
    return Layout(strip=top + inner.strip, only=top + inner.only)


def package_of(paths: Collection[str], layout: Layout) -> str:
    """The one top-level package that all paths belong to, or ""."""
    if layout.add:
        return layout.add.split("/", 1)[0]
    tops = {path.split("/", 1)[0] for path in paths}
    top = tops.pop() if len(tops) == 1 else ""
    return top if f"{top}/{_INIT}" in paths else ""


def is_source_name(name: str) -> bool:
    """Whether a folder's own name says that sources may lie in it."""
    return not name.startswith(".") and name not in _NOT_SOURCE and not name.endswith(".egg-info")


def is_python_name(name: str) -> bool:
    """Whether a file's own name says that it is a Python module; `._x.py` is macOS metadata."""
    return name.endswith(".py") and not name.startswith(".")


def is_source_member(member: str, packages: Collection[str]) -> bool:
    """Whether a member is a Python file outside build output, environments and hidden folders."""
    *folders, name = member.split("/")
    if not is_python_name(name):
        return False
    for depth, folder in enumerate(folders, 1):
        if not is_source_name(folder) and (folder.startswith(".") or "/".join(folders[:depth]) not in packages):
            return False
    return True


def _engine(members: Iterable[str]) -> Layout | None:
    tail = f"{ENGINE}/{_INIT}"
    found = [m for m in members if m.endswith(tail) and m.removesuffix(tail)[-1:] in ("", "/")]
    found = [m for m in found if m.count("/") <= ENGINE_MAX_DEPTH]
    if not found:
        return None
    home = min(found, key=lambda m: (m.count("/"), m)).removesuffix(tail)
    return Layout(strip=home, only=f"{home}{ENGINE}/")


def _is_source_folder(folder: str, members: Collection[str]) -> bool:
    below = [m.removeprefix(folder) for m in members if m.startswith(folder)]
    return _INIT not in below and any(m.count("/") == 1 and m.endswith(f"/{_INIT}") for m in below)


def _single_top(members: Collection[str]) -> str:
    tops = {member.split("/", 1)[0] for member in members if "/" in member}
    loose = any("/" not in member for member in members)
    if loose or len(tops) != 1:
        return ""
    top = tops.pop()
    # `name-1.0` cannot be imported, so it is no part of a path; `srt` can.
    return "" if top.isidentifier() else f"{top}/"
