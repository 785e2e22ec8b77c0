"""Lines that differ from a revision, asked of the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from timing_audit.errors import TimingAuditError
from timing_audit.source.git import WHOLE, changed_lines

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def git(folder: Path, *arguments: str) -> None:
    named = {f"GIT_{who}_{what}": "tester" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **named, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit, whose files lie below python/."""
    root = tmp_path / "python"
    root.mkdir()
    git(tmp_path, "init", "-q", "-b", "main")
    for name in ("a.py", "b.py", "with space.py", "é.py", 'a"quote.py', "moved.py"):
        (root / name).write_text(TEN)
    (tmp_path / "outside.py").write_text(TEN)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return root


def test_changed_added_and_removed_lines(repository: Path) -> None:
    (repository / "a.py").write_text(TEN.replace("line 3\n", "line three\n").replace("line 7\n", "line 7\nand\nmore\n"))
    (repository / "b.py").write_text(TEN.replace("line 5\n", ""))
    (repository.parent / "outside.py").write_text("")

    assert changed_lines(repository, "HEAD") == {"a.py": ((3, 3), (8, 9)), "b.py": ((4, 5),)}


def test_names_of_every_kind_and_files_that_git_does_not_know(repository: Path) -> None:
    for name in ("with space.py", "é.py", 'a"quote.py'):
        (repository / name).write_text("first\n" + TEN)
    (repository / "fresh one.py").write_text(TEN)

    assert changed_lines(repository, "main") == {
        "with space.py": ((1, 1),), "é.py": ((1, 1),), 'a"quote.py': ((1, 1),), "fresh one.py": WHOLE,
    }  # fmt: skip


def test_a_renamed_file_changed_where_it_differs(repository: Path) -> None:
    git(repository, "mv", "moved.py", "there.py")
    (repository / "there.py").write_text(TEN.replace("line 2\n", "line two\n"))

    found = changed_lines(repository, "HEAD")

    assert "moved.py" not in found
    assert all(first <= 2 <= last for first, last in found["there.py"])


@pytest.mark.parametrize("revision", ["nope", "--output=x", "HEAD~9", ""])
def test_no_such_revision(repository: Path, revision: str) -> None:
    with pytest.raises(TimingAuditError, match="git knows no such revision") as caught:
        changed_lines(repository, revision)

    assert caught.value.exit_code == 2
    assert not (repository / "x").exists()


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(TimingAuditError, match="the target is in no git repository"):
        changed_lines(tmp_path, "HEAD")
