"""What is left behind when apply is interrupted, and when a permanent change follows probes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from timing_audit.cli import run
from timing_audit.codemod.write import write
from timing_audit.model.edit import FileChange

ENGINE = Path(__file__).parent.parent / "fixtures/mini_sglang"
NAMES = ("a.py", "b.py", "c.py")


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interrupt_between_replacements_puts_everything_back(
    at: int, behind: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt comes in front of a replacement, or right behind it; the last file is a new one."""
    for name in NAMES[:2]:
        (tmp_path / name).write_bytes(b"old")
    replace, seen = os.replace, 0

    def interrupted(source: Path, target: Path) -> None:
        nonlocal seen
        seen += 1
        if seen != at or behind:
            replace(source, target)
        if seen == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    changes = [FileChange(name, b"old" if name in NAMES[:2] else None, b"new") for name in NAMES]
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, changes)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.py": b"old", "b.py": b"old"}


def test_a_permanent_change_over_probes_leaves_nothing_of_ours(tmp_path: Path) -> None:
    engine = Path(shutil.copytree(ENGINE, tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__")))
    package = engine / "python/sglang"
    narrow = ["--stage", "verify", "--worker", "EAGLEWorker"]
    assert run(["apply", "--codemod", str(engine / "python"), *narrow]) == 0
    assert (package / "_timing_audit.json").exists()
    assert run(["apply", "--codemod", str(engine / "python"), "--backend", "native", "--permanent", *narrow]) == 0
    assert not list(engine.rglob("_timing_audit.*"))
    assert "# timing: probe" not in "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    assert 'spec_stage_span("verify")' in (package / "srt/speculative/eagle_worker.py").read_text(encoding="utf-8")
