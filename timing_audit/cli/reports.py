"""The report of a scan in the format that was asked for; renderers are imported when they are used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from timing_audit.cli.settings import Settings

if TYPE_CHECKING:
    from timing_audit.model.drift import Drift
    from timing_audit.model.report import Report
    from timing_audit.source.tree import Tree

FORMATS = ("text", "json", "markdown", "html", "sarif", "github")


class Wanted(NamedTuple):
    """How the user wants the report: `top` is None for everything."""

    form: str
    output: str | None
    top: int | None


def render(settings: Settings, tree: Tree, report: Report, drift: Drift | None, wanted: Wanted) -> str:
    """The report as text in the format that is wanted."""
    if wanted.form == "json":
        from timing_audit.render.json import render_json

        return render_json(report, drift)
    prefix, root = where(tree)
    if wanted.form == "sarif":
        from timing_audit.checks.registry import CHECKS
        from timing_audit.render.sarif import render_sarif

        return render_sarif(report, [check.page for check in CHECKS], prefix)
    if wanted.form == "github":
        from timing_audit.render.github import render_github

        return render_github(report, drift, prefix)
    if wanted.form == "html":
        from timing_audit.render.html import render_html

        return render_html(report, _text_of(tree), drift, prefix)
    if wanted.form == "markdown":
        from timing_audit.render.markdown import render_markdown

        return render_markdown(report, drift, wanted.top, prefix)
    from timing_audit.render.text import Style, render_text

    color = settings.color
    if color is None:
        color = wanted.output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    style = Style(wanted.top, color, prefix, root)
    if drift is None:
        return render_text(report, style)
    from timing_audit.render.drift import render_drift

    return render_drift(drift, style)


def _text_of(tree: Tree) -> Callable[[str], str]:
    def read(file: str) -> str:
        try:
            return tree.read(file).text.replace("\r\n", "\n")
        except Unreadable:  # gone since the scan
            return ""

    from timing_audit.source.decode import Unreadable

    return read


def where(tree: Tree) -> tuple[str, str]:
    """How places are named from the current folder, or else from which folder they are named."""
    if tree.root is None:
        return "", ""
    relative = os.path.relpath(tree.root)
    if relative == os.curdir:
        return "", ""
    return ("", relative) if relative.startswith(os.pardir) else (f"{relative.replace(os.sep, '/')}/", "")
