"""`timing-audit status`: what is applied to a tree; what is running, at which level."""

from __future__ import annotations

import os
import sys

import click

from timing_audit.cli.settings import Settings, common, configuration, configured_target
from timing_audit.errors import UNAUDITABLE


@click.command()
@click.argument("folder", metavar="[TARGET | RUN_DIR]", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def status(settings: Settings, folder: str | None, form: str) -> int:
    """Say what is applied to TARGET; or which processes write to RUN_DIR, and at which level their timers are."""
    from timing_audit.runs.control import last_order, look

    if folder is None or not _is_run(folder):
        return _applied(settings, folder, form)
    found = look(folder)
    words = {True: "running", False: "ended", None: "on another machine"}
    rows = [
        {"file": one.file, "rank": one.rank, "pid": one.pid, "state": words[one.alive], "level": one.level,
         "cycles": one.cycles, "dropped": one.lost, "errors": one.errors}
        for one in found
    ]  # fmt: skip
    following = [["timing-audit", "report", folder]] if found else []
    if form == "json":
        import json

        document = {
            "schema": 1,
            "kind": "run-status",
            "control": last_order(folder),
            "processes": rows,
            "next": following,
        }
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return 0 if found else UNAUDITABLE
    for row in rows:
        sys.stdout.write(
            f"{row['rank']}: {row['state']}, level {row['level']}, pid {row['pid']}, {row['cycles']:,} cycles, "
            f"{row['dropped']:,} dropped, {row['errors']:,} errors\n"
        )
    asked = last_order(folder)
    sys.stdout.write(f"control: {asked or 'no order'}\n")
    if not found:
        sys.stdout.write(f"no process has written to {folder}\n")
    for command in following:
        sys.stdout.write(f"next: {' '.join(command)}\n")
    return 0 if found else UNAUDITABLE


def _is_run(folder: str) -> bool:
    """Whether this is where an engine writes, and no source tree."""
    if not os.path.isdir(folder):
        return False
    names = set(os.listdir(folder))
    return not names or "control" in names or any(name.endswith(".tarec") for name in names)


def _applied(settings: Settings, target: str | None, form: str) -> int:
    from timing_audit.codemod.original import manifests
    from timing_audit.codemod.strip import held
    from timing_audit.source.target import open_target

    where = target if target is not None or settings.python else configured_target(configuration(settings))
    tree = open_target(where, python=settings.python)
    known = manifests(tree)
    files = held(tree, known)
    probes = [probe for manifest in known.values() for probe in manifest.probes]
    named = [target] if target is not None else []
    following = [["timing-audit", "strip", *named]] if files else [["timing-audit", "apply", "--codemod", *named]]
    if form == "json":
        import json

        document = {
            "schema": 1, "kind": "tree-status", "target": tree.label, "files": [entry._asdict() for entry in files],
            "probes": [probe._asdict() for probe in probes], "next": following,
            "plans": [
                {"detail": one.detail, "backend": one.backend, "layout": one.layout} for one in known.values()
            ],
        }  # fmt: skip
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
        return 0
    for one in known.values():
        sys.stdout.write(f"{tree.label}: {len(one.probes)} probes ({one.detail}, {one.backend}, layout {one.layout})\n")
    for entry in files:
        sys.stdout.write(f"  {entry.file}: {entry.marks} marks{', edited since' if entry.state == 'edited' else ''}\n")
    if not files:
        sys.stdout.write(f"{tree.label}: no timers of ours\n")
    for command in following:
        sys.stdout.write(f"next: {' '.join(command)}\n")
    return 0
