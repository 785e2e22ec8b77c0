"""`cache`, `--diff` on the command line, and the completion of the shells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden import MINI
from timing_audit.cli import run

Out = pytest.CaptureFixture[str]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with one wheel, in a folder that others use too."""
    monkeypatch.setenv("TIMING_AUDIT_CACHE", str(tmp_path))
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "a-1.whl").write_bytes(b"x" * 1500)
    (tmp_path / "precious.txt").write_text("not ours")
    return tmp_path


def test_the_cache_says_where_it_is(cache: Path, capsys: Out) -> None:
    assert run(["cache", "dir"]) == 0
    assert capsys.readouterr().out == f"{cache}\n"
    assert run(["cache", "dir", "--format", "json"]) == 0
    held = {"schema": 1, "dir": str(cache), "files": 1, "size_bytes": 1500, "next": []}
    assert json.loads(capsys.readouterr().out) == held


def test_clearing_removes_what_is_ours_and_nothing_else(cache: Path, capsys: Out) -> None:
    assert run(["cache", "clear"]) == 0
    assert capsys.readouterr().out == "1 file removed, 0.0 MB\n"
    assert os.listdir(cache) == ["precious.txt"]
    assert run(["cache", "clear", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "files": 0, "size_bytes": 0, "next": []}


def test_a_link_in_the_cache_is_not_followed(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "kept.whl").write_bytes(b"x")
    (cache / "wheels" / "a-1.whl").unlink()
    (cache / "wheels").rmdir()
    (cache / "wheels").symlink_to(elsewhere)

    assert run(["cache", "clear"]) == 0
    assert (elsewhere / "kept.whl").exists()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("{folder}", "--diff HEAD: the target is in no git repository"),
        ("{wheel}", "--diff needs a target in a git repository, not engine.tar"),
    ],
)
def test_a_target_without_a_history_has_no_diff(target: str, message: str, tmp_path: Path, capsys: Out) -> None:
    import tarfile

    source = tmp_path / "src"
    source.mkdir()
    (source / "a.py").write_text("def step(w):\n    w.run()\n")
    with tarfile.open(tmp_path / "engine.tar", "w") as archive:
        archive.add(source / "a.py", "a.py")
    named = target.format(folder=source, wheel=tmp_path / "engine.tar")

    assert run(["scan", named, "--entry", "step", "--diff", "HEAD"]) == 2
    assert capsys.readouterr().err == f"timing-audit: {message}\n"


def complete(shell: str, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(MINI.parents[1]), "_TIMING_AUDIT_COMPLETE": f"{shell}_complete"}
    environment |= {
        "COMP_WORDS": " ".join(["timing-audit", *words]),
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
    }
    command = [sys.executable, "-c", "from timing_audit.cli import main; main()"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_completes_commands_options_and_choices(shell: str) -> None:
    assert "scan" in complete(shell, "sc")
    assert "--update-baseline" in complete(shell, "scan", "--upd")
    assert "sarif" in complete(shell, "scan", "--format", "sa")
