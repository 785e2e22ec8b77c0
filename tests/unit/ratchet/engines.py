"""The mini engine, changed: what drift and hook tests audit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.golden import MINI
from timing_audit.model.baseline import Baseline
from timing_audit.packs.load import load_packs
from timing_audit.pipeline import audit
from timing_audit.ratchet.snapshot import snapshot
from timing_audit.source.target import open_target

SPECULATIVE = "python/sglang/srt/speculative"
WORKER = f"{SPECULATIVE}/eagle_worker_v2.py"

DRAFT_SPAN = """\
            with (
                self.draft_worker.draft_tp_context(self.draft_worker.draft_runner.tp_group),
                spec_stage_span("draft"),
            ):
                verify_input: EagleVerifyInput = self.draft_worker.draft(batch)
"""
NO_DRAFT_SPAN = DRAFT_SPAN.replace('                spec_stage_span("draft"),\n', "")


def copy_engine(folder: Path) -> Path:
    """A copy of the mini engine to be changed."""
    shutil.copytree(MINI / "python", folder / "python", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def edit(root: Path, file: str, old: str, new: str) -> None:
    """Replaces a piece of a file, which must hold it."""
    text = (root / file).read_text(encoding="utf-8")
    assert old in text
    (root / file).write_text(text.replace(old, new), encoding="utf-8")


def baseline(root: Path) -> Baseline:
    """The baseline of a tree."""
    packs = load_packs()
    tree = open_target(str(root))
    return snapshot(audit(tree, packs), tree, packs)


@cache
def mini_baseline() -> Baseline:
    """The baseline of the engine as it is."""
    return baseline(MINI)


def changed(folder: Path, change: Callable[[Path], None]) -> Baseline:
    """The baseline of a copy with a change."""
    root = copy_engine(folder)
    change(root)
    return baseline(root)
