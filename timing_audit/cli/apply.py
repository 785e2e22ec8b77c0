"""`timing-audit apply`: insert timers where the scan found none, or show what that would change."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from timing_audit.cli.settings import GATE_FAILED, Progress, Settings, common, configuration, fail, load, say, sayer
from timing_audit.errors import UNAUDITABLE, USAGE, TimingAuditError

if TYPE_CHECKING:
    from timing_audit.model.edit import Choice, Plan
    from timing_audit.source.tree import Tree

STAGES = ("cycle", "draft", "verify", "draft_extend", "target_extend")


@click.command()
@click.argument("target", required=False)
@click.option("--codemod", is_flag=True, help="Write; without it the plan is printed and nothing is written.")
@click.option("--entry", "entries", multiple=True, metavar="GLOB", help="Start at functions with this qualname.")
@click.option("--stage", "stages", multiple=True, type=click.Choice(STAGES), help="Only this stage.")
@click.option("--worker", "workers", multiple=True, metavar="NAME", help="Only this worker: a class, or EAGLE3.")
@click.option("--phase", type=click.Choice(["decode", "prefill", "all"]), default="all", help="Only this phase.")
@click.option("--detail", type=click.Choice(["stage", "function"]), default="stage", help="How deep probes go.")
@click.option("--backend", default="region", metavar="NAME", help="region, nvtx, record_function or native.")
@click.option("--layout", type=click.Choice(["lines", "block"]), default=None, help="Move no line, or be read.")
@click.option("--into", metavar="DIR", help="Copy the package into DIR and write only there.")
@click.option("--permanent", is_flag=True, help="As an upstream change would be: no marks (with --backend native).")
@click.option("--dry-run", is_flag=True, help="Print a patch for `git apply` or `patch -p1`.")
@click.option("--check", is_flag=True, help="Exit with 1 if anything would change.")
@click.option("--all", "everything", is_flag=True, help="Name every probe.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="What is printed.")
@common
@click.pass_obj
def apply(
    settings: Settings, target: str | None, codemod: bool, entries: tuple[str, ...], stages: tuple[str, ...],
    workers: tuple[str, ...], phase: str, detail: str, backend: str, layout: str | None, into: str | None,
    permanent: bool, dry_run: bool, check: bool, everything: bool, form: str,
) -> int:  # fmt: skip
    """Insert timers: one around the cycle and one around each stage, or (--detail function) deeper.

    TARGET is as for scan; archives and streams take --dry-run.
    """
    from timing_audit.model.edit import BLOCK, LINES, Choice
    from timing_audit.model.options import Options

    if dry_run and check:
        raise click.UsageError("--dry-run and --check contradict each other")
    if permanent and (backend != "native" or layout == LINES):
        raise click.UsageError("--permanent writes layout block with --backend native")
    chosen_layout = BLOCK if permanent else layout or LINES
    phases = () if phase == "all" else (phase,)
    choice = Choice(detail, backend, chosen_layout, stages, phases, workers, permanent)
    options = Options(entries or configuration(settings).entries, (), (), False, target)
    tree = _open(settings, target, into)
    writes = codemod and not dry_run and not check
    if writes and tree.root is None:
        hint = "print a patch with --dry-run, or unpack it"
        raise TimingAuditError(f"{tree.label} cannot be written to", hint=hint, exit_code=USAGE)
    if writes and tree.root is not None:
        return _write(settings, tree, options, choice, form, into, everything=everything)
    plan = _plan(settings, tree, options, choice)
    changing = any(change.before != change.after for change in plan.changes)
    if dry_run:
        _print_patch(tree, plan)
        if plan.refusals:
            say(f"{len(plan.refusals)} regions refused; without --dry-run the plan says why")
    else:
        _print(tree, plan, choice, form, (), _following(target), everything=everything)
    return max(
        fail("the tree is not as apply would leave it", GATE_FAILED) if check and changing else 0, _incomplete(plan)
    )


def _incomplete(plan: Plan) -> int:
    for entry in plan.skipped:
        say(f"{entry.file}: skipped, no timer in it: {entry.reason}")
    return UNAUDITABLE if plan.skipped else 0


def _open(settings: Settings, target: str | None, into: str | None) -> Tree:
    from timing_audit.source.target import open_target

    tree = open_target(target, python=settings.python, excludes=configuration(settings).excludes, say=sayer(settings))
    if into is None:
        return tree
    from timing_audit.codemod.copy import copy_package

    return open_target(str(copy_package(tree, Path(into))))


def _plan(settings: Settings, tree: Tree, options: object, choice: Choice) -> Plan:
    from timing_audit.model.options import Options
    from timing_audit.packs.load import rules_folder
    from timing_audit.pipeline import plan

    assert isinstance(options, Options)
    folders = [*([Path(settings.rules)] if settings.rules is not None else []), rules_folder()]
    progress = Progress(settings)
    try:
        return plan(tree, load(settings), folders, options, choice, progress.read)
    finally:
        progress.clear()


def _write(
    settings: Settings, tree: Tree, options: object, choice: Choice, form: str, into: str | None, *, everything: bool
) -> int:
    from timing_audit.codemod.write import locked, write

    root = tree.root or Path()
    with locked(root / tree.package if tree.package else root):
        plan = _plan(settings, tree, options, choice)
        done = write(root, plan.changes)
    following = _next(tree, root, into) if plan.probes and not choice.permanent else []
    _print(tree, plan, choice, form, done.files, following, everything=everything)
    for name in done.cut:
        say(f"{name} had hard links; the others keep the old file")
    if form == "text":
        _tell(len(done.files), plan, following, into)
    if done.changed:
        return fail(f"changed meanwhile and left alone: {', '.join(done.changed)}", UNAUDITABLE)
    return _incomplete(plan)


def _tell(files: int, plan: Plan, following: list[list[str]], into: str | None) -> None:
    if not files:
        sys.stdout.write("nothing to change: it is applied already\n" if plan.probes else "nothing was changed\n")
        return
    sys.stdout.write(f"changed {files} file{'' if files == 1 else 's'}\n")
    if not following:
        return
    command = f"PYTHONPATH={into} python -m sglang.launch_server ..." if into else "python -m sglang.launch_server ..."
    variables = "TIMING_AUDIT_DIR=RUN_DIR TIMING_AUDIT=device"
    sys.stdout.write(f"restart the engine to load them; switch on with\n  {variables} {command}\n")
    sys.stdout.write("read what they write with\n  timing-audit report RUN_DIR\n")
    sys.stdout.write(f"take them out with\n  {' '.join(following[-1])}\n")


def _next(tree: Tree, root: Path, into: str | None) -> list[list[str]]:
    named = os.path.relpath(root / tree.package if tree.package else root)
    return [["timing-audit", "scan", named], ["timing-audit", "strip", named]]


def _following(target: str | None) -> list[list[str]]:
    return [["timing-audit", "apply", "--codemod", *([target] if target is not None else [])]]


def _print(
    tree: Tree, plan: Plan, choice: Choice, form: str, written: tuple[str, ...], following: list[list[str]], *,
    everything: bool,
) -> None:  # fmt: skip
    from timing_audit.render.plan import plan_json, plan_text

    if form == "json":
        sys.stdout.write(plan_json(plan, choice, written, following))
    else:
        sys.stdout.write(plan_text(plan, tree.label, choice, everything=everything))


def _print_patch(tree: Tree, plan: Plan) -> None:
    from timing_audit.codemod.hunks import patch

    sys.stdout.flush()
    sys.stdout.buffer.write(patch([change._replace(path=tree.origin(change.path)) for change in plan.changes]))
    sys.stdout.buffer.flush()
