"""`timing-audit report`: the breakdown of the cycle from run files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from timing_audit.cli.output import write
from timing_audit.cli.settings import Progress, Settings, common, fail
from timing_audit.errors import UNAUDITABLE

if TYPE_CHECKING:
    from timing_audit.runs.report import RunReport

FORMATS = ("text", "json", "markdown", "html", "trace")


@click.command()
@click.argument("places", metavar="RUN...", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="What is written.")
@click.option("-o", "--output", metavar="FILE", help="Where it goes, in place of standard output.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N decode cycles of each process.")
@click.option("--all", "everything", is_flag=True, help="Leave nothing out of the text.")
@common
@click.pass_obj
def report(
    settings: Settings, places: tuple[str, ...], form: str, output: str | None, last: int | None, everything: bool
) -> int:
    """Say where the decode cycle spends its time.

    RUN is a folder of run files, a file, a glob, a tar, or `-` for a tar on standard input; the engine may still run.
    """
    from timing_audit.runs.find import read_run

    progress = Progress(settings)
    try:
        run = read_run(places, progress.read)
    finally:
        progress.clear()
    if form == "trace":
        from timing_audit.cli.output import write_bytes
        from timing_audit.render.run_trace import run_trace

        write_bytes(run_trace(run, last, packed=output is not None and output.endswith(".gz")), output)
        return 0
    from timing_audit.runs.summarise import summarise

    found = summarise(run, places, last)
    write(_render(found, form, everything), output)
    if not found.cycles:
        return fail("no decode cycle was recorded", UNAUDITABLE)
    return fail(f"{len(run.unread)} files could not be read", UNAUDITABLE) if run.unread else 0


def _render(found: RunReport, form: str, everything: bool) -> str:
    if form == "json":
        from timing_audit.render.run_json import run_json

        return run_json(found)
    if form == "markdown":
        from timing_audit.render.run_markdown import run_markdown

        return run_markdown(found)
    if form == "html":
        from timing_audit.render.run_html import run_html

        return run_html(found)
    from timing_audit.render.run_text import run_text

    return run_text(found, everything)
