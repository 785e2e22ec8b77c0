"""Listing a folder: order, what is left out, links, and what cannot be read."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.unit.source.source_trees import write
from timing_audit.model.source import Skipped
from timing_audit.source.decode import Unreadable
from timing_audit.source.scan import FolderReader, list_python, read_file


def test_sources_only_in_order(tmp_path: Path) -> None:
    """Hidden folders, environments, caches and build output hold no sources, unless they are packages."""
    left_out = (".git/a.py", "__pycache__/a.py", "venv/a.py", "site-packages/a.py", "node_modules/a.py", "build/a.py")
    write(tmp_path, dict.fromkeys((*left_out, "._b.py", ".b.py", "x.egg-info/a.py", "notes.txt"), b""))
    write(tmp_path, dict.fromkeys(("myenv/pyvenv.cfg", "myenv/lib/a.py", "p/dist/__init__.py", "p/dist/m.py"), b""))
    write(tmp_path, dict.fromkeys(("b.py", "a/z.py", "a.py"), b""))

    assert list_python(str(tmp_path)) == (("a.py", "a/z.py", "b.py", "p/dist/__init__.py", "p/dist/m.py"), ())


def test_links_inside_the_tree_add_nothing_twice(tmp_path: Path) -> None:
    """A link to what is listed anyway is no second file, nor is a loop of folders an endless tree."""
    write(tmp_path, {"pkg/a.py": b""})
    (tmp_path / "pkg" / "loop").symlink_to("..", target_is_directory=True)
    (tmp_path / "again").symlink_to("pkg", target_is_directory=True)
    (tmp_path / "b.py").symlink_to("pkg/a.py")

    assert list_python(str(tmp_path)) == (("pkg/a.py",), ())


def test_links_to_what_is_not_listed_are_followed_once(tmp_path: Path) -> None:
    """The first link by name stands for the real file, which lies where no one looks."""
    write(tmp_path, {".real/pkg/a.py": b"A", ".real/b.py": b"B"})
    (tmp_path / "one").symlink_to(".real/pkg", target_is_directory=True)
    (tmp_path / "two").symlink_to(".real", target_is_directory=True)
    (tmp_path / "c.py").symlink_to(".real/b.py")

    listing = list_python(str(tmp_path))

    assert listing == (("c.py", "one/a.py"), ())
    assert FolderReader(str(tmp_path))("one/a.py") == b"A"


def test_faulty_links_are_skipped_with_their_reason(tmp_path: Path) -> None:
    """Dangling, looping and escaping links are told apart; links that are no Python do not matter."""
    write(tmp_path, {"out/x.py": b"", "tree/a.py": b""})
    tree = tmp_path / "tree"
    (tree / "dangling.py").symlink_to("nowhere.py")
    (tree / "data.bin").symlink_to("nowhere.bin")
    (tree / "l1.py").symlink_to("l2.py")
    (tree / "l2.py").symlink_to("l1.py")
    (tree / "out.py").symlink_to("../out/x.py")
    (tree / "outside").symlink_to("../out", target_is_directory=True)

    listing = list_python(str(tree))

    assert listing.members == ("a.py",)
    assert listing.skipped == (
        Skipped("dangling.py", "dangling symbolic link"),
        Skipped("l1.py", "symbolic link loop"),
        Skipped("l2.py", "symbolic link loop"),
        Skipped("out.py", "symbolic link leads out of the tree"),
        Skipped("outside", "symbolic link leads out of the tree"),
    )


def test_odd_entries_are_skipped(tmp_path: Path) -> None:
    """A pipe would hang the run, and a name that is not UTF-8 cannot stand in a report."""
    write(tmp_path, {"folder.py/a.py": b""})
    os.mkfifo(tmp_path / "pipe.py")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.py")).touch()

    listing = list_python(str(tmp_path))

    assert listing.members == ("folder.py/a.py",)
    assert listing.skipped == (
        Skipped("n\\xff.py", "its name is not UTF-8"),
        Skipped("pipe.py", "not a regular file"),
    )


def test_a_file_gone_or_too_large_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between listing and reading anything may happen to a file."""
    write(tmp_path, {"big.py": b"x" * 100})
    monkeypatch.setattr("timing_audit.source.scan.MAX_FILE_BYTES", 99)

    with pytest.raises(Unreadable, match="gone since the folder was listed"):
        read_file(str(tmp_path / "gone.py"))
    with pytest.raises(Unreadable, match="too large"):
        read_file(str(tmp_path / "big.py"))


def test_a_folder_gone_is_skipped(tmp_path: Path) -> None:
    """The folder to start from vanished before it was walked."""
    assert list_python(str(tmp_path), "gone/") == ((), (Skipped("gone", "gone since the folder was listed"),))


UNPRIVILEGED = """
import os, sys
from timing_audit.source.decode import Unreadable
from timing_audit.source.target import open_target
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
tree = open_target(sys.argv[1])
print(tree.paths, tree.skipped)
try:
    tree.raw("locked.py")
except Unreadable as reason:
    print(reason)
"""


def test_what_may_not_be_read_is_skipped() -> None:
    """A locked folder is skipped by the listing, a locked file by its reader, and the rest is audited."""
    # Not tmp_path: its parents are closed to other users.
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name), {"locked.py": b"", "shut/a.py": b"", "open.py": b""})
        folder.chmod(0o755)
        (folder / "locked.py").chmod(0)
        (folder / "shut").chmod(0)
        command = [sys.executable, "-c", UNPRIVILEGED, name]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        (folder / "shut").chmod(0o700)
    if "Operation not permitted" in run.stderr:
        pytest.skip("cannot drop privileges")

    assert run.stdout.splitlines() == [
        "('locked.py', 'open.py') (Skipped(file='shut', reason='cannot be read: Permission denied'),)",
        "cannot be read: Permission denied",
    ], run.stderr
