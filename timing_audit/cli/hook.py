"""`timing-audit hook`: what pre-commit runs over staged files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from timing_audit.cli.baselines import baseline_of, read_baseline
from timing_audit.cli.settings import GATE_FAILED, Settings, common, configuration, fail, load, say
from timing_audit.errors import UNAUDITABLE, USAGE, TimingAuditError

if TYPE_CHECKING:
    from timing_audit.model.baseline import Baseline
    from timing_audit.model.config import Config
    from timing_audit.model.source import Skipped
    from timing_audit.model.staged import Mark, Staged
    from timing_audit.render.hook import HookResult

MARK = re.compile(rb"#[ \t]*timing:[ \t]*probe[ \t]+(\S+)")


@click.command()
@click.argument("files", nargs=-1, metavar="FILES...", type=click.Path())
@click.option("--no-probes", is_flag=True, help="Look for inserted timers instead.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def hook(settings: Settings, files: tuple[str, ...], no_probes: bool, form: str) -> int:
    """Exit with 1 if a hot function in FILES is timed less than the baseline says.

    Only FILES are read. What they newly call is not looked at: `scan --baseline` does that.
    With --no-probes: exit with 1 if FILES hold inserted timers, or where the configuration keeps them
    (probes = "kept"), if they are not up to date.
    """
    from timing_audit.render.hook import hook_json, hook_text

    config = configuration(settings)
    if no_probes and _keeps(config):
        return _check_kept(settings)
    result = _probes(files, config) if no_probes else _coverage(settings, files, config)
    sys.stdout.write(hook_json(result) if form == "json" else hook_text(result))
    return _verdict(result)


def _verdict(result: HookResult) -> int:
    import shlex

    for entry in result.skipped:
        say(f"{entry.file} was skipped: {entry.reason}")
    found = [
        f"{len(places)} {word}{'' if len(places) == 1 else 's'}"
        for places, word in ((result.losses, "loss of coverage"), (result.probes, "inserted timer"))
        if places
    ]
    if found:
        what = " and ".join(found).replace("loss of coverages", "losses of coverage")
        fail(f"{what}; {_advice(result)} `{shlex.join(result.next[0])}`", GATE_FAILED)
    return UNAUDITABLE if result.skipped else GATE_FAILED if found else 0


def _advice(result: HookResult) -> str:
    return "take them out:" if result.probes else "if it is meant, or timed in a way that one file does not show:"


# Coverage.


def _coverage(settings: Settings, files: Sequence[str], config: Config) -> HookResult:
    from timing_audit.ratchet.staged import Hook, files_of
    from timing_audit.render.hook import HookResult

    file = baseline_of(config)
    baseline = read_baseline(file)
    placed = list(_placed(files, config, files_of(baseline)))
    checker = Hook(baseline, load(settings), _gone(baseline, placed))
    losses, skipped = [], []
    for given, path in placed:
        if checker.wants(path):
            staged, problem = _read(given, path)
            found, broken = checker.check(staged) if staged is not None else ([], problem)
            losses += found
            skipped += [broken] if broken is not None else []
    update = ("timing-audit", "scan", "--update-baseline")
    return HookResult(tuple(losses), (), tuple(skipped), (update,) if losses else ())


def _placed(files: Sequence[str], config: Config, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The Python files that are there and not excluded, as they were given and from the import root."""
    from timing_audit.source.disk import package_prefix
    from timing_audit.source.exclude import keep

    prefixes: dict[str, str] = {}
    for given in dict.fromkeys(files):
        folder, name = os.path.split(given)
        if name.endswith(".py") and os.path.isfile(given):
            if folder not in prefixes:
                prefixes[folder] = package_prefix(os.path.abspath(folder))
            path = prefixes[folder] + name if prefixes[folder] else _plain(given, known)
            if keep([path], config.excludes):
                yield given, path


def _plain(given: str, known: frozenset[str]) -> str:
    """The name of a file that lies in no package: the longest end of its path that the baseline knows."""
    names = os.path.relpath(given).split(os.sep)
    ends = ["/".join(names[start:]) for start in range(len(names))]
    return next((end for end in ends if end in known), ends[0])


def _gone(baseline: Baseline, placed: Sequence[tuple[str, str]]) -> frozenset[str]:
    """The files of the baseline that do not lie below the import roots of the given ones any more."""
    from timing_audit.ratchet.staged import files_of

    roots = {os.path.abspath(given).removesuffix(path.replace("/", os.sep)) for given, path in placed}
    if not roots:
        return frozenset()
    return frozenset(
        file for file in files_of(baseline) if not any(os.path.exists(os.path.join(root, file)) for root in roots)
    )


def _read(given: str, path: str) -> tuple[Staged | None, Skipped | None]:
    from timing_audit.model.source import Skipped
    from timing_audit.model.staged import Staged
    from timing_audit.source.decode import Unreadable, decode
    from timing_audit.source.scan import read_file

    try:
        return Staged(path, given, decode(path, read_file(given)).data), None
    except Unreadable as problem:
        return None, Skipped(given, str(problem))


# Probes.


def _keeps(config: Config) -> bool:
    from timing_audit.model.config import KEPT

    return config.probes == KEPT


def _check_kept(settings: Settings) -> int:
    """`apply --check` on the configured plan: the whole tree, since a plan is not one of single files."""
    from timing_audit.cli import COMMANDS, run

    if "apply" not in COMMANDS:
        hint = 'use probes = "none", or a version that has it'
        raise TimingAuditError(
            'probes = "kept" needs `apply --check`, which is not there yet', hint=hint, exit_code=USAGE
        )
    shared = [f"--config={settings.config}"] if settings.config is not None else []
    return run(["apply", "--codemod", "--check", *shared])


def _probes(files: Sequence[str], config: Config) -> HookResult:
    from timing_audit.render.hook import HookResult
    from timing_audit.source.decode import Unreadable
    from timing_audit.source.scan import read_file

    marks: list[Mark] = []
    skipped: list[Skipped] = []
    for given in dict.fromkeys(files):
        if os.path.isfile(given):
            try:
                marks += _marks(given, read_file(given))
            except Unreadable as problem:
                from timing_audit.model.source import Skipped

                skipped.append(Skipped(given, str(problem)))
    return HookResult((), tuple(marks), tuple(skipped), (("timing-audit", "strip"),) if marks else ())


def _marks(given: str, data: bytes) -> Iterator[Mark]:
    from timing_audit.model.staged import Mark

    for match in MARK.finditer(data):
        yield Mark(given, data.count(b"\n", 0, match.start()) + 1, match[1].decode("utf-8", "replace"))
