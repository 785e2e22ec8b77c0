"""`timing-audit strip`: take inserted timers out again, to the byte."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from timing_audit.cli.settings import GATE_FAILED, Settings, common, fail, say, sayer
from timing_audit.errors import UNAUDITABLE, USAGE, TimingAuditError

if TYPE_CHECKING:
    from timing_audit.source.tree import Tree


@click.command()
@click.argument("target", required=False)
@click.option("--dry-run", is_flag=True, help="Print a patch and write nothing.")
@click.option("--check", is_flag=True, help="Exit with 1 if any timer is in the tree.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="What is printed.")
@common
@click.pass_obj
def strip(settings: Settings, target: str | None, dry_run: bool, check: bool, form: str) -> int:
    """Take out what apply put in; what was edited since keeps the edits."""
    from timing_audit.source.target import open_target

    if dry_run and check:
        raise click.UsageError("--dry-run and --check contradict each other")
    tree = open_target(target, python=settings.python, say=sayer(settings))
    if tree.root is None and not (dry_run or check):
        hint = "print a patch with --dry-run"
        raise TimingAuditError(f"{tree.label} cannot be written to", hint=hint, exit_code=USAGE)
    if tree.root is None or dry_run or check:
        return _show(tree, dry_run=dry_run)
    return _write(tree, tree.root, form)


def _show(tree: Tree, *, dry_run: bool) -> int:
    from timing_audit.codemod.hunks import patch
    from timing_audit.codemod.strip import plan_strip

    found = plan_strip(tree)
    for entry in found.stuck:
        say(f"{entry.file}: its timers cannot be taken out: {entry.reason}")
    if dry_run:
        sys.stdout.buffer.write(patch([c._replace(path=tree.origin(c.path)) for c in found.changes]))
        return UNAUDITABLE if found.stuck else 0
    if found.stuck:
        return UNAUDITABLE
    return fail(f"{len(found.changes)} files are not as they were", GATE_FAILED) if found.changes else 0


def _write(tree: Tree, root: Path, form: str) -> int:
    from timing_audit.codemod.strip import plan_strip
    from timing_audit.codemod.write import leftovers, locked, write

    with locked(root / tree.package if tree.package else root):
        found = plan_strip(tree)
        done = write(root, found.changes)
        for part in leftovers(root, sorted({str(Path(path).parent) for path in tree.paths})):
            part.unlink()
    if form == "json":
        import json

        document = {
            "schema": 1, "kind": "strip", "written": list(done.files), "edited": list(found.edited),
            "stuck": [entry._asdict() for entry in found.stuck], "changed": list(done.changed), "next": [],
        }  # fmt: skip
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        _tell(done.files, found.edited)
    for entry in found.stuck:
        say(f"{entry.file}: its probes were left in: {entry.reason}")
    if done.changed:
        say(f"changed meanwhile and left alone: {', '.join(done.changed)}")
    return UNAUDITABLE if found.stuck or done.changed else 0


def _tell(files: tuple[str, ...], edited: tuple[str, ...]) -> None:
    if not files:
        sys.stdout.write("no timers of ours in the tree\n")
        return
    sys.stdout.write(f"restored {len(files)} file{'' if len(files) == 1 else 's'}; restart the engine to load them\n")
    for name in edited:
        sys.stdout.write(f"  {name} was edited since; the edit was kept\n")
