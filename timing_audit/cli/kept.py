"""Reports kept by content: the same files, packs, options and tool give the same report, read instead of worked out.

An entry is written beside its place and moved there, so that two runs at once, a full disk or a kill
leave a whole entry or none. One that cannot be read is worked out anew.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timing_audit import __version__
from timing_audit.source.cache import REPORTS, cache_root

if TYPE_CHECKING:
    from timing_audit.model.options import Options
    from timing_audit.model.pack import Packs
    from timing_audit.model.report import Report
    from timing_audit.source.tree import Tree

MOST_ENTRIES = 40
DAMAGED = (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, TypeError, ValueError, IndexError)


def kept(tree: Tree, packs: Packs, options: Options, make: Callable[[], Report], say: Callable[[str], None]) -> Report:
    """The report that is kept for this input, else the one that `make` gives, which is then kept."""
    place = cache_root() / REPORTS / _key(tree, packs, options)
    found = _read(place)
    if found is not None:
        return found
    report = make()
    try:
        _write(place, report)
    except OSError as error:
        say(f"the report is not kept: {error.strerror or error}")
    return report


class _Plain(pickle.Unpickler):
    """Reads the facts of the model and nothing else: a cache is no place for code."""

    def find_class(self, module: str, name: str) -> Any:
        if not module.startswith("timing_audit.model."):
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a report")
        return super().find_class(module, name)


def _read(place: Path) -> Report | None:
    from timing_audit.model.report import Report

    try:
        with place.open("rb") as file:
            found = _Plain(file).load()
    except DAMAGED:
        return None
    if not isinstance(found, Report):
        return None
    os.utime(place)
    return found


def _write(place: Path, report: Report) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        part.write_bytes(pickle.dumps(report, pickle.HIGHEST_PROTOCOL))
        os.replace(part, place)
    finally:
        part.unlink(missing_ok=True)
    for old in _oldest(place.parent):
        old.unlink(missing_ok=True)


def _oldest(folder: Path) -> list[Path]:
    """What is more than the cache holds, the longest unused."""
    entries = [(path.stat().st_mtime, path) for path in folder.iterdir() if not path.name.startswith(".")]
    return [path for _, path in sorted(entries)[:-MOST_ENTRIES]]


def _key(tree: Tree, packs: Packs, options: Options) -> str:
    digest = blake2b(digest_size=20)
    for part in _parts(tree, packs, options):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _parts(tree: Tree, packs: Packs, options: Options) -> Iterator[bytes]:
    """All that a report depends on."""
    from timing_audit.source.decode import Unreadable

    yield f"{__version__} {tree.label} {tree.package} {tree.version}".encode()
    yield repr((options, tree.skipped)).encode()
    yield pickle.dumps(packs)
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        yield file.read_bytes()
    for path in tree.paths:
        yield path.encode("utf-8", "surrogateescape")
        try:
            yield tree.raw(path)
        except Unreadable as problem:
            yield f"unreadable: {problem}".encode()
