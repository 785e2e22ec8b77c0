"""`timing-audit explain`: what a check means, or what a day with the tool looks like."""

from __future__ import annotations

import sys

import click

from timing_audit.cli.settings import Settings, common, load
from timing_audit.errors import USAGE, TimingAuditError

WORKFLOW = "workflow"


@click.command()
@click.argument("subject", metavar="ID|workflow")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def explain(settings: Settings, subject: str, form: str) -> None:
    """Explain a check or a rule with examples, or with `workflow` the commands of a whole day."""
    text = _workflow(form) if subject == WORKFLOW else _page(settings, subject, form)
    sys.stdout.write(text)


def _workflow(form: str) -> str:
    from timing_audit.render.workflow import workflow_json, workflow_text

    return workflow_json() if form == "json" else workflow_text()


def _page(settings: Settings, subject: str, form: str) -> str:
    from timing_audit.checks.registry import CHECKS, find
    from timing_audit.render.checks import page_json, page_text
    from timing_audit.render.rules import rule_text, rules_json

    check = find(subject)
    if check is not None:
        return page_json([check.page]) if form == "json" else page_text(check.page)
    packs = load(settings)
    rule = packs.find(subject)
    if rule is not None:
        return rules_json([rule]) if form == "json" else rule_text(rule)
    from difflib import get_close_matches

    known = [WORKFLOW, *(check.id for check in CHECKS), *(rule.id for rule in packs.rules)]
    near = get_close_matches(subject, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known[: len(CHECKS) + 1])}, and the rules"
    raise TimingAuditError(f"nothing is called {subject}", hint=hint, exit_code=USAGE)
