"""Input that a breaker tried: each ends with one line and the documented exit code, soon."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from timing_audit.cli import run

HEAD = "import time\n\nclass Worker:\n    def forward_batch_generation(self, b):\n"
TAIL = "\n    def draft(self, b):\n        return b\n"
ROOT = Path(__file__).resolve().parents[1]


def worker(folder: Path, body: str) -> str:
    file = folder / "worker.py"
    file.write_text(HEAD + body + TAIL, encoding="utf-8")
    return str(file)


def test_an_expression_of_tens_of_thousands_of_terms_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = worker(tmp_path, f"        x = {' + '.join(['b'] * 60_000)}\n        return self.draft(x)\n")
    assert run(["--no-cache", "scan", long]) == 3
    said = capsys.readouterr()
    assert "worker.py: the function on line 4 is too deeply nested" in said.out
    assert said.err == "timing-audit: the audit is incomplete: 1 skipped\n"


def test_loops_in_loops_do_not_double_the_work(tmp_path: Path) -> None:
    """Thirty loops: at twice the work a loop this would not end."""
    loops = "".join(f"{'    ' * (2 + depth)}for i{depth} in b:\n" for depth in range(30))
    body = f"        start = time.perf_counter()\n{loops}{'    ' * 32}self.draft(b)\n"
    deep = worker(tmp_path, f"{body}        return time.perf_counter() - start\n")
    assert run(["--no-cache", "scan", deep]) == 0


def command(*arguments: str, **streams: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "timing_audit", *arguments]
    return subprocess.run(line, env=environment, check=False, **streams)  # type: ignore[call-overload,no-any-return]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_under_the_output(tmp_path: Path) -> None:
    file = worker(tmp_path, "        return self.draft(b)\n")
    with Path("/dev/full").open("wb") as full:
        done = command("scan", file, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 3
    assert done.stderr == b"timing-audit: the output cannot be written: No space left on device\n"


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_reader_that_leaves_is_no_failure() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = command("explain", "workflow", stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_recording_has_an_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["record", str(tmp_path), "--for", "99999999999999999h"]) == 2
    assert "is more than a week" in capsys.readouterr().err
