"""From hot calls to a plan: which probes, what they are called, which files change and how; nothing is written."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from timing_audit.codemod.backends import Backend
from timing_audit.codemod.calls import under
from timing_audit.codemod.hunks import edits
from timing_audit.codemod.manifest import MANIFEST, RUNTIME, Entry, Manifest, Version, digest, dump, plan_hash
from timing_audit.codemod.original import Original, read
from timing_audit.codemod.statements import Refused, Source, Spot
from timing_audit.codemod.strip import is_ours
from timing_audit.codemod.text import MARKED, Insert, insert
from timing_audit.codemod.verify import verify
from timing_audit.errors import UNAUDITABLE, USAGE, TimingAuditError
from timing_audit.model.edit import (
    BLOCK,
    CYCLE,
    LINES,
    STAGE,
    Choice,
    FileChange,
    Helper,
    HotCall,
    Plan,
    Probe,
    Refusal,
)  # fmt: skip
from timing_audit.model.source import SourceFile
from timing_audit.runtime.generate import ProbeSpec, reserved_names, runtime_source
from timing_audit.source.decode import Unreadable, decode, encode
from timing_audit.source.tree import Tree

IMPORTS = re.compile(rb"^(?:from|import) +([\w.]+)(?: +import +(\([^)]*\)|[^\n]*))?", re.MULTILINE)
WORDS = re.compile(rb"\w+")
NOT_A_WORD = re.compile(r"\W+")
NO_ROOM = "layout lines: needs a line of its own"
HELPER_NAMES_STAGES = "the tree's own helper names stages, not cycles"


class Wanted(NamedTuple):
    """Calls that share one statement, and the statement."""

    calls: tuple[HotCall, ...]
    spot: Spot


@dataclass
class _File:
    path: str
    file: SourceFile
    raw: bytes
    source: Source
    wanted: list[Wanted]


class Planner:
    """Makes the plan for one tree as it is without probes."""

    def __init__(
        self, tree: Tree, choice: Choice, backend: Backend, helper: Helper | None, known: Mapping[str, Manifest]
    ) -> None:
        self._tree = tree
        self._choice = choice
        self._backend = backend
        self._helper = helper
        self._known = known
        self._original = Original(tree, known)
        self._refusals: list[Refusal] = []
        self._timed = 0

    def plan(self, calls: Sequence[HotCall]) -> Plan:
        """The plan; its changes start from what the files hold now."""
        names = _names(calls)
        files = self._files([call for call in calls if self._is_chosen(call)])
        probes: list[Probe] = []
        edited: dict[str, tuple[bytes, bytes]] = {}
        attributes = _Attributes()
        for file in files:
            made = [self._probe(w, names, len(probes) + n + 1, attributes) for n, w in enumerate(file.wanted)]
            try:
                after = self._edit(file, made)
            except Refused as refused:
                self._refuse([call for wanted in file.wanted for call in wanted.calls], str(refused))
                continue
            probes += made
            edited[file.path] = (file.raw, after)
        changes = self._changes(tuple(probes), edited)
        return Plan(tuple(probes), tuple(sorted(set(self._refusals))), self._timed, changes, ())

    # Which calls.

    def _is_chosen(self, call: HotCall) -> bool:
        choice = self._choice
        stage = CYCLE if call.kind == CYCLE else call.stage
        if choice.stages and stage not in choice.stages:
            return False
        if choice.phases and set(choice.phases).isdisjoint(call.phases):
            return False
        return under(call.workers, choice.workers)

    def _is_timed(self, call: HotCall) -> bool:
        clocks = self._backend.clocks
        return bool(clocks) and all(getattr(call.timed, clock) for clock in clocks)

    def _files(self, calls: Iterable[HotCall]) -> list[_File]:
        by_path: dict[str, list[HotCall]] = {}
        for call in calls:
            if self._is_timed(call):
                self._timed += 1
            elif call.refusal:
                self._refuse([call], call.refusal)
            elif call.kind == CYCLE and self._helper is not None:
                self._refuse([call], HELPER_NAMES_STAGES)
            else:
                by_path.setdefault(call.file, []).append(call)
        found = (self._open(path, held) for path, held in sorted(by_path.items()))
        return [file for file in found if file is not None and file.wanted]

    def _open(self, path: str, calls: list[HotCall]) -> _File | None:
        try:
            raw = self._original.original(path)
            file = decode(path, raw)
            source = Source(file.text)
        except (Refused, Unreadable) as reason:
            self._refuse(calls, str(reason))
            return None
        return _File(path, file, raw, source, self._spots(source, calls))

    def _spots(self, source: Source, calls: list[HotCall]) -> list[Wanted]:
        found: dict[tuple[int, int], tuple[Spot, list[HotCall]]] = {}
        for call in calls:
            spot = source.find(call.line, call.column)
            if spot is None:
                self._refuse([call], "it stands outside all statements")
            elif spot.reason:
                self._refuse([call], spot.reason)
            else:
                found.setdefault((spot.line, spot.column), (spot, []))[1].append(call)
        return [Wanted(tuple(sorted(held, key=_rank)), spot) for _, (spot, held) in sorted(found.items())]

    def _refuse(self, calls: Iterable[HotCall], reason: str) -> None:
        self._refusals += [Refusal(c.file, c.line, c.function, c.kind, c.stage, reason) for c in calls]

    # Names.

    def _probe(self, wanted: Wanted, names: Mapping[HotCall, str], number: int, taken: _Attributes) -> Probe:
        call, spot = wanted.calls[0], wanted.spot
        name = names[call]
        phase = call.phases[0] if len(call.phases) == 1 or call.kind != CYCLE else ""
        attribute = taken.of(name)
        return Probe(
            number, name, call.kind, phase, call.stage, call.file, spot.line, spot.end_line, call.function, attribute
        )

    # Files.

    @cached_property
    def _behind_helper(self) -> frozenset[str]:
        """The files that the helper's module imports at its top, at any depth, and itself."""
        if self._helper is None:
            return frozenset()
        known = {
            path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in self._tree.paths
        }
        pending, found = [self._helper.module], set[str]()
        while pending:
            path = known.get(pending.pop())
            if path is not None and path not in found:
                found.add(path)
                for module, names in IMPORTS.findall(self._original.original(path)):
                    parts = [module.decode(), *(f"{module.decode()}.{name.decode()}" for name in WORDS.findall(names))]
                    pending += parts
        return frozenset(found)

    def _edit(self, file: _File, probes: Sequence[Probe]) -> bytes:
        source, marked = file.source, not self._choice.permanent
        module, imported = self._import(file)
        if self._helper is not None and imported and file.path in self._behind_helper:
            raise Refused("importing the tree's own helper here would import in a circle")
        items = [self._backend.item(module, probe) for probe in probes]
        inserts = [
            Insert(wanted.spot, item, probe.id) for wanted, item, probe in zip(file.wanted, items, probes, strict=True)
        ]
        after = insert(source, inserts, imported, self._choice.layout, marked=marked)
        verify(source.text, after, items, imported, unmoved=self._choice.layout == LINES)
        try:
            return encode(file.file, after)
        except Unreadable as reason:
            raise Refused(str(reason)) from None

    def _import(self, file: _File) -> tuple[str, str]:
        """The name under which the file knows the backend, and the import that binds it, if it needs one."""
        if self._helper is not None and self._backend.source is None:
            helper = self._helper
            if helper.name in file.source.words:
                if _imports(file.source, helper.name):
                    return helper.name, ""
                name = file.source.fresh(f"_{helper.name}")
                return name, f"from {helper.module} import {helper.name} as {name}"
            return helper.name, f"from {helper.module} import {helper.name}"
        name = file.source.fresh("_timing")
        module = RUNTIME.removesuffix(".py")
        if self._tree.package:
            return name, f"from {self._tree.package} import {module} as {name}"
        return name, f"import {module} as {name}"

    def _home(self, path: str) -> str:
        return f"{self._tree.package}/" if self._tree.package else path[: path.rfind("/") + 1]

    def _changes(self, probes: tuple[Probe, ...], edited: Mapping[str, tuple[bytes, bytes]]) -> tuple[FileChange, ...]:
        inside = set(self._tree.paths)
        changes = []
        for path in sorted({*edited, *(path for path in self._old() if path in inside)}):
            now, original = self._tree.raw(path), self._bare(path)
            after = edited[path][1] if path in edited else original
            changes.append(FileChange(path, now, after, edits(original, after)))
        if self._choice.permanent:
            for home in sorted(self._known):
                changes += self._own(home, (), {}, None)
            return tuple(change for change in changes if change.before != change.after)
        homes = sorted({self._home(path) for path in edited})
        runtime = self._runtime(probes) if probes else None
        for home in sorted({*homes, *self._known}):
            changes += self._own(home, probes, edited, runtime if home in homes else None)
        return tuple(changes)

    def _old(self) -> list[str]:
        """The files into which an earlier apply put timers. Raises TimingAuditError where the target lacks some."""
        found = [f"{home}{path}" for home, manifest in self._known.items() for path in manifest.files]
        inside = set(self._tree.paths)
        for path in found:
            if path not in inside and MARKED in (read(self._tree, path) or b""):
                hint = "apply to the whole package, or strip it first"
                raise TimingAuditError(f"{path} holds timers and is no part of the target", hint=hint, exit_code=USAGE)
        return found

    def _bare(self, path: str) -> bytes:
        try:
            return self._original.original(path)
        except (Refused, Unreadable) as reason:
            raise TimingAuditError(f"{path}: {reason}", hint="nothing was changed", exit_code=UNAUDITABLE) from None

    def _own(
        self, home: str, probes: tuple[Probe, ...], edited: Mapping[str, tuple[bytes, bytes]], runtime: bytes | None
    ) -> list[FileChange]:
        """The manifest and the runtime of one folder."""
        files = {
            path.removeprefix(home): Entry(digest(original), (Version(digest(after), edits(original, after)),))
            for path, (original, after) in edited.items()
            if self._home(path) == home
        }
        choice, tree = self._choice, self._tree
        sha = digest(runtime) if runtime is not None else ""
        manifest = Manifest(
            choice.detail, choice.backend, choice.layout, tree.package, tree.version, sha, probes, files
        )  # fmt: skip
        wanted = dump(manifest) if files else None
        changes = [FileChange(f"{home}{MANIFEST}", read(tree, f"{home}{MANIFEST}"), wanted)]
        source, present = runtime if files else None, read(tree, f"{home}{RUNTIME}")
        if present is not None and not is_ours(RUNTIME, present):
            what = f"{home}{RUNTIME} is there already and is none of ours"
            raise TimingAuditError(what, hint="move it, or leave this tree alone", exit_code=UNAUDITABLE)
        changes.append(FileChange(f"{home}{RUNTIME}", present, source))
        return [change for change in changes if change.before is not None or change.after is not None]

    def _runtime(self, probes: tuple[Probe, ...]) -> bytes | None:
        if self._backend.source is None:
            return None
        specs = [ProbeSpec(*probe[:6], probe.line, probe.function, probe.attribute) for probe in probes]
        named = plan_hash(self._choice, probes)
        text = runtime_source(specs, named, self._tree.package, self._tree.version)
        return self._backend.source(probes, text).encode("utf-8")


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(source: Source, name: str) -> bool:
    """Whether the module imports this name at its top."""
    return re.search(rf"^from [\w.]+ import (?:\([^)]*\b|[^(\n]*\b){name}\b", source.text, re.MULTILINE) is not None


