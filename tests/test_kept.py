"""Reports are kept by content, and a damaged or missing entry costs time, never truth."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from timing_audit.cli import kept as module
from timing_audit.cli.kept import MOST_ENTRIES, kept
from timing_audit.model.options import Options
from timing_audit.model.report import Report
from timing_audit.packs.load import load_packs
from timing_audit.pipeline import DEFAULT, audit
from timing_audit.source.target import open_target

WORKER = """
import time

class Worker:
    def forward_batch_generation(self, batch):
        start = time.perf_counter()
        self.draft(batch)
        return time.perf_counter() - start

    def draft(self, batch):
        return batch
"""


class Bench:
    """One small tree, and how often its report was worked out."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "worker.py"
        self.file.write_text(WORKER, encoding="utf-8")
        self.made = 0
        self.said: list[str] = []

    def report(self, options: Options = DEFAULT) -> Report:
        tree, packs = open_target(str(self.file)), load_packs()

        def make() -> Report:
            self.made += 1
            return audit(tree, packs, options)

        return kept(tree, packs, options, make, self.said.append)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("TIMING_AUDIT_CACHE", str(tmp_path / "cache"))
    return Bench(tmp_path)


def entries() -> list[Path]:
    return sorted(Path(os.environ["TIMING_AUDIT_CACHE"], "reports").iterdir())


def test_the_same_input_is_worked_out_once(bench: Bench) -> None:
    assert bench.report() == bench.report()
    assert bench.made == 1


def test_another_text_or_another_question_is_another_report(bench: Bench) -> None:
    bench.report()
    bench.report(Options(entries=("Worker.draft",)))
    bench.file.write_text(WORKER.replace("draft", "verify"), encoding="utf-8")
    assert "Worker.verify" in {fact.qualname for fact in bench.report().functions}
    assert bench.made == 3


def test_another_version_of_the_tool_works_it_out_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.report()
    monkeypatch.setattr(module, "__version__", "999")
    bench.report()
    assert bench.made == 2


@pytest.mark.parametrize("damage", [b"", b"garbage", pickle.dumps(1), pickle.dumps(Path("x")), b"\x80\x05"])
def test_a_damaged_entry_is_worked_out_anew(bench: Bench, damage: bytes) -> None:
    before = bench.report()
    (entry,) = entries()
    entry.write_bytes(damage)
    assert bench.report() == before
    assert bench.made == 2
    bench.report()
    assert bench.made == 2, "the good entry has taken the place of the damaged one"


def test_an_entry_that_would_run_code_is_not_run(bench: Bench, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "evil"),)

    bench.report()
    (entry,) = entries()
    entry.write_bytes(pickle.dumps(Evil()))
    bench.report()
    assert not (tmp_path / "evil").exists()


def test_a_full_disk_is_said_and_the_report_comes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert bench.report().functions
    assert bench.said == ["the report is not kept: No space left on device"]
    assert entries() == []


def test_the_cache_stays_small(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ENTRIES", 3)
    for number in range(6):
        bench.report(Options(entries=(f"Worker.draft{'*' * number}",)))
    assert len(entries()) == 3
    assert MOST_ENTRIES > 3
