"""A tree as it was without probes, read through its manifests and marks; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from timing_audit.codemod.hunks import undo, undo_moved
from timing_audit.codemod.manifest import MANIFEST, RUNTIME, Manifest, digest, parse
from timing_audit.codemod.statements import Refused, Source
from timing_audit.codemod.text import MARKED, unmark
from timing_audit.codemod.verify import only_probes_gone, same_tree
from timing_audit.errors import UNAUDITABLE, TimingAuditError
from timing_audit.source.decode import Unreadable, decode, encode
from timing_audit.source.tree import Tree


def homes(tree: Tree) -> list[str]:
    """The folders in which a manifest and the runtime may lie: the package, or else every folder."""
    if tree.package:
        return [f"{tree.package}/"]
    return sorted({path[: path.rfind("/") + 1] for path in tree.paths})


def manifests(tree: Tree) -> dict[str, Manifest]:
    """The manifests of a tree, by the folder in which they lie."""
    found: dict[str, Manifest] = {}
    for home in homes(tree):
        data = read(tree, f"{home}{MANIFEST}")
        if data is not None:
            found[home] = parse(data, f"{home}{MANIFEST}")
    return found


def read(tree: Tree, path: str) -> bytes | None:
    """The bytes of a file that may not be there."""
    where = tree.disk_path(path)
    if where is None or not where.is_file():
        return None
    try:
        return where.read_bytes()
    except OSError as error:
        raise TimingAuditError(f"{path} cannot be read: {error.strerror or error}", exit_code=UNAUDITABLE) from None


class Original:
    """The files of a tree without what apply put in."""

    def __init__(self, tree: Tree, known: Mapping[str, Manifest]) -> None:
        self._tree = tree
        self._entries = {f"{home}{path}": entry for home, found in known.items() for path, entry in found.files.items()}

    def original(self, path: str) -> bytes:
        """A file as it was. Raises Refused where its probes cannot be taken out."""
        return self.without(path, self._tree.raw(path))

    def without(self, path: str, data: bytes) -> bytes:
        """These bytes of a file without probes."""
        entry = self._entries.get(path)
        if entry is not None:
            sha = digest(data)
            if sha == entry.original:
                return data
            for version in entry.versions:
                if version.sha256 == sha:
                    return undo(data, version.edits)
        if MARKED not in data:
            return data
        for version in entry.versions if entry is not None else ():
            moved = undo_moved(data, version.edits)
            if moved is not None and self._agrees(path, data, moved):
                return moved
        return _unmarked(path, data)

    def _agrees(self, path: str, data: bytes, moved: bytes) -> bool:
        """Whether taking the edits out says the same as going by the marks, where those can be read."""
        try:
            return MARKED not in moved and same_tree(decode(path, moved).text, decode(path, _unmarked(path, data)).text)
        except (Refused, Unreadable):
            return False


def _unmarked(path: str, data: bytes) -> bytes:
    file = decode(path, data)
    bare = unmark(Source(file.text))
    if not only_probes_gone(file.text, bare):
        raise Refused("its timers cannot be told apart from later edits: take them out by hand")
    return encode(file, bare)


def without_probes(tree: Tree, known: Mapping[str, Manifest]) -> Tree:
    """The tree that a plan is made on: apply is the same whatever was applied before."""
    original = Original(tree, known)
    paths = tuple(path for path in tree.paths if PurePosixPath(path).name != RUNTIME)

    def reader(member: str) -> bytes:
        path = tree.layout.path(member)
        try:
            return original.without(path, tree.reader(member))
        except Refused as refused:
            raise Unreadable(f"its probes cannot be taken out: {refused}") from None

    return replace(tree, paths=paths, reader=reader)
