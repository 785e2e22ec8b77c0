"""Options, choice of renderer, exit code; no analysis. What is heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from timing_audit import __version__
from timing_audit.errors import UNAUDITABLE, USAGE, TimingAuditError

if TYPE_CHECKING:
    from timing_audit.model.pack import Packs
    from timing_audit.model.report import Report
    from timing_audit.source.tree import Tree

GATE_FAILED, INTERRUPTED = 1, 130
DEFAULT_TOP = 10
Command = TypeVar("Command", bound=Callable[..., Any])


class Settings:
    """The options that every command takes, before or after its name."""

    rules: str | None = None
    python: str | None = None
    color: bool | None = None
    quiet: bool = False
    verbose: bool = False
    no_cache: bool = False


def main() -> None:
    """Runs the command line; every expected failure is one line on standard error."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """The exit code of one command line."""
    try:
        code = cli.main(list(arguments), prog_name="timing-audit", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except TimingAuditError as error:
        return _fail(str(error), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "timing-audit"
        return _fail(f"{error.format_message()} (see {command} --help)", USAGE)
    except click.ClickException as error:
        return _fail(error.format_message(), USAGE)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the report has had enough; the interpreter must not complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _fail(message: str, code: int) -> int:
    click.echo(f"timing-audit: {message}", err=True)
    return code


def _remember(context: click.Context, parameter: click.Parameter, value: object) -> None:
    settings = context.ensure_object(Settings)
    source = context.get_parameter_source(parameter.name or "")
    if source is not click.core.ParameterSource.DEFAULT:
        setattr(settings, parameter.name or "", value)


def _option(*names: str, text: str = "", **attributes: Any) -> Callable[[Command], Command]:
    return click.option(*names, expose_value=False, callback=_remember, help=text, **attributes)


COMMON = (
    _option("-v", "--verbose", is_flag=True, text="Say what was read."),
    _option("-q", "--quiet", is_flag=True, text="Only the report and errors."),
    _option("--color/--no-color", default=None, text="Colours, or none; on a terminal by default."),
    _option("--no-cache", is_flag=True, hidden=True),
    _option("--python", metavar="EXE", text="Audit the package that this interpreter would import."),
    _option("--rules", metavar="DIR", text="More packs, beside the tool's own."),
)


def common(command: Command) -> Command:
    """Gives a command the options that all share."""
    for option in COMMON:
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="%(prog)s %(version)s")
@common
def cli() -> None:
    """Where does the decode cycle spend time that nobody measures?"""


@cli.command()
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
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="What the report is written as."
)
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
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PCT",
    help="Exit with 1 if less of the hot functions is timed, on the host or the device.",
)
@common
@click.pass_obj
def scan(
    settings: Settings, target: str | None, entries: tuple[str, ...], phase: str, workers: tuple[str, ...],
    all_files: bool, form: str, output: str | None, top: int | None, everything: bool, fail_under: float | None,
) -> int:  # fmt: skip
    """Find every timing site, the hot path, and what on it no timer covers.

    TARGET is a checkout, a package folder, a file, a wheel, zip or tar, `-` for a tar on standard input, or
    pypi:sglang==VERSION. Without it: the installed sglang, else the current folder.
    """
    from timing_audit.model.options import Options

    if everything and top is not None:
        raise click.UsageError("--all and --top contradict each other")
    phases = () if phase == "all" else (phase,)
    options = Options(entries, phases, workers, all_files, target)
    tree, report = _audit(settings, target, options)
    limit = None if everything else DEFAULT_TOP if top is None else top
    _write(_render(settings, tree, report, form, limit, output), output)
    return _verdict(report, fail_under)


def _audit(settings: Settings, target: str | None, options: Any) -> tuple[Tree, Report]:
    from timing_audit.pipeline import audit
    from timing_audit.source.target import open_target

    tree = open_target(target, python=settings.python, say=_sayer(settings))
    progress = Progress(settings)
    try:
        report = audit(tree, _packs(settings), options, progress.read)
    finally:
        progress.clear()
    if settings.verbose:
        parsed = report.summary.parsed
        share = f"{100 * parsed.parsed_files / parsed.files:.1f} %"
        _say(f"read {parsed.parsed_files:,} of {parsed.files:,} files ({share}), {parsed.parsed_lines:,} lines")
    return tree, report


def _packs(settings: Settings) -> Packs:
    from timing_audit.packs.load import load_packs

    return load_packs(Path(settings.rules) if settings.rules is not None else None)


def _sayer(settings: Settings) -> Callable[[str], None]:
    return (lambda message: None) if settings.quiet else _say


def _say(message: str) -> None:
    click.echo(f"timing-audit: {message}", err=True)


class Progress:
    """One line on a terminal that says how far it is, from half a second on."""

    def __init__(self, settings: Settings) -> None:
        from time import monotonic

        self._now = monotonic
        self._shown = monotonic() + 0.5
        self._wanted = sys.stderr.isatty() and not settings.quiet
        self._written = False

    def read(self, path: str) -> None:
        """A file is being read."""
        if self._wanted and self._now() >= self._shown:
            self._shown, self._written = self._now() + 0.1, True
            click.echo(f"\r\033[Kreading {path[-70:]}", nl=False, err=True)

    def clear(self) -> None:
        """Takes the line away."""
        if self._written:
            click.echo("\r\033[K", nl=False, err=True)


def _render(settings: Settings, tree: Tree, report: Report, form: str, top: int | None, output: str | None) -> str:
    if form == "json":
        from timing_audit.render.json import render_json

        return render_json(report)
    from timing_audit.render.text import Style, render_text

    prefix, root = _where(tree)
    color = settings.color
    if color is None:
        color = output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return render_text(report, Style(top, color, prefix, root))


def _where(tree: Tree) -> tuple[str, str]:
    """How places are named from the current folder, or else from which folder they are named."""
    if tree.root is None:
        return "", ""
    relative = os.path.relpath(tree.root)
    if relative == os.curdir:
        return "", ""
    return ("", relative) if relative.startswith(os.pardir) else (f"{relative.replace(os.sep, '/')}/", "")


def _write(text: str, output: str | None) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    path = Path(output)
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            _replace(path, text)
    except OSError as error:
        raise TimingAuditError(
            f"{output} cannot be written: {error.strerror or error}", exit_code=UNAUDITABLE
        ) from None


def _replace(path: Path, text: str) -> None:
    """Old or new, never half; a link stays one."""
    real = Path(os.path.realpath(path))
    part = real.with_name(f".{real.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        if real.exists():
            part.chmod(real.stat().st_mode & 0o7777)
        os.replace(part, real)
    finally:
        part.unlink(missing_ok=True)


def _verdict(report: Report, fail_under: float | None) -> int:
    from timing_audit.model.report import COVERED, EXCLUDED, percent

    if report.skipped or not report.summary.rows:
        what = f"{len(report.skipped)} skipped" if report.skipped else "no entry point was found"
        return _fail(f"the audit is incomplete: {what}", UNAUDITABLE)
    if fail_under is None:
        return 0
    counted = [fact for fact in report.functions if fact.role == "hot" and fact.coverage != EXCLUDED]
    timed = sum(fact.coverage in COVERED for fact in counted)
    if 100 * timed >= fail_under * len(counted):
        return 0
    share = percent(timed, len(counted))
    return _fail(f"{timed} of {len(counted)} hot functions timed ({share}), less than {fail_under:g} %", GATE_FAILED)


@cli.group()
@common
def rules() -> None:
    """The vocabulary: what counts as a clock, a stage, an entry point."""


@rules.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def list_rules(settings: Settings, form: str) -> None:
    """List every rule of every pack."""
    from timing_audit.render.rules import rules_json, rules_text

    packs = _packs(settings)
    sys.stdout.write(rules_json(packs.rules) if form == "json" else rules_text(packs.rules))


@rules.command("show")
@click.argument("rule_id", metavar="ID")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def show_rule(settings: Settings, rule_id: str, form: str) -> None:
    """Show one rule with its reason and examples."""
    from timing_audit.render.rules import rule_text, rules_json

    packs = _packs(settings)
    rule = packs.find(rule_id)
    if rule is None:
        from difflib import get_close_matches

        near = get_close_matches(rule_id, [known.id for known in packs.rules], n=1)
        hint = f"did you mean {near[0]}?" if near else "`timing-audit rules list` names them"
        raise TimingAuditError(f"no rule is called {rule_id}", hint=hint, exit_code=USAGE)
    sys.stdout.write(rules_json([rule]) if form == "json" else rule_text(rule))


@rules.command("test")
@click.argument("path", required=False)
@common
@click.pass_obj
def test_rules(settings: Settings, path: str | None) -> int:
    """Run the examples of every rule, or of the packs in the folder PATH beside the tool's own."""
    from timing_audit.examples import run_examples

    if path is not None:
        settings.rules = path
    failures, total = run_examples(_packs(settings))
    for failure in failures:
        click.echo(str(failure))
    click.echo(f"{total - len(failures)} of {total} examples hold")
    return GATE_FAILED if failures else 0
