"""The order of the passes; the only module that knows it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from timing_audit.checks.run import findings
from timing_audit.codemod.standin import readable
from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.evidence.collect import collect
from timing_audit.model.edit import BLOCK, Choice, Helper, HotCall, Plan
from timing_audit.model.evidence import Evidence
from timing_audit.model.graph import CallGraph
from timing_audit.model.options import Options
from timing_audit.model.pack import FunctionRule, Packs, WorkerRule
from timing_audit.model.program import FunctionRef
from timing_audit.model.report import Finding, Parsed, Report, Row, Summary, Target
from timing_audit.model.source import Skipped
from timing_audit.program.engine import DECODE, PHASES, Engine
from timing_audit.program.evaluate import Evaluator
from timing_audit.program.frontier import Frontier
from timing_audit.program.hotpath import CAPTURE, Explorer, HotPath, State, Step
from timing_audit.program.library import Library, Unit, UnreadableError
from timing_audit.program.phases import Phase
from timing_audit.program.seeds import seeds
from timing_audit.source.decode import Unreadable
from timing_audit.source.tree import Tree
from timing_audit.timing.callgraph import Grapher, part_of
from timing_audit.timing.cycle import Cycle, read_cycle
from timing_audit.timing.describe import Describer, Facts, build_facts, functions_of
from timing_audit.timing.landings import Landings
from timing_audit.timing.names import kept_results
from timing_audit.timing.reached import Reached
from timing_audit.timing.roles import Roles
from timing_audit.timing.spoken import Spoken, spoken
from timing_audit.timing.summary import Summarizer
from timing_audit.timing.survey import Survey

EVERYTHING, NATIVE = "*", "native"
RUNTIME = "/_timing_audit.py"
UNUSED = "unused-suppression"
DEFAULT = Options()
DEEPEST_RECURSION = 20_000
"""Expressions and the evaluation of calls nest; Python's own limit is made for programs that do not."""