def _rank(call: HotCall) -> tuple[int, int, int]:
    return (CYCLE, STAGE).index(call.kind) if call.kind in (CYCLE, STAGE) else 2, call.line, call.column


def _names(calls: Sequence[HotCall]) -> dict[HotCall, str]:
    """Names that do not depend on what else was chosen: `cycle`, `decode/verify`, `decode/verify/forward`."""
    short = {call: _last(call.callee) for call in calls}
    shared = Counter((call.phases[0], call.stage, short[call]) for call in calls if call.kind not in (CYCLE, STAGE))
    found: dict[HotCall, str] = {}
    for call in calls:
        if call.kind == CYCLE:
            found[call] = CYCLE
        elif call.kind == STAGE:
            found[call] = f"{call.phases[0]}/{call.stage}"
        else:
            key = (call.phases[0], call.stage, short[call])
            own = short[call] if shared[key] == 1 else f"{_last(call.function)}.{short[call]}"
            found[call] = f"{call.phases[0]}/{call.stage or 'other'}/{own}"
    return found


def _last(dotted: str) -> str:
    return NOT_A_WORD.sub("_", dotted.rpartition(".")[2]).strip("_") or "call"


class _Attributes:
    """Names of objects in the generated module, each once."""

    def __init__(self) -> None:
        self._taken = set(reserved_names()) | {"torch", "threading", "Range"}

    def of(self, name: str) -> str:
        """A name made of the probe's, without its phase where that is `decode`."""
        base = NOT_A_WORD.sub("_", name.removeprefix("decode/"))
        found, number = base, 2
        while found in self._taken or not found.isidentifier():
            found, number = f"{base}_{number}", number + 1
        self._taken.add(found)
        return found


def kernels_moved(plan: Plan, kernels: Iterable[tuple[str, int, str]]) -> tuple[str, ...]:
    """What layout block does to the start lines of kernels, by file, on which Triton's cache goes."""
    first = {change.path: min(edit.line for edit in change.edits) for change in plan.changes if change.edits}
    moved = Counter(file for file, line, _ in kernels if file in first and first[file] <= line)
    return tuple(
        f"{posixpath.basename(file)}: {count} kernel{'s start' if count > 1 else ' starts'} on another line; "
        "Triton compiles them anew"
        for file, count in sorted(moved.items())
    )


__all__ = ["BLOCK", "Planner", "kernels_moved"]
