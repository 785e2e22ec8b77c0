"""`timing-audit status RUN_DIR`: what is running, at which level."""

from __future__ import annotations

import json
import sys

import click

from timing_audit.cli.settings import Settings, common
from timing_audit.errors import UNAUDITABLE


@click.command()
@click.argument("folder", metavar="RUN_DIR")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def status(settings: Settings, folder: str, form: str) -> int:
    """Say which processes write to a run folder, and at which level their timers are."""
    from timing_audit.runs.control import last_order, look

    found = look(folder)
    words = {True: "running", False: "ended", None: "on another machine"}
    rows = [
        {"file": one.file, "rank": one.rank, "pid": one.pid, "state": words[one.alive], "level": one.level,
         "cycles": one.cycles, "dropped": one.lost, "errors": one.errors}
        for one in found
    ]  # fmt: skip
    following = [["timing-audit", "report", folder]] if found else []
    if form == "json":
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
