"""What it takes to bring a tree back to what it was before apply, by manifest and by marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from timing_audit.codemod.manifest import MANIFEST, RUNTIME, Manifest, digest
from timing_audit.codemod.original import Original, homes, manifests, read
from timing_audit.codemod.statements import Refused
from timing_audit.codemod.text import MARKED
from timing_audit.model.edit import FileChange
from timing_audit.model.source import Skipped
from timing_audit.source.decode import Unreadable
from timing_audit.source.tree import Tree

OWN = RUNTIME.removesuffix(".py").encode()


class Strip(NamedTuple):
    """The changes, the files that changed since apply, and those whose probes cannot be taken out."""

    changes: tuple[FileChange, ...]
    edited: tuple[str, ...]
    stuck: tuple[Skipped, ...]


class Held(NamedTuple):
    """A file with probes; `state` is `applied` or `edited` since, `marks` how many lines carry one."""

    file: str
    state: str
    marks: int


def held(tree: Tree, known: dict[str, Manifest]) -> tuple[Held, ...]:
    """The files that hold probes."""
    states = {
        f"{home}{path}": {version.sha256 for version in entry.versions}
        for home, manifest in known.items()
        for path, entry in manifest.files.items()
    }
    found = []
    for path, data in _marked(tree):
        state = "applied" if digest(data) in states.get(path, ()) else "edited"
        found.append(Held(path, state, data.count(MARKED)))
    return tuple(found)


def _marked(tree: Tree) -> Iterator[tuple[str, bytes]]:
    for path in tree.paths:
        try:
            data = tree.raw(path)
        except Unreadable:
            continue  # nothing was ever put into what cannot be read
        if MARKED in data and not path.endswith(RUNTIME):
            yield path, data


def plan_strip(tree: Tree) -> Strip:
    """Everything that strip will do."""
    known = manifests(tree)
    original = Original(tree, known)
    restored = [_restored(original, path, data) for path, data in _marked(tree)]
    changes = [found for found in restored if isinstance(found, FileChange)]
    stuck = [found for found in restored if isinstance(found, Skipped)]
    edited = [entry.file for entry in held(tree, known) if entry.state == "edited"]
    stuck += _unmarked_users(tree, {change.path for change in changes})
    if not stuck and not _used_elsewhere(tree, known):
        changes += _own(tree)
    return Strip(tuple(change for change in changes if change.before != change.after), tuple(edited), tuple(stuck))


def _unmarked_users(tree: Tree, restored: set[str]) -> Iterator[Skipped]:
    """Files that use the generated module although no mark of ours is left in them."""
    for path in tree.paths:
        if path in restored or path.endswith(RUNTIME):
            continue
        try:
            data = tree.raw(path)
        except Unreadable:
            continue
        if OWN in data and MARKED not in data:
            yield Skipped(path, f"it names {OWN.decode()}, but the marks of its timers are gone: take them out by hand")


def _used_elsewhere(tree: Tree, known: dict[str, Manifest]) -> bool:
    """Whether files of the package that are no part of the target still hold timers."""
    inside = set(tree.paths)
    others = (f"{home}{path}" for home, manifest in known.items() for path in manifest.files)
    return any(MARKED in (read(tree, path) or b"") for path in others if path not in inside)


def _restored(original: Original, path: str, data: bytes) -> FileChange | Skipped:
    try:
        return FileChange(path, data, original.original(path))
    except (Refused, Unreadable) as reason:
        return Skipped(path, str(reason))


def _own(tree: Tree) -> Iterator[FileChange]:
    for home in homes(tree):
        for name in (RUNTIME, MANIFEST):
            data = read(tree, f"{home}{name}")
            if data is not None and is_ours(name, data):
                yield FileChange(f"{home}{name}", data, None)


def is_ours(name: str, data: bytes) -> bool:
    """Whether a file was put in by apply."""
    return name == MANIFEST or b"put in by timing-audit" in data[:400]
