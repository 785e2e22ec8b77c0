"""`timing-audit graph`: the hot path as a tree with coverage marks; with `--to`, why a function is hot."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from timing_audit.cli.output import write
from timing_audit.cli.settings import Progress, Settings, common, fail, load, sayer
from timing_audit.errors import UNAUDITABLE

if TYPE_CHECKING:
    from timing_audit.model.graph import CallGraph
    from timing_audit.model.options import Options
    from timing_audit.render.graph import Look
    from timing_audit.source.tree import Tree

DEFAULT_TOP = 52


@click.command()
@click.argument("target", required=False)
@click.option(
    "--entry",
    "entries",
    multiple=True,
    metavar="GLOB",
    help="Start at functions with this qualname, in place of the packs' entry points.",
)
@click.option("--to", metavar="FUNCTION", help="Why is it hot: the chain of calls, and how sure each of them is.")
@click.option("--phase", type=click.Choice(["decode", "prefill", "all"]), default="all", help="Only this phase.")
@click.option(
    "--worker",
    "workers",
    multiple=True,
    metavar="NAME",
    help="Only this worker: a class, or what one launches with (EAGLE3).",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "mermaid"]), default="text", help="How the graph is written."
)
@click.option("-o", "--output", metavar="FILE", help="Where the graph goes, in place of standard output.")
@click.option(
    "--top", type=click.IntRange(min=1), default=None, metavar="N", help=f"How many calls are drawn ({DEFAULT_TOP})."
)
@click.option("--all", "everything", is_flag=True, help="Fold no call.")
@common
@click.pass_obj
def graph(
    settings: Settings, target: str | None, entries: tuple[str, ...], to: str | None, phase: str,
    workers: tuple[str, ...], form: str, output: str | None, top: int | None, everything: bool,
) -> int:  # fmt: skip
    """Draw the hot path as a tree with coverage marks, or say why a function is hot.

    TARGET is what `scan` takes. The tree shows the way to the workers and into their stages first, then what has
    most below it; the JSON report always holds all of it.
    """
    from timing_audit.model.options import Options

    if everything and top is not None:
        raise click.UsageError("--all and --top contradict each other")
    options = Options(entries, () if phase == "all" else (phase,), workers, False, target)
    tree, found = _graph(settings, target, options)
    most = None if everything else DEFAULT_TOP if top is None else top
    write(_render(found, _look(settings, tree, most, output), form, to, options), output)
    if found.incomplete or not found.roots:
        what = f"{found.incomplete} files were skipped" if found.incomplete else "no entry point was found"
        return fail(f"the audit is incomplete: {what}", UNAUDITABLE)
    return 0


def _graph(settings: Settings, target: str | None, options: Options) -> tuple[Tree, CallGraph]:
    from timing_audit import pipeline
    from timing_audit.source.target import open_target

    tree = open_target(target, python=settings.python, say=sayer(settings))
    progress = Progress(settings)
    try:
        return tree, pipeline.graph(tree, load(settings), options, progress.read)
    finally:
        progress.clear()


def _render(found: CallGraph, look: Look, form: str, to: str | None, options: Options) -> str:
    from timing_audit.render.graph import next_steps, render_chains, render_graph
    from timing_audit.render.json import render_graph_json
    from timing_audit.render.mermaid import render_mermaid, render_mermaid_chains
    from timing_audit.render.outline import aside, chains

    ways, others = (chains(found, to), aside(found, to)) if to is not None else ([], [])
    following = next_steps(found, options, to)
    if form == "json":
        return render_graph_json(found, following, to, ways, others)
    if form == "mermaid":
        return render_mermaid(found, look.most) if to is None else render_mermaid_chains(found, ways)
    if to is None:
        return render_graph(found, look, following)
    return render_chains(found, ways, others, look, following)


def _look(settings: Settings, tree: Tree, most: int | None, output: str | None) -> Look:
    from timing_audit.cli.reports import where
    from timing_audit.render.graph import Look

    color = settings.color
    if color is None:
        color = output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    plain = output is None and not encoding.startswith("utf")
    prefix, root = where(tree)
    return Look(most, color, prefix, root, plain)
