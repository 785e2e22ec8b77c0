"""What every command shares: its options, its messages, its packs, its progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from timing_audit.model.config import Config
    from timing_audit.model.pack import Packs

GATE_FAILED, INTERRUPTED = 1, 130
Command = TypeVar("Command", bound=Callable[..., Any])


class Settings:
    """The options that every command takes, before or after its name."""

    rules: str | None = None
    config: str | None = None
    python: str | None = None
    color: bool | None = None
    quiet: bool = False
    verbose: bool = False
    no_cache: bool = False


def fail(message: str, code: int) -> int:
    """Says why the command ends, and gives its exit code."""
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
    _option("--no-cache", is_flag=True, text="Work everything out anew, and keep nothing."),
    _option("--python", metavar="EXE", text="Audit the package that this interpreter would import."),
    _option("--config", metavar="FILE", text="The configuration, in place of the nearest one (docs/configuration.md)."),
    _option("--rules", metavar="DIR", text="More packs, beside the tool's own."),
)


def common(command: Command) -> Command:
    """Gives a command the options that all share."""
    for option in COMMON:
        command = option(command)
    return command


def load(settings: Settings) -> Packs:
    """The packs that the command works with."""
    from timing_audit.packs.load import load_packs

    return load_packs(Path(settings.rules) if settings.rules is not None else None)


def configuration(settings: Settings) -> Config:
    """What the project has settled: from the file that was named, else the nearest one."""
    from timing_audit.config.find import find_config

    return find_config(settings.config)


def configured_path(config: Config, name: str) -> str:
    """A path of the configuration as it is named from here."""
    return os.path.normpath(os.path.join(config.folder, name))


def configured_target(config: Config) -> str | None:
    """The one target of the configuration; of several the user has to choose."""
    from timing_audit.errors import USAGE, TimingAuditError

    if len(config.targets) > 1:
        what = f"{config.file} has {len(config.targets)} targets"
        raise TimingAuditError(what, hint=f"name one: {', '.join(config.targets)}", exit_code=USAGE)
    target = config.targets[0] if config.targets else None
    return target if target is None or target.startswith("pypi:") else configured_path(config, target)


def sayer(settings: Settings) -> Callable[[str], None]:
    """How the command says what it does."""
    return (lambda message: None) if settings.quiet else say


def say(message: str) -> None:
    """One line on standard error."""
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
