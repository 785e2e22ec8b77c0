"""Our resolution of calls beside jedi's, on the worker files of a release.

Two programs that know nothing of each other rarely make the same mistake. Only calls that both resolve into the
tree are compared, by what is called: a function or class at its `def` or `class` line. Where jedi stops at a
method of a base and we say an override of it, we agree: jedi takes the declared type, we take the classes that
are made.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest

from tests.tracing import release_explorer, room_to_recurse
from timing_audit.model.program import ClassRef, ClassValue, Frame, FunctionRef, FunctionValue, Instance
from timing_audit.model.syntax import Attr, Call, Name
from timing_audit.program.hotpath import Explorer
from timing_audit.program.library import Unit
from timing_audit.program.scopes import nodes
from timing_audit.source.target import open_target

VERSION = "0.5.23"
AGREEMENT = 0.99
FOLDER = "sglang/srt/speculative/"
WORKERS = (
    "eagle_worker_v2.py",
    "multi_layer_eagle_worker_v2.py",
    "ngram_worker.py",
    "eagle_worker_common.py",
    "dspark_components/dspark_worker_v2.py",
)


class Place(NamedTuple):
    """Where something that is called is defined; `name` is its qualname for us, its own name for jedi."""

    file: str
    line: int
    name: str


class Site(NamedTuple):
    """A call by the start of its expression and the last name of its callee."""

    line: int
    column: int
    name: str


Calls = dict[Site, set[Place]]


def ours(graph: Explorer, unit: Unit) -> Iterator[tuple[Site, Place]]:
    """What the calls of a file run, each method on its own class."""
    for function in unit.outline.functions:
        ref = FunctionRef(unit.path, function.qualname, function.line)
        frame = Frame(unit.path, ref, receiver(unit, function.qualname))
        for node in nodes(unit.module.body(function.line)):
            if isinstance(node, Call) and isinstance(node.func, (Name, Attr)):
                name = node.func.id if isinstance(node.func, Name) else node.func.name
                for place in places(graph, frame, node):
                    yield Site(node.line, node.column, name), place


def receiver(unit: Unit, qualname: str) -> ClassRef | None:
    """The innermost class around a function."""
    names = qualname.split(".")
    around = [".".join(names[:end]) for end in range(len(names) - 1, 0, -1)]
    return next((ClassRef(unit.path, name) for name in around if name in unit.classes), None)


def places(graph: Explorer, frame: Frame, call: Call) -> Iterator[Place]:
    for value in graph.evaluator.values(frame, call.func):
        if isinstance(value, FunctionValue):
            yield Place(value.ref.path, value.ref.line, value.ref.qualname)
        elif isinstance(value, (ClassValue, Instance)):
            cls = graph.library.class_(value.ref)
            yield Place(value.ref.path, cls.line, cls.qualname)


def theirs(root: Path, file: str) -> Iterator[tuple[Site, Place]]:
    """What jedi says of every call whose callee is a name or ends in one."""
    jedi = pytest.importorskip("jedi")
    # Declared types and assignments are enough; the search for callers takes hours on a tree of this size.
    jedi.settings.dynamic_params = jedi.settings.dynamic_array_additions = False
    jedi.settings.cache_directory = root / ".jedi"
    project = jedi.Project(root, sys_path=[str(root)], smart_sys_path=False)
    text = (root / file).read_text(encoding="utf-8")
    script = jedi.Script(text, path=root / file, project=project)
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        if not isinstance(call.func, (ast.Name, ast.Attribute)):
            continue
        name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
        site = Site(call.lineno, call.col_offset + 1, name)
        for found in inferred(script, call.func):
            path = found.module_path
            if path is not None and path.is_relative_to(root) and found.line is not None:
                yield site, Place(path.relative_to(root).as_posix(), found.line, found.name)


def inferred(script: Any, callee: ast.expr) -> list[Any]:
    """What jedi takes the last name of an expression for; nothing where it loses itself."""
    try:
        return list(script.infer(callee.end_lineno, (callee.end_col_offset or 1) - 1))
    except RecursionError:
        return []


def gathered(pairs: Iterator[tuple[Site, Place]]) -> Calls:
    found: Calls = {}
    for site, place in pairs:
        found.setdefault(site, set()).add(place)
    return found


def verdict(graph: Explorer, said: set[Place], told: set[Place]) -> str:
    here = {(place.file, place.line) for place in said}
    if here & {(place.file, place.line) for place in told}:
        return "same"
    overrides = any(is_override(graph, one, other) for one in said for other in told)
    return "override" if overrides else "different"


def is_override(graph: Explorer, one: Place, other: Place) -> bool:
    """Whether `one` is a method of a class below that of `other`'s method of the same name."""
    unit, base = graph.library.unit(one.file), graph.library.unit(other.file)
    owner, _, name = one.name.rpartition(".")
    if unit is None or base is None or owner not in unit.classes or name != other.name:
        return False
    above = {(cls.path, method.line) for cls in graph.evaluator.classes.order(ClassRef(one.file, owner))
             for method in graph.evaluator.classes.methods(cls).values()}  # fmt: skip
    return (other.file, other.line) in above


@pytest.mark.long
@pytest.mark.network
def test_jedi_and_we_agree_on_the_calls_that_both_resolve(release: Callable[[str], Path], tmp_path: Path) -> None:
    pytest.importorskip("jedi")
    wheel = release(VERSION)
    with ZipFile(wheel) as archive:
        archive.extractall(tmp_path, [name for name in archive.namelist() if name.endswith(".py")])
    theirs_of = {file: gathered(theirs(tmp_path, FOLDER + file)) for file in WORKERS}
    graph = release_explorer(open_target(str(wheel)))
    with room_to_recurse():
        graph.trace(graph.entry_states())
        ours_of = {file: gathered(ours(graph, parsed(graph, FOLDER + file))) for file in WORKERS}
        compare(graph, ours_of, theirs_of)


def parsed(graph: Explorer, file: str) -> Unit:
    unit = graph.library.unit(file)
    assert unit is not None, f"{file} cannot be parsed"
    return unit


def compare(graph: Explorer, ours_of: dict[str, Calls], theirs_of: dict[str, Calls]) -> None:
    counts, differences = Counter[str](), []
    for file in WORKERS:
        said, told = ours_of[file], theirs_of[file]
        counts.update({"only ours": len(said.keys() - told.keys()), "only jedi": len(told.keys() - said.keys())})
        for site in sorted(said.keys() & told.keys()):
            answer = verdict(graph, said[site], told[site])
            counts[answer] += 1
            if answer == "different":
                differences.append(f"{file}:{site.line} {site.name}: {said[site]} / {told[site]}")
    print(dict(counts))  # noqa: T201 the figures are what one runs this test for
    both = counts["same"] + counts["override"] + counts["different"]
    assert both
    assert (both - counts["different"]) / both >= AGREEMENT, "\n".join(differences)
