"""Runs the checks over a source in memory."""

from __future__ import annotations

from functools import cache

from timing_audit.examples import example_tree
from timing_audit.model.options import Options
from timing_audit.model.pack import Packs
from timing_audit.model.report import Finding
from timing_audit.packs.load import load_packs
from timing_audit.pipeline import audit

EVERYTHING = ("*",)
GAPS = ("untimed-stage", "untimed-function", "untimed-region")


@cache
def packs() -> Packs:
    """The tool's own packs, read once."""
    return load_packs()


def found(
    code: str, entries: tuple[str, ...] = EVERYTHING, select: tuple[str, ...] = (), ignore: tuple[str, ...] = ()
) -> tuple[Finding, ...]:
    """The findings; every function counts as hot unless other entries are named."""
    options = Options(entries=entries, all_files=entries == EVERYTHING, select=select, ignore=ignore, no_probes=True)
    return audit(example_tree(code), packs(), options).findings


def faults(code: str) -> list[tuple[int, str, str]]:
    """All but the coverage gaps."""
    return sorted((f.line, f.check, f.severity) for f in found(code) if f.check not in GAPS)
