"""`timing-audit rules`: list, show and test the vocabulary."""

from __future__ import annotations

import sys

import click

from timing_audit.cli.settings import GATE_FAILED, Settings, common, load
from timing_audit.errors import USAGE, TimingAuditError


@click.group()
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

    packs = load(settings)
    sys.stdout.write(rules_json(packs.rules) if form == "json" else rules_text(packs.rules))


@rules.command("show")
@click.argument("rule_id", metavar="ID")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def show_rule(settings: Settings, rule_id: str, form: str) -> None:
    """Show one rule or check with its reason and examples."""
    from timing_audit.checks.registry import CHECKS, find
    from timing_audit.render.checks import page_json, page_text
    from timing_audit.render.rules import rule_text, rules_json

    packs, check = load(settings), find(rule_id)
    rule = packs.find(rule_id)
    if rule is None and check is not None:
        sys.stdout.write(page_json([check.page]) if form == "json" else page_text(check.page))
        return
    if rule is None:
        from difflib import get_close_matches

        known = [known.id for known in packs.rules] + [known.id for known in CHECKS]
        near = get_close_matches(rule_id, known, n=1)
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
    failures, total = run_examples(load(settings))
    for failure in failures:
        click.echo(str(failure))
    click.echo(f"{total - len(failures)} of {total} examples hold")
    return GATE_FAILED if failures else 0