class TreeSources:
    """A tree as the program layer reads it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @property
    def paths(self) -> Sequence[str]:
        """All Python files."""
        return self._tree.paths

    def utf8(self, path: str) -> bytes:
        """The decoded text in UTF-8."""
        try:
            return readable(self._tree.read(path).data) if path.endswith(RUNTIME) else self._tree.read(path).data
        except Unreadable as problem:
            raise UnreadableError(str(problem)) from None


class Audit:
    """One run over one tree."""

    def __init__(self, tree: Tree, packs: Packs, options: Options, progress: Callable[[str], None]) -> None:
        self._tree = tree
        self._packs = packs
        self._options = options
        self._engine = Engine(packs)
        self._library = Library(TreeSources(tree), self._engine.leaves)
        self._names = Evaluator(self._library, (*self._engine.calls, *kept_results(packs)))
        self._library.on_unit = self._on_unit
        self._progress = progress
        self._explorer = Explorer(self._library, self._names, self._engine)
        self._everything = options.all_files and EVERYTHING in options.entries
        self._lost: dict[str, str] = {}

    def run(self) -> Report:
        """The whole report, without findings."""
        return self._report(*self._gather())

    def judged(self) -> tuple[Report, Evidence]:
        """The report, and what the checks judge beside it."""
        facts, files = self._gather()
        report = self._report(facts, files)
        describer = Describer(facts, facts.cycle.workers)
        evidence = collect(
            facts, describer, self._names, self._packs, files, self._tree.paths, self._raw,
            package=self._tree.package, no_probes=self._options.no_probes,
        )  # fmt: skip
        return report, evidence

    def graph(self) -> CallGraph:
        """The hot path as a graph."""
        facts, files = self._gather()
        describer = Describer(facts, facts.cycle.workers)
        summarizer = self._summarizer(facts, describer)
        functions = tuple(describer.function(unit, ref) for unit in files for ref in functions_of(unit))
        target = self._target(facts)
        return Grapher(facts, describer, summarizer).graph(target, functions, len(self.skipped()))

    def hot_calls(
        self, choice: Choice
    ) -> tuple[tuple[HotCall, ...], Helper | None, list[tuple[str, int, str]], list[str]]:
        """The calls that a plan chooses from, the tree's helper for stages, its kernels, its workers."""
        from timing_audit.codemod.calls import HotCalls
        from timing_audit.codemod.helpers import find_helper

        facts, files = self._gather()
        describer = Describer(facts, facts.cycle.workers)
        frontier = Frontier(self._names, self._engine)
        loose = not self._tree.package
        found = HotCalls(facts, describer, self._names, frontier, self._packs, loose=loose).found(choice.detail)
        helper = find_helper(facts, files, self._packs) if choice.backend == NATIVE else None
        kernels = [
            (ref.path, ref.line, ref.qualname)
            for unit in files
            for ref in functions_of(unit)
            if facts.roles.role(ref) == "kernel"
        ]
        return found, helper, kernels, facts.cycle.workers

    def _gather(self) -> tuple[Facts, list[Unit]]:
        entries = self._entries()
        cycle = self._flat(entries) if self._everything else self._cycle(entries)
        captured = self._captured()
        hot = set(cycle.states)
        roles = Roles(self._names, self._packs, self._engine, hot, captured)
        files = self._files(hot | captured)
        return self._facts(cycle, roles, files), files

    def _flat(self, entries: tuple[State, ...]) -> Cycle:
        """Every function an entry of its own, in decode, without a stage."""
        first = {state.frame.function: state for state in reversed(entries) if state.phase.name == DECODE}
        states = tuple(sorted(first.values(), key=str))
        outside = dict.fromkeys(states, frozenset(("",)))
        return Cycle(HotPath(dict.fromkeys(states, Step(None, None)), states, outside, {}, {}), [])

    def _cycle(self, entries: tuple[State, ...]) -> Cycle:
        path = self._explorer.trace(entries, {state: self._worker(state) for state in entries})
        return read_cycle(self._explorer, path)

    def spoken(self) -> set[Spoken]:
        """Where the rules of the packs speak."""
        sites = self.run().sites
        return spoken(self._library.units, self._names, self._packs, sites)

    def _on_unit(self, unit: Unit) -> None:
        self._progress(unit.path)
        self._names.attributes.want_again(unit)
        self._names.classes.note(unit)
        self._names.registrations.note(unit)

    # Where the path starts.

    def _entries(self) -> tuple[State, ...]:
        """Parses what may hold an entry point until one is found."""
        if self._options.all_files:
            self._parse(self._tree.paths)
        others, kinds = seeds(self._engine, self._tree.paths, self._raw, self._options.entries)
        self._parse(others)
        for paths in kinds:
            self._parse(paths)
            found = self._explorer.entry_states(self._options.entries)
            if found:
                return tuple(found)
        if self._options.all_files:
            return ()
        raise self._no_entry()

    def _no_entry(self) -> TimingAuditError:
        if self._options.entries:
            named = ", ".join(self._options.entries)
            hint = "a GLOB matches the last names of a qualname, as in EAGLEWorker.draft"
            return TimingAuditError(f"no function of {self._tree.label} matches --entry {named}", hint=hint)
        hint = "name where the cycle starts with --entry, or audit the whole package"
        return TimingAuditError(f"no entry point of a hot path in {self._tree.label}", hint=hint)

    def _worker(self, state: State) -> str:
        """The worker under which an entry point runs, where it is a worker's method."""
        ref, receiver = state.frame.function, state.frame.receiver
        if self._options.entries or ref is None or receiver is None:
            return ""
        is_worker = any(rule.role == "worker" and rule.matches(ref.path, ref.qualname) for rule in self._engine.entries)
        return receiver.qualname if is_worker else ""

    def _raw(self, path: str) -> bytes:
        try:
            return self._tree.raw(path)
        except Unreadable as problem:
            return self._unread(path, str(problem))

    def _unread(self, path: str, reason: str) -> bytes:
        self._lost[path] = reason
        return b""

    def _parse(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._library.unit(path)

    # What runs while graphs are captured.

    def _captured(self) -> set[FunctionRef]:
        globs = tuple(glob for rule in self._packs.select(FunctionRule, "capture") for glob in rule.functions)
        if self._everything or not globs:
            return set()
        named = [state.frame for state in self._explorer.entry_states(globs)]
        frames = [
            f for f in dict.fromkeys(named) if f.function is not None and self._engine.mark(f.function) == CAPTURE
        ]
        steps = self._explorer.trace([State(frame, Phase(CAPTURE, frozenset()), "") for frame in frames]).steps
        return {state.frame.function for state in steps if state.frame.function is not None}

    # Facts.

    def _files(self, functions: set[FunctionRef]) -> list[Unit]:
        wanted = {ref.path for ref in functions}
        return [unit for unit in self._library.units if self._options.all_files or unit.path in wanted]

    def _facts(self, cycle: Cycle, roles: Roles, files: Sequence[Unit]) -> Facts:
        survey = Survey(self._library, self._names, self._packs)
        frames = {ref: tuple(dict.fromkeys(state.frame for state in states)) for ref, states in cycle.states.items()}
        bodies = survey.read([unit.path for unit in files], frames)
        modules = [survey.module(unit.path) for unit in files]
        return build_facts(self._library, cycle, roles, survey, self._reached(cycle), bodies, modules)

    def _reached(self, cycle: Cycle) -> Reached:
        return Reached(self._explorer, cycle, everywhere=self._everything)

    def _report(self, facts: Facts, files: Sequence[Unit]) -> Report:
        describer = Describer(facts, facts.cycle.workers)
        across = [bracket for unit in files for bracket in facts.survey.across_methods(unit.path)]
        bodies = [*facts.modules, *facts.bodies.values()]
        brackets = [fact for body in bodies for fact in describer.brackets(body)]
        brackets += [describer.bracket(bracket) for bracket in dict.fromkeys(across)]
        brackets = sorted(set(brackets), key=lambda fact: fact[:4])
        summarizer = self._summarizer(facts, describer)
        inferred = [wrapper for unit in files for wrapper in facts.survey.inferred(unit.path)]
        functions = tuple(describer.function(unit, ref) for unit in files for ref in functions_of(unit))
        wrappers = tuple(summarizer.wrappers(inferred, brackets))
        return Report(
            target=self._target(facts),
            functions=functions,
            edges=describer.edges(),
            sites=tuple(sorted(site for body in bodies for site in describer.sites(body))),
            brackets=tuple(brackets),
            regions=tuple(region for ref in sorted(facts.statements) for region in describer.regions(ref)),
            findings=(),
            skipped=self.skipped(),
            summary=Summary(tuple(_rows(summarizer, facts)), summarizer.frontier(), wrappers, self._parsed()),
            next=(),
        )

    def _summarizer(self, facts: Facts, describer: Describer) -> Summarizer:
        return Summarizer(facts, describer, self._packs, Landings(Frontier(self._names, self._engine), facts.reached))

    def _target(self, facts: Facts) -> Target:
        return Target(self._tree.label, self._tree.package, self._tree.version, _entry_names(facts.cycle.path))

    def skipped(self) -> tuple[Skipped, ...]:
        """The files that could not be read or parsed, of those that had to be."""
        problems = {problem.file: problem.reason for problem in self._library.problems}
        problems |= {
            unit.path: f"the function on line {unit.module.too_deep[0]} is too deeply nested"
            for unit in self._library.units
            if unit.module.too_deep
        }
        found = {**self._lost, **problems, **{skipped.file: skipped.reason for skipped in self._tree.skipped}}
        return tuple(Skipped(file, reason) for file, reason in sorted(found.items()))

    def _parsed(self) -> Parsed:
        units = self._library.units
        return Parsed(len(self._tree.paths), len(units), sum(unit.module.source.count(b"\n") for unit in units))


def _entry_names(path: HotPath) -> tuple[str, ...]:
    return tuple(sorted({state.frame.function.qualname for state in path.entries if state.frame.function is not None}))


def _rows(summarizer: Summarizer, facts: Facts) -> Iterator[Row]:
    for worker in facts.cycle.workers or [""]:
        for phase in PHASES:
            row = summarizer.row(worker, phase)
            if row is not None:
                yield row


def select(report: Report, packs: Packs, options: Options) -> Report:
    """The report on some phases and workers; what is not on the hot path stays."""
    known = {row.worker for row in report.summary.rows if row.worker is not None}
    workers = known_workers(options.workers, known, packs)
    phases = options.phases or PHASES
    rows = tuple(row for row in report.summary.rows if row.phase in phases and (not workers or row.worker in workers))
    functions = tuple(
        fact
        for fact in report.functions
        if fact.role != "hot" or ((not workers or workers & set(fact.workers)) and set(phases) & set(fact.phases))
    )
    kept = {(fact.file, fact.qualname) for fact in functions}
    frontier = tuple(
        fact
        for fact in report.summary.frontier
        if set(phases) & set(fact.phases) and (not workers or workers & set(fact.workers))
    )
    return report._replace(
        functions=functions,
        edges=tuple(e for e in report.edges if (e.file, e.caller) in kept and set(phases) & set(e.phases)),
        sites=tuple(s for s in report.sites if s.phase not in PHASES or s.phase in phases),
        brackets=tuple(b for b in report.brackets if b.phase not in PHASES or b.phase in phases),
        regions=tuple(r for r in report.regions if (r.file, r.function) in kept and r.phase in phases),
        summary=report.summary._replace(rows=rows, frontier=frontier),
    )


def _findings(report: Report, whole: Report, evidence: Evidence, options: Options) -> tuple[Finding, ...]:
    """The findings on what the report holds; where that is a part, a comment may be of use for the rest."""
    narrowed = bool(options.phases or options.workers)
    ignore = (*options.ignore, UNUSED) if narrowed else options.ignore
    found = findings(report, evidence, options.select, ignore)
    kept = {(fact.file, fact.qualname) for fact in report.functions}
    left = {(fact.file, fact.qualname) for fact in whole.functions} - kept
    return tuple(finding for finding in found if (finding.file, finding.function) not in left)


def known_workers(names: Sequence[str], known: set[str], packs: Packs) -> set[str]:
    """The worker classes that names stand for: classes, and what one launches with."""
    launched: dict[str, set[str]] = {}
    for rule in packs.select(WorkerRule):
        for name, classes in rule.workers:
            launched.setdefault(name, set()).update(known & set(classes))
    found: set[str] = set()
    for name in names:
        meant = {name} if name in known else launched.get(name.upper(), set())
        if not meant:
            listed = ", ".join([*sorted(known), *sorted(name for name, classes in launched.items() if classes)])
            raise TimingAuditError(
                f"no worker {name} in this target", hint=f"it has {listed or 'none'}", exit_code=USAGE
            )
        found |= meant
    return found


def rules_spoken(tree: Tree, packs: Packs) -> set[Spoken]:
    """Where in a tree each rule of the packs speaks: all files, every function taken for hot."""
    return Audit(tree, packs, Options(entries=(EVERYTHING,), all_files=True), lambda path: None).spoken()


def next_steps(report: Report, options: Options) -> tuple[tuple[str, ...], ...]:
    """What to run now: all about the worker whose cycle has the most untimed stages; then all, for a program."""
    scan = ("timing-audit", "scan", *([options.target] if options.target is not None else []))
    gaps = [(sum(not (s.timed.host or s.timed.device) for s in row.stages), row) for row in report.summary.rows]
    most = max((gap for gap, _ in gaps), default=0)
    row = next((row for gap, row in gaps if gap == most and row.worker is not None), None)
    narrowed = (
        [(*scan, "--worker", row.worker, "--phase", row.phase, "--all")] if row is not None and row.worker else []
    )
    return (*narrowed, (*scan, "--format", "json"))


def audit(
    tree: Tree, packs: Packs, options: Options = DEFAULT, progress: Callable[[str], None] = lambda path: None
) -> Report:
    """Audits a tree; `progress` hears of every file that is read."""
    with _deep_and_undisturbed():
        whole, evidence = Audit(tree, packs, options, progress).judged()
        report = select(whole, packs, options)
        found = _findings(report, whole, evidence, options)
        return report._replace(findings=found, next=next_steps(report, options))


def graph(
    tree: Tree, packs: Packs, options: Options = DEFAULT, progress: Callable[[str], None] = lambda path: None
) -> CallGraph:
    """The hot path of a tree as a graph, of some phases and workers."""
    with _deep_and_undisturbed():
        found = Audit(tree, packs, options, progress).graph()
    workers = known_workers(options.workers, {launch.worker for launch in found.workers}, packs)
    return part_of(found, workers, options.phases or PHASES)


def plan(
    tree: Tree, packs: Packs, folders: Sequence[Path], options: Options, choice: Choice,
    progress: Callable[[str], None] = lambda path: None,
) -> Plan:  # fmt: skip
    """What apply would do to a tree, whatever was applied to it before; `folders` hold the packs and their backends."""
    from timing_audit.codemod.backends import load_backend
    from timing_audit.codemod.original import manifests, without_probes
    from timing_audit.codemod.plan import Planner, kernels_moved

    known = manifests(tree)
    with _deep_and_undisturbed():
        run = Audit(without_probes(tree, known), packs, options, progress)
        calls, helper, kernels, workers = run.hot_calls(choice)
    chosen = choice._replace(workers=tuple(sorted(known_workers(choice.workers, set(workers), packs))))
    helper = helper if choice.backend == NATIVE else None
    if choice.backend == NATIVE and helper is None:
        hint = "the backends region, nvtx and record_function need none"
        raise TimingAuditError(f"{tree.label} has no helper that times named stages", hint=hint, exit_code=USAGE)
    backend = load_backend(choice.backend, folders, helper)
    made = Planner(tree, chosen, backend, helper, known).plan(calls)
    notes = kernels_moved(made, kernels) if choice.layout == BLOCK else ()
    return made._replace(notes=notes, skipped=run.skipped())


@contextmanager
def _deep_and_undisturbed() -> Iterator[None]:
    """Deep recursion, and no garbage collection: what an audit makes lives as long as the audit."""
    limit, collects = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, DEEPEST_RECURSION))
    gc.disable()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        if collects:
            gc.enable()
