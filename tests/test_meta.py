"""The docs say what is there: commands, options, rules, modules, targets of make, links."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from timing_audit.checks.registry import CHECKS
from timing_audit.cli import cli
from timing_audit.packs.load import load_packs

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
READ_BY_PEOPLE = [page for page in PAGES if page.name not in ("cli.md", "rules.md", "checks.md")]


def text(page: str | Path) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def commands(command: click.Command = cli, path: str = "timing-audit") -> Iterator[tuple[str, click.Command]]:
    """Every command that can be run, with the words that run it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from commands(inner, f"{path} {name}")


def options(command: click.Command) -> set[str]:
    shown = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    return {name for option in shown for name in [*option.opts, *option.secondary_opts] if name.startswith("--")}


def sections(page: str, mark: str) -> dict[str, str]:
    """Heading to text."""
    _, *found = re.split(rf"^{mark} (.+)$", text(page), flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


def test_every_command_is_documented_and_no_other() -> None:
    documented = {heading for heading in sections("docs/cli.md", "##") if heading.startswith("timing-audit ")}

    assert documented == {path for path, _ in commands()}


@pytest.mark.parametrize(("path", "command"), list(commands()), ids=[path for path, _ in commands()])
def test_every_option_is_documented_with_its_command(path: str, command: click.Command) -> None:
    found = sections("docs/cli.md", "##")
    shared = options(cli)

    assert set(re.findall(r"--[a-z-]+", found["Every command takes"])) == shared
    assert options(command) - shared == set(re.findall(r"^- `[^`]*?(--[a-z-]+)", found[path], flags=re.MULTILINE))


def test_every_rule_is_documented_and_no_other() -> None:
    rules = {rule.id: rule for rule in load_packs().rules}
    documented = sections("docs/rules.md", "###")

    assert documented.keys() == rules.keys()
    assert all(rule.summary in documented[rule.id] for rule in rules.values())


def test_every_check_is_documented_and_no_other() -> None:
    documented = sections("docs/checks.md", "##")

    assert list(documented) == [check.id for check in CHECKS]
    assert all(check.page.rationale in documented[check.id] for check in CHECKS)


def test_the_architecture_names_every_module_and_no_other() -> None:
    package = ROOT / "timing_audit"
    modules = {file.relative_to(package).as_posix() for file in package.rglob("*.py") if file.name != "__init__.py"}

    listed = re.findall(r"^- `(.+?\.py)`: \S", text("ARCHITECTURE.md"), flags=re.MULTILINE)

    assert sorted(listed) == sorted(modules)


def test_the_layers_of_the_architecture_are_all_packages_and_modules_there_are() -> None:
    package = ROOT / "timing_audit"
    parts = {
        entry.name.removesuffix(".py")
        for entry in package.iterdir()
        if (entry.is_dir() and any(entry.glob("*.py"))) or entry.suffix == ".py"
    }

    (line,) = re.findall(r"^(cli > .+)$", text("ARCHITECTURE.md"), flags=re.MULTILINE)

    assert set(re.split(r" [>|] ", line)) == parts - {"__init__", "__main__"}


def test_the_generated_parts_are_up_to_date() -> None:
    pages = [page.relative_to(ROOT).as_posix() for page in PAGES]
    command = [sys.executable, "-m", "cogapp", "--check", "--diff", *pages]
    cog = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert cog.returncode == 0, f"run `make docs`\n{cog.stdout}{cog.stderr}"


def test_every_target_of_make_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):(?!=)", text("Makefile"), flags=re.MULTILINE))
    named = {
        name
        for page in READ_BY_PEOPLE
        for name in re.findall(r"(?:`|^ {4})make(?: --silent)? ([a-z-]+)", text(page), flags=re.MULTILINE)
    }

    assert {"audit", "test", "docs"} <= named <= targets


def test_every_option_that_the_readme_names_exists() -> None:
    known = options(cli).union(*(options(command) for _, command in commands()))
    named = set(re.findall(r"(?<!make )(?<![\w-])(--[a-z][a-z-]*)", text("README.md")))

    assert "--entry" in named
    assert named <= known


@pytest.mark.parametrize("page", READ_BY_PEOPLE, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text(page))

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_changelog_opens_with_what_is_unreleased() -> None:
    headings = re.findall(r"^## (.+)$", text("CHANGELOG.md"), flags=re.MULTILINE)

    assert headings[0] == "[Unreleased]"
