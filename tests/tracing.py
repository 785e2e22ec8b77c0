"""The program layer over small programs and whole releases, as its tests drive it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet

from timing_audit.model.pack import HintRule, Packs, Rule
from timing_audit.packs.load import load_packs
from timing_audit.program.engine import Engine
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.hotpath import Explorer, HotPath
from timing_audit.program.library import Library, Sources, Unit
from timing_audit.source.tree import Tree


class Program:
    """Sources held in memory: a program of a test, written as `# --- file: path` parts."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = dict(files)

    @property
    def paths(self) -> Sequence[str]:
        return sorted(self._files)

    def utf8(self, path: str) -> bytes:
        return self._files[path].encode()


class TreeSources(NamedTuple):
    """The files of a target that was opened."""

    tree: Tree

    @property
    def paths(self) -> Sequence[str]:
        return self.tree.paths

    def utf8(self, path: str) -> bytes:
        return self.tree.read(path).data


@contextmanager
def room_to_recurse() -> Iterator[None]:
    """What the pipeline allows a whole release."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@cache
def engine() -> Engine:
    """What the shipped packs say of SGLang."""
    return Engine(load_packs())


def pack_rules() -> Sequence[Rule]:
    """Every rule of the shipped packs."""
    return load_packs().rules


def starts_a_cycle(data: bytes) -> bool:
    """Whether a file of a release must be read before the search for its hot path: its loops, and its modes."""
    return b"def event_loop_" in data or b"class ForwardMode" in data


def split_files(text: str, default: str = "main.py") -> dict[str, str]:
    """The files of a text in which `# --- file: path` lines stand before each; without one, it is one file."""
    files: dict[str, list[str]] = {}
    name = default
    for line in text.splitlines(keepends=True):
        if line.startswith("# --- file:"):
            name = line.removeprefix("# --- file:").strip()
            files[name] = []
        else:
            files.setdefault(name, []).append(line)
    return {path: "".join(lines) for path, lines in files.items()}


@cache
def unhinted() -> Engine:
    """The same without what the packs say of types: the call graph must not hang on it."""
    packs = load_packs().packs
    return Engine(
        Packs(tuple(replace(pack, rules=tuple(r for r in pack.rules if not isinstance(r, HintRule))) for pack in packs))
    )


def explorer(sources: Sources, wanted: Callable[[bytes], bool], rules: Engine | None = None) -> Explorer:
    """An explorer that has read the files whose text is wanted; it reads others when a path leads there."""
    rules = rules or engine()
    library = Library(sources, rules.leaves)
    evaluator = Evaluator(library, rules.calls)

    def remember(unit: Unit) -> None:
        evaluator.attributes.want_again(unit)
        evaluator.classes.note(unit)
        evaluator.registrations.note(unit)

    library.on_unit = remember
    for path in sources.paths:
        if wanted(sources.utf8(path)):
            library.unit(path)
    return Explorer(library, evaluator, rules)


def trace_program(text: str, *globs: str) -> HotPath:
    """The hot path of a small program, all of whose files are read."""
    found = explorer(Program(split_files(text)), lambda data: True)
    return found.trace(found.entry_states(globs))


def release_explorer(tree: Tree, rules: Engine | None = None) -> Explorer:
    """An explorer over a release that has read where its cycle starts and what its modes are."""
    return explorer(TreeSources(tree), starts_a_cycle, rules)


def trace_release(tree: Tree, rules: Engine | None = None) -> HotPath:
    """The hot path of a release from the entry points that the packs name."""
    found = release_explorer(tree, rules)
    return found.trace(found.entry_states())


def shapes(folder: Path, but: Sequence[str] = (), only: Sequence[str] = ()) -> list[ParameterSet]:
    """The programs of the data files in a folder, as parameters; one that fails as yet says why in `xfail`.

    A `prelude` is added to each program of its file.
    """
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    found = []
    for path in sorted(folder.glob("*.toml")):
        if path.stem in but or (only and path.stem not in only):
            continue
        data = toml.loads(path.read_text(encoding="utf-8"))
        for shape in data["shape"]:
            reason = shape.get("xfail")
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            code = shape["code"].lstrip("\n") + data.get("prelude", "").lstrip("\n")
            found.append(pytest.param(code, id=f"{path.stem}: {shape['name']}", marks=marks))
    return found
