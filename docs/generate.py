"""The generated parts of the docs: what `make docs` writes, and `make lint` compares, by way of cog."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import click

from timing_audit.checks.registry import CHECKS
from timing_audit.cli import cli
from timing_audit.model.pack import CallRule, Pack, Rule
from timing_audit.packs.load import load_packs
from timing_audit.render.checks import page_markdown
from timing_audit.render.workflow import workflow_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "timing_audit"
CUT = "[...]"


def commands() -> str:
    """Every command with its arguments and options; those that all share come first."""
    context = click.Context(cli, info_name="timing-audit")
    shared = {parameter.name for parameter in cli.params}
    lines = ["## Every command takes", "", *_options(cli, context, set())]
    for command, inner in _leaves(cli, context):
        usage = " ".join([inner.command_path, *command.collect_usage_pieces(inner)])
        about = inspect.cleandoc(command.help or "").replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n\n")
        options = list(_options(command, inner, shared))
        lines += ["", f"## {inner.command_path}", "", f"    {usage}", "", about, *([""] if options else []), *options]
    return "\n".join(lines)


def _leaves(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    if not isinstance(command, click.Group):
        yield command, context
        return
    for name in sorted(command.list_commands(context)):
        inner = command.get_command(context, name)
        if inner is not None:
            yield from _leaves(inner, click.Context(inner, info_name=name, parent=context))


def _options(command: click.Command, context: click.Context, shared: Collection[str | None]) -> Iterator[str]:
    for parameter in command.params:
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None and parameter.name not in shared:
            names, text = record
            yield f"- `{names}`: {' '.join(text.split())}" if text else f"- `{names}`"


def rules() -> str:
    """Every rule of the tool's own packs."""
    return "\n\n".join(_pack(pack) for pack in load_packs().packs)


def _pack(pack: Pack) -> str:
    return "\n\n".join([f"## {pack.name}", *(_rule(rule) for rule in pack.rules)])


def _rule(rule: Rule) -> str:
    calls = ", ".join(f"`{call}`" for call in rule.calls) if isinstance(rule, CallRule) else ""
    named = f"\n\nCalls: {calls}." if calls else ""
    return f"### {rule.id}\n\nKind `{rule.kind}`. {rule.summary} {rule.rationale}{named}"


def checks() -> str:
    """Every check with its examples."""
    return "\n\n".join(page_markdown(check.page) for check in CHECKS)


def modules() -> str:
    """Every module with the first line of its docstring."""
    files = sorted(file for file in PACKAGE.rglob("*.py") if file.name != "__init__.py")
    return "\n".join(f"- `{file.relative_to(PACKAGE).as_posix()}`: {_about(file)}" for file in files)


def _about(file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_bytes()))
    if docstring is None:
        raise ValueError(f"{file} has no docstring")
    return docstring.splitlines()[0]


def layers() -> str:
    """The layers of the import contract that exist, the highest first, and the places kept for others."""
    wanted = _contract()
    rows = [[name for name in row if _exists(name)] for row in wanted]
    kept = [name for row in wanted for name in row if not _exists(name)]
    drawn = " > ".join(" | ".join(row) for row in rows if row)
    later = f"\n\nPlaces are kept for {', '.join(f'`{name}`' for name in kept)}." if kept else ""
    return f"```text\n{drawn}\n```{later}"


def _contract() -> list[list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (rows,) = (contract["layers"] for contract in contracts if contract["id"] == "layers")
    return [[name.strip(" ()") for name in row.split("|")] for row in rows]


def _exists(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def transcript(file: str, most: int) -> str:
    """A kept report, with no more than `most` lines of one block."""
    return "```text\n" + "\n\n".join("\n".join(_cut(block, most)) for block in _blocks(file)) + "\n```"


def workflow() -> str:
    """What `timing-audit explain workflow` prints."""
    return f"```text\n{workflow_text().rstrip()}\n```"


def block(file: str, title: str) -> str:
    """One block of a kept report."""
    (found,) = (lines for lines in _blocks(file) if lines[0].startswith(title))
    return "```text\n" + "\n".join(found) + "\n```"


def _blocks(file: str) -> list[list[str]]:
    text = (ROOT / file).read_text(encoding="utf-8").rstrip("\n")
    return [part.split("\n") for part in text.split("\n\n")]


def _cut(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[:most], CUT]
