"""Options, choice of renderer, exit code; no analysis. What is heavy is imported by the command that needs it."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from timing_audit import __version__
from timing_audit.cli.settings import INTERRUPTED, common, fail
from timing_audit.errors import UNAUDITABLE, USAGE, TimingAuditError

COMMANDS = (
    "scan", "graph", "apply", "strip", "record", "status", "report", "compare", "hook", "rules", "explain", "cache",
)  # fmt: skip
"""Each is a module of this package with a command of its own name."""
FULL = (errno.ENOSPC, errno.EIO, errno.EDQUOT)


def main() -> None:
    """Runs the command line; every expected failure is one line on standard error."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    # A command is short and what it makes lives as long: looking for garbage, at its end too, costs seconds.
    gc.disable()
    code = run(sys.argv[1:])
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """The exit code of one command line."""
    try:
        code = cli.main(list(arguments), prog_name="timing-audit", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except TimingAuditError as error:
        return fail(str(error), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "timing-audit"
        return fail(f"{error.format_message()} (see {command} --help)", USAGE)
    except click.ClickException as error:
        return fail(error.format_message(), USAGE)
    except (click.Abort, KeyboardInterrupt):
        return fail("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit):
        # Whoever read the report has had enough (click turns that into its only exit of this kind).
        _drop_output()
        return 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        _drop_output()
        return fail(f"the output cannot be written: {error.strerror}", UNAUDITABLE)


def _drop_output() -> None:
    """The interpreter must not complain about its output at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Commands(click.Group):
    """Imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of a day's work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"timing_audit.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="%(prog)s %(version)s")
@common
def cli() -> None:
    """Where does the decode cycle spend time that nobody measures?"""
