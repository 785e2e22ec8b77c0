"""Targets that lie on disk: a checkout, its source folder, a package or a part of it, any folder, one file."""

from __future__ import annotations

import os
from pathlib import Path

from timing_audit.errors import TimingAuditError
from timing_audit.model.source import Skipped
from timing_audit.source import layout as layouts
from timing_audit.source.decode import Unreadable
from timing_audit.source.layout import ENGINE, Layout
from timing_audit.source.scan import FolderReader, Listing, list_python, read_file
from timing_audit.source.tree import Tree, label_of
from timing_audit.source.version import find_version

PACKAGE_MAX_DEPTH = 12
"""How many folders up a package's top may lie."""

NAMESPACE_MAX_DEPTH = 3
"""How many folders without `__init__.py` may lie between two with one: `sglang/srt/` is such a folder."""

_PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


def open_folder(folder: str) -> Tree:
    """The Python files of a folder, or of the package that it holds or belongs to."""
    base = os.path.abspath(folder)
    layout = _known_layout(base)
    listing = list_python(base, layout.only if layout else "")
    if layout is None:
        layout = layouts.in_folder(listing.members)
    part = layout.add.rstrip("/") if layout.add.count("/") > 1 else ""
    return _tree(base, os.path.basename(base) or base, part, layout, listing)


def open_file(file: str) -> Tree:
    """One Python file, named from its package where it lies in one."""
    base, name = os.path.split(os.path.abspath(file))
    layout = Layout(add=package_prefix(base))
    return _tree(base, name, layout.path(name) if layout.add else "", layout, Listing((name,), ()))


def package_prefix(folder: str) -> str:
    """The import path of a folder, ending in `/`, or "" where it lies in no package."""
    names: list[str] = []
    depth = 0
    while len(names) < PACKAGE_MAX_DEPTH:
        folder, name = os.path.split(folder)
        names.append(name)
        if not name.isidentifier():
            break
        if os.path.isfile(os.path.join(folder, name, "__init__.py")):
            depth = len(names)
        elif len(names) - depth > NAMESPACE_MAX_DEPTH or _is_project(os.path.join(folder, name)):
            break
    return "".join(f"{name}/" for name in reversed(names[:depth]))


def _known_layout(base: str) -> Layout | None:
    homes = [home for home in layouts.ENGINE_HOMES if os.path.isfile(os.path.join(base, home, ENGINE, "__init__.py"))]
    prefix = "" if homes[:1] == ["python/"] else package_prefix(base)
    if prefix:
        return Layout(add=prefix)
    return Layout(strip=homes[0], only=f"{homes[0]}{ENGINE}/") if homes else None


def _is_project(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, mark)) for mark in _PROJECT_MARKS)


def _tree(base: str, name: str, part: str, layout: Layout, listing: Listing) -> Tree:
    paths = tuple(sorted(layout.path(member) for member in layout.select(listing.members)))
    skipped = tuple(Skipped(layout.path(entry.file) or ".", entry.reason) for entry in listing.skipped)
    if not paths:
        raise _nothing(name, skipped)
    root = Path(base).parents[layout.add.count("/") - 1] if layout.add else Path(base, layout.strip)
    package = layouts.package_of(paths, layout)
    version = find_version(_Texts(root), package, _metadata(root)) if package else ""
    label = label_of(package, version, name=name, part=part)
    return Tree(label, package, version, paths, skipped, layout, FolderReader(base), root)


def _nothing(name: str, skipped: tuple[Skipped, ...]) -> TimingAuditError:
    if skipped:
        first = skipped[0]
        return TimingAuditError(f"no Python file of {name} can be read: {first.file}: {first.reason}")
    return TimingAuditError(
        f"no Python files in {name}", hint="name a checkout, a package folder, a file or an archive"
    )


class _Texts:
    """Reads small texts below an import root, "" for what is not there."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __call__(self, name: str) -> str:
        try:
            return read_file(str(self._root / name)).decode("utf-8", "replace")
        except Unreadable:
            return ""


def _metadata(root: Path) -> list[str]:
    try:
        names = os.listdir(root)
    except OSError:
        return []
    return [f"{name}/METADATA" for name in names if name.endswith(".dist-info")]
