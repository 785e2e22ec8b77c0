"""`timing-audit scan`: every timing site, the hot path, and what on it no timer covers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from timing_audit.cli.baselines import Ratchet
from timing_audit.cli.output import write
from timing_audit.cli.reports import FORMATS, Wanted, render
from timing_audit.cli.settings import (
    GATE_FAILED,
    Progress,
    Settings,
    common,
    configuration,
    configured_target,
    fail,
    load,
    say,
    sayer,
)
from timing_audit.errors import UNAUDITABLE, USAGE, TimingAuditError

if TYPE_CHECKING:
    from timing_audit.model.config import Config
    from timing_audit.model.options import Options
    from timing_audit.model.report import Report
    from timing_audit.source.tree import Tree

DEFAULT_TOP = 5


@click.command()
@click.argument("target", required=False)
@click.option(
    "--entry",
    "entries",
    multiple=True,
    metavar="GLOB",
    help="Start at functions with this qualname, in place of the packs' entry points.",
)
@click.option("--phase", type=click.Choice(["decode", "prefill", "all"]), default="all", help="Only this phase.")
@click.option(
    "--worker",
    "workers",
    multiple=True,
    metavar="NAME",
    help="Only this worker: a class, or what one launches with (EAGLE3).",
)
@click.option("--all-files", is_flag=True, help="Read every file, not only those of the hot path.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="What the report is written as.")
@click.option("-o", "--output", metavar="FILE", help="Where the report goes, in place of standard output.")
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=None,
    metavar="N",
    help=f"How many untimed functions the text names ({DEFAULT_TOP}).",
)
@click.option("--all", "everything", is_flag=True, help="Leave nothing out of the text.")
@click.option(
    "--baseline",
    metavar="FILE",
    help="Say what changed in coverage since this baseline or scan in JSON, and exit with 1 if it got worse.",
)
@click.option(
    "--update-baseline",
    is_flag=True,
    help="Write the baseline, timing-audit-baseline.json unless --baseline names it.",
)
@click.option(
    "--diff", "revision", metavar="REV", help="Only findings in functions that changed since this git revision."
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PCT",
    help="Exit with 1 if less of the hot functions is timed, on the host or the device.",
)
@click.option("--select", "selected", multiple=True, metavar="ID", help="Only this check; a glob such as untimed-*.")
@click.option("--ignore", "ignored", multiple=True, metavar="ID", help="All checks but this one.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    help="Exit with 1 if a check reports something as bad as this.",
)
@common
@click.pass_obj
def scan(
    settings: Settings, target: str | None, entries: tuple[str, ...], phase: str, workers: tuple[str, ...],
    all_files: bool, form: str, output: str | None, top: int | None, everything: bool, baseline: str | None,
    update_baseline: bool, revision: str | None, fail_under: float | None, selected: tuple[str, ...],
    ignored: tuple[str, ...], fail_on: str | None,
) -> int:  # fmt: skip
    """Find every timing site, the hot path, and what on it no timer covers.

    TARGET is a checkout, a package folder, a file, a wheel, zip or tar, `-` for a tar on standard input, or
    pypi:sglang==VERSION. Without it: the configured one, the installed sglang, else the current folder.
    """
    from timing_audit.model.options import Options

    if everything and top is not None:
        raise click.UsageError("--all and --top contradict each other")
    phases = () if phase == "all" else (phase,)
    config = configuration(settings)
    options = Options(
        entries or config.entries, phases, workers, all_files, target, selected or config.checks.select,
        ignored or config.checks.ignore, config.probes == "none",
    )  # fmt: skip
    ratchet = Ratchet(baseline, update_baseline, options, config)
    tree, report = _audit(settings, config, options)
    if revision is not None:
        report = _changed_since(revision, tree, report)
    limit = None if everything else DEFAULT_TOP if top is None else top
    drift = ratchet.compare(settings, tree, report)
    write(render(settings, tree, report, drift, Wanted(form, output, limit)), output)
    return max(_verdict(report, fail_under, fail_on), ratchet.judge(drift))


def _audit(settings: Settings, config: Config, options: Options) -> tuple[Tree, Report]:
    from timing_audit.cli.kept import kept
    from timing_audit.pipeline import audit
    from timing_audit.source.target import open_target

    target = options.target if options.target is not None or settings.python else configured_target(config)
    tree = open_target(target, python=settings.python, excludes=config.excludes, say=sayer(settings))
    packs, progress = load(settings), Progress(settings)

    def make() -> Report:
        return audit(tree, packs, options, progress.read)

    try:
        report = make() if settings.no_cache else kept(tree, packs, options, make, sayer(settings))
    finally:
        progress.clear()
    if settings.verbose:
        parsed = report.summary.parsed
        share = f"{100 * parsed.parsed_files / parsed.files:.1f} %"
        say(f"read {parsed.parsed_files:,} of {parsed.files:,} files ({share}), {parsed.parsed_lines:,} lines")
    return tree, report


def _changed_since(revision: str, tree: Tree, report: Report) -> Report:
    from timing_audit.ratchet.changed import only_changed
    from timing_audit.source.git import changed_lines

    if tree.root is None:
        raise TimingAuditError(f"--diff needs a target in a git repository, not {tree.label}", exit_code=USAGE)
    return only_changed(report, changed_lines(tree.root, revision))


def _verdict(report: Report, fail_under: float | None, fail_on: str | None) -> int:
    if report.skipped or not report.summary.rows:
        what = f"{len(report.skipped)} skipped" if report.skipped else "no entry point was found"
        return fail(f"the audit is incomplete: {what}", UNAUDITABLE)
    bad = _as_bad_as(report, fail_on) if fail_on is not None else 0
    if bad:
        fail(f"{bad} finding{'s' if bad > 1 else ''} as bad as {fail_on}", GATE_FAILED)
    under = fail_under is not None and _is_under(report, fail_under)
    return GATE_FAILED if bad or under else 0


def _as_bad_as(report: Report, severity: str) -> int:
    from timing_audit.model.checks import SEVERITIES

    worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return sum(finding.severity in worst for finding in report.findings)


def _is_under(report: Report, fail_under: float) -> bool:
    from timing_audit.model.report import COVERED, EXCLUDED, percent

    counted = [fact for fact in report.functions if fact.role == "hot" and fact.coverage != EXCLUDED]
    timed = sum(fact.coverage in COVERED for fact in counted)
    if 100 * timed >= fail_under * len(counted):
        return False
    share = percent(timed, len(counted))
    fail(f"{timed} of {len(counted)} hot functions timed ({share}), less than {fail_under:g} %", GATE_FAILED)
    return True
