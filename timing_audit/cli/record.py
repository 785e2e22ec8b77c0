"""`timing-audit record`: switches the timers of a live engine on, waits, switches them off, says what came."""

from __future__ import annotations

import sys
import time

import click

from timing_audit.cli.settings import Settings, common, fail, sayer
from timing_audit.errors import UNAUDITABLE

SLACK_S = 1.0
LONGEST_NS = 7 * 24 * 3600 * 10**9


@click.command()
@click.argument("folder", metavar="RUN_DIR")
@click.option("--level", type=click.Choice(["host", "device"]), default="device", help="device includes host.")
@click.option("--for", "length", metavar="TIME", default="30s", help="How long: 500ms, 30s, 5m.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def record(settings: Settings, folder: str, level: str, length: str, form: str) -> int:
    """Switch the timers of a live engine on, wait, switch them off, and say what came."""
    from timing_audit.runs.control import look, order
    from timing_audit.runtime.control import read_order

    wanted = read_order(f"{level} {length}")
    if wanted is None or not wanted.length_ns:
        raise click.UsageError(f"--for {length} is no time: 500ms, 30s, 5m")
    if wanted.length_ns > LONGEST_NS:
        raise click.UsageError(f"--for {length} is more than a week")
    found = look(folder)
    if found and all(live.alive is False for live in found):
        pids = ", ".join(str(live.pid) for live in found)
        return fail(f"no engine runs: the processes that wrote to {folder} have ended (pid {pids})", UNAUDITABLE)
    before = {live.file: live for live in found}
    sayer(settings)(f"{level} for {length}; Ctrl-C ends it early")
    order(folder, f"{level} {length}")
    try:
        time.sleep(wanted.length_ns / 1e9)
    finally:
        order(folder, "off")
    time.sleep(SLACK_S)
    came = []
    for live in look(folder):
        old = before.get(live.file)
        cycles = live.cycles - (old.cycles if old is not None else 0)
        came.append((live, cycles, live.lost - (old.lost if old is not None else 0)))
    return _say(folder, came, form)


def _say(folder: str, came: list, form: str) -> int:  # type: ignore[type-arg]
    on = [cycles for _, cycles, _ in came if cycles > 0]
    following = ["timing-audit", "report", folder]
    facts = {
        "schema": 1, "kind": "record", "processes": len(came), "recorded": len(on), "cycles": max(on, default=0),
        "dropped": sum(lost for _, _, lost in came), "next": [following],
    }  # fmt: skip
    if form == "json":
        import json

        sys.stdout.write(json.dumps(facts, indent=1) + "\n")
    else:
        sys.stdout.write(
            f"{len(on)} of {len(came)} processes on, {max(on, default=0):,} cycles, {facts['dropped']:,} dropped\n"
            f"next: {' '.join(following)}\n"
        )
    if on:
        return 0
    return fail(f"nothing came: no process of {folder} ran a cycle (is there traffic?)", UNAUDITABLE)
