"""The hot path does not hang on names: a tree with other names for its files, classes and functions has the same.

What keeps its name is what the packs speak of, what the language, the standard library and imported packages
own, and names that double as keyword arguments. All other names of modules, classes and functions are replaced,
as words, in the whole text: in code, strings and comments alike. Lines stay what they are, so a function is
known again by its line.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import keyword
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

from tests.tracing import Program as Files
from tests.tracing import TreeSources, explorer, pack_rules, room_to_recurse, starts_a_cycle
from timing_audit.program.library import Sources
from timing_audit.source.target import open_target

MINI = Path(__file__).resolve().parents[1] / "fixtures" / "mini_sglang" / "python"
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
SHORTEST = 3
TYPES = (str, bytes, int, float, list, dict, set, tuple, frozenset, object, type, property)
STANDARD = ("collections", "contextlib", "dataclasses", "enum", "functools", "queue", "threading", "typing", "abc")
# What a torch module runs when it is called.
PROTOCOL = {"forward"}


class Place(NamedTuple):
    """A function that is hot in a phase."""

    file: str
    line: int
    phase: str


class Renaming:
    """Other names for the modules, classes and functions of some files."""

    def __init__(self, files: dict[str, str]) -> None:
        trees = [ast.parse(text) for text in files.values()]
        own = defined(trees) | modules(files)
        foreign = owned_by_others(trees, files) | spoken_of(own)
        self.kept = sorted(own & foreign | {name for name in own if len(name) < SHORTEST})
        new = sorted(own - set(self.kept))
        taken = {word for text in files.values() for word in WORD.findall(text)}
        self.names = {name: other(name, number) for number, name in enumerate(new)}
        assert taken.isdisjoint(self.names.values())

    def text(self, text: str) -> str:
        return WORD.sub(lambda word: self.names.get(word[0], word[0]), text)

    def path(self, path: str) -> str:
        return "/".join(self.text(part) for part in path.split("/"))


def other(name: str, number: int) -> str:
    """A name of the same kind: as private, as much a predicate, as much a class."""
    private = name[: len(name) - len(name.lstrip("_"))]
    bare = name.lstrip("_")
    kind = "is_" if bare.startswith("is_") else ""
    return f"{private}{kind}{'Zq' if bare[:1].isupper() else 'zq'}{number}"


def defined(trees: Iterable[ast.Module]) -> set[str]:
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, definitions)}
    return {name for name in names if not name.startswith("__")}


def modules(files: Iterable[str]) -> set[str]:
    parts = {part for path in files for part in PurePosixPath(path).with_suffix("").parts}
    return {part for part in parts if not part.startswith("__")}


def owned_by_others(trees: Iterable[ast.Module], files: Iterable[str]) -> set[str]:
    """Names of the language, of the standard library, of imported packages, and of keyword arguments."""
    found = {*keyword.kwlist, *dir(builtins), *sys.stdlib_module_names, *PROTOCOL}
    found.update(name for type_ in TYPES for name in dir(type_))
    top = {path.split("/")[0].removesuffix(".py") for path in files}
    used = set(STANDARD)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg:
                found.add(node.arg)
        used |= imported(tree, top, found)
    for module in used & sys.stdlib_module_names:
        found |= surface(module)
    return found


def imported(tree: ast.Module, top: set[str], found: set[str]) -> set[str]:
    """Adds what a file takes from outside, and what it reads of that; gives the outside modules."""
    used, bound = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] not in top:
                    used.add(alias.name.split(".")[0])
                    found.update(alias.name.split("."))
                    bound.add(alias.asname or alias.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] not in top:
            used.add((node.module or "").split(".")[0])
            found.update((node.module or "").split("."))
            found.update(alias.name for alias in node.names)
            bound.update(alias.asname or alias.name for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and root_of(node) in bound:
            found.add(node.attr)
    return used


def root_of(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""


def surface(module: str) -> set[str]:
    """The names of a module of the standard library and of its classes."""
    if module in ("antigravity", "this", "__main__", "idlelib", "tkinter", "turtle", "lib2to3"):
        return set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated modules say so when they are imported
        try:
            loaded = importlib.import_module(module)
        except ImportError:
            return set()
        held = [getattr(loaded, name, None) for name in dir(loaded)]
    return {*dir(loaded), *(name for cls in held if isinstance(cls, type) for name in dir(cls))}


def spoken_of(names: set[str]) -> set[str]:
    """The names that a component of any glob, call, path or member in the packs matches."""
    globs = {part for text in pack_words() for part in re.split(r"[./()]+", text) if part.strip("*")}
    either = re.compile("|".join(translate(glob) for glob in sorted(globs)))
    return {name for name in names if either.match(name)}


def pack_words() -> Iterator[str]:
    texts = {"summary", "rationale", "examples", "id", "kind", "file", "origin"}
    for rule in pack_rules():
        for field in fields(rule):
            if field.name not in texts:
                yield from strings(getattr(rule, field.name))


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from strings(item)


def hot(sources: Sources) -> set[Place]:
    graph = explorer(sources, starts_a_cycle)
    with room_to_recurse():
        path = graph.trace(graph.entry_states())
    frames = {(state.frame, state.phase.name) for state in path.steps}
    return {Place(f.path, f.function.line, phase) for f, phase in frames if f.function is not None}


def compare(files: dict[str, str]) -> None:
    renaming = Renaming(files)
    print(f"{len(renaming.names)} names replaced; kept:", ", ".join(renaming.kept))  # noqa: T201 the figures are what one runs this test for
    before = {place._replace(file=renaming.path(place.file)) for place in hot(Files(files))}
    after = hot(Files({renaming.path(path): renaming.text(text) for path, text in files.items()}))
    assert before
    back = {renaming.path(path): path for path in files}
    lost, new = before - after, after - before
    assert sorted(p._replace(file=back[p.file]) for p in lost) == []
    assert sorted(p._replace(file=back[p.file]) for p in new) == []


def test_the_mini_engine_under_other_names_has_the_same_hot_path() -> None:
    files = {p.relative_to(MINI).as_posix(): p.read_text(encoding="utf-8") for p in sorted(MINI.rglob("*.py"))}
    renaming = Renaming(files)
    # One of each kind is replaced, so that the comparison says something.
    assert {"eagle_info", "ToyGraph", "create_worker", "filter_batch", "is_extend"} <= renaming.names.keys()
    # And one of each reason stays.
    assert {"run_batch", "ForwardMode", "EAGLEWorker"} <= set(renaming.kept)
    compare(files)


@pytest.mark.long
@pytest.mark.network
def test_a_release_under_other_names_has_the_same_hot_path(release: Callable[[str], Path]) -> None:
    sources = TreeSources(open_target(str(release("0.5.9"))))
    compare({path: sources.utf8(path).decode() for path in sources.paths})
