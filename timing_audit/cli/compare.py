"""`timing-audit compare`: whether one run is faster than another, and what differs between them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from timing_audit.cli.settings import GATE_FAILED, Settings, common, fail
from timing_audit.errors import UNAUDITABLE

if TYPE_CHECKING:
    from timing_audit.runs.compare import Comparison

METRICS = ("ms_per_token", "cycle", "verify", "draft", "draft_extend", "target_extend", "start_to_start")


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--fail-over", type=click.FloatRange(min=0), metavar="PCT",
              help="Exit with 1 if B is shown to be worse by more.")  # fmt: skip
@click.option("--metric", type=click.Choice(METRICS), default="ms_per_token", help="What --fail-over looks at.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def compare(settings: Settings, a: str, b: str, fail_over: float | None, metric: str, form: str) -> int:
    """Say whether B is faster than A, and what differs between them.

    A and B are folders of run files, each with one launch or more; from 5 launches a side on, the launch is the unit.
    """
    from timing_audit.render.compare import compare_json, compare_text
    from timing_audit.runs.compare import compare as compare_sides
    from timing_audit.runs.find import read_run
    from timing_audit.runs.launches import has_stream_time, read_side

    runs = [read_run([place]) for place in (a, b)]
    clock = "stream" if all(has_stream_time(run) for run in runs) else "host"
    sides = [read_side(name, run, clock) for name, run in zip((a, b), runs, strict=True)]
    empty = [side.name for side in sides if not side.launches]
    if empty:
        return fail(f"no decode cycle was recorded in {' and '.join(empty)}", UNAUDITABLE)
    found = compare_sides(*sides)
    sys.stdout.write(compare_json(found) if form == "json" else compare_text(found))
    return 0 if fail_over is None else _gate(found, metric, fail_over)


def _gate(found: Comparison, metric: str, limit: float) -> int:
    row = next((row for row in found.rows if row.metric == metric), None)
    if row is None:
        return fail(f"{metric} is not known on both sides", UNAUDITABLE)
    change = 100 * row.difference.value
    if row.shown and row.worse and abs(change) > limit:
        return fail(f"{metric} is {abs(change):.1f} % worse, more than {limit:g} %", GATE_FAILED)
    return 0
