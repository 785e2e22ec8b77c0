"""Every kind of target on disk gives the same paths, label and version."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.source.source_trees import CHECKOUT, PACKAGE_PATHS, write
from timing_audit.errors import TimingAuditError
from timing_audit.source.target import open_target

WORKER = "sglang/srt/speculative/worker.py"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout's root, named like the package in it."""
    return write(tmp_path / "sglang", CHECKOUT)


@pytest.mark.parametrize("given", ["", "python", "python/sglang"])
def test_checkout_its_source_folder_and_the_package(checkout: Path, given: str) -> None:
    """All three are the package; kernels and tests beside it are not audited."""
    tree = open_target(str(checkout / given))

    assert (tree.label, tree.package, tree.version, tree.paths) == ("sglang 1.2.3", "sglang", "1.2.3", PACKAGE_PATHS)
    assert tree.root == checkout / "python"
    assert tree.disk_path(WORKER) == checkout / "python" / WORKER
    assert (checkout / given / tree.origin(WORKER)) == checkout / "python" / WORKER
    assert tree.read(WORKER).path == WORKER


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ("python/sglang/srt", PACKAGE_PATHS[1:]),
        ("python/sglang/srt/speculative", (WORKER,)),
        ("python/sglang/srt/speculative/worker.py", (WORKER,)),
        ("python/sglang/__init__.py", ("sglang/__init__.py",)),
    ],
)
def test_part_of_a_package_keeps_its_import_path(checkout: Path, given: str, paths: tuple[str, ...]) -> None:
    """`srt` has no `__init__.py`, and still lies in the package."""
    tree = open_target(str(checkout / given))

    assert tree.paths == paths
    assert tree.label == f"sglang 1.2.3: {given.removeprefix('python/')}"
    assert tree.root == checkout / "python"
    assert tree.raw(paths[0]) == CHECKOUT[f"python/{paths[0]}"]


def test_current_folder_by_a_dot(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative name is as good as an absolute one."""
    monkeypatch.chdir(checkout / "python" / "sglang")

    assert open_target(".").paths == PACKAGE_PATHS
    assert open_target("srt/../srt/speculative").paths == (WORKER,)


def test_plain_folder_and_lone_file(tmp_path: Path) -> None:
    """Without a package, paths start at what was named."""
    write(tmp_path, {"tools/worker.py": b"", "tools/sub/b.py": b""})

    folder = open_target(str(tmp_path / "tools"))
    file = open_target(str(tmp_path / "tools" / "worker.py"))

    assert (folder.label, folder.package, folder.paths) == ("tools", "", ("sub/b.py", "worker.py"))
    assert (file.label, file.package, file.paths) == ("worker.py", "", ("worker.py",))
    assert file.disk_path("worker.py") == tmp_path / "tools" / "worker.py"


def test_source_folder_of_another_project(tmp_path: Path) -> None:
    """A package under `src/` is imported from there; the tests beside it are not part of it."""
    files = {"src/pkg/__init__.py": b"__version__: str = '4.5'\n", "src/pkg/m.py": b"", "tests/t.py": b""}
    tree = open_target(str(write(tmp_path, files)))

    assert (tree.label, tree.paths) == ("pkg 4.5", ("pkg/__init__.py", "pkg/m.py"))
    assert tree.disk_path("pkg/m.py") == tmp_path / "src/pkg/m.py"


def test_a_stray_init_far_above_is_no_package(tmp_path: Path) -> None:
    """A project's root ends the way up, and so does a name that cannot be imported."""
    stray = {"home/__init__.py": b"", "home/repo/setup.py": b"", "home/repo/a/m.py": b"", "home/my-x/pkg/m.py": b""}
    write(tmp_path, stray)

    assert open_target(str(tmp_path / "home/repo/a")).paths == ("m.py",)
    assert open_target(str(tmp_path / "home/my-x/pkg/m.py")).paths == ("m.py",)


def test_linked_package_is_named_by_its_link(tmp_path: Path) -> None:
    """What is imported is the link's name; the real folder may be called anything."""
    write(tmp_path, {"fork-1/__init__.py": b"", "fork-1/m.py": b""})
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "sglang").symlink_to("../fork-1", target_is_directory=True)

    assert open_target(str(tmp_path / "site-packages" / "sglang")).paths == ("sglang/__init__.py", "sglang/m.py")
    assert open_target(str(tmp_path / "site-packages")).paths == ("sglang/__init__.py", "sglang/m.py")


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"sglang-0.5.9.dist-info/METADATA": b"Name: sglang\nVersion: 0.5.9\n"}, "0.5.9"),
        ({"sglang_router-7.dist-info/METADATA": b"Version: 7\n"}, ""),
        ({"sglang/_version.py": b"__version__: str\n__version__ = version = '0.5.23'\n"}, "0.5.23"),
        ({"sglang/version.py": b'__version__ = "0.4.3"\n'}, "0.4.3"),
        ({"sglang/version.py": b'try:\n    pass\nexcept ImportError:\n    __version__ = "0.0.0.dev0"\n'}, ""),
        ({"sglang/version.py": b'__version__ = "0.0.0.dev0"\n', "pyproject.toml": b"[project]\nversion='2'\n"}, "2"),
        ({"pyproject.toml": b"[project]\nname = 'x'\n[tool.y]\nversion = '3'\n"}, ""),
        ({}, ""),
    ],
)
def test_version_is_read_from_text(tmp_path: Path, files: dict[str, bytes], version: str) -> None:
    """From the metadata, the version module or the project file; nothing is executed."""
    write(tmp_path, {"sglang/__init__.py": b"raise SystemExit('executed')\n", **files})

    assert open_target(str(tmp_path)).version == version


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("sglang/srt", ("sglang/__init__.py",)),
        ("sglang/srt/", ("sglang/__init__.py",)),
        ("speculative", PACKAGE_PATHS[:2]),
        ("*/managers/*", (PACKAGE_PATHS[0], WORKER)),
        ("work*.py", PACKAGE_PATHS[:2]),
        ("srt/speculative", PACKAGE_PATHS),
    ],
)
def test_excludes(checkout: Path, pattern: str, left: tuple[str, ...]) -> None:
    """With a slash from the import root, without one any name on the path."""
    assert open_target(str(checkout), excludes=[pattern]).paths == left


@pytest.mark.parametrize(
    ("given", "message", "code"),
    [
        ("nope", "nope: no such file or folder", 3),
        ("sglang==0.5.9", "did you mean pypi:sglang==0.5.9?", 3),
        ("empty", "no Python files in empty", 3),
        ("links", "no Python file of links can be read: a.py: dangling symbolic link", 3),
        ("notes.txt", "notes.txt is no kind of target", 3),
        ("", "the TARGET is an empty string", 2),
    ],
)
def test_what_cannot_be_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, message: str, code: int
) -> None:
    """One line that says what and where; nothing scanned is never a pass."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "a.py").symlink_to("gone.py")
    (tmp_path / "notes.txt").write_text("hello")

    with pytest.raises(TimingAuditError) as caught:
        open_target(given)
    assert message in str(caught.value)
    assert caught.value.exit_code == code


def test_everything_excluded_is_no_pass(checkout: Path) -> None:
    """An exclude that leaves nothing is a mistake in the configuration, not a clean tree."""
    with pytest.raises(TimingAuditError, match=r"every Python file of sglang 1\.2\.3 is excluded"):
        open_target(str(checkout), excludes=["sglang"])


def test_no_target_is_the_installed_package_else_the_current_folder(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found on the import path of this interpreter, and not imported."""
    work = write(tmp_path / "work", {"a.py": b""})
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    without = open_target(None)
    monkeypatch.syspath_prepend(str(checkout / "python"))

    assert without.paths == ("a.py",)
    assert open_target(None).paths == PACKAGE_PATHS
    assert "sglang" not in sys.modules


def test_another_interpreter_is_asked(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it would import is audited; the package is not run, and the current folder does not count."""
    write(checkout / "python", {"sglang/__init__.py": b"raise SystemExit('executed')\n"})
    write(tmp_path / "decoy", {"sglang/__init__.py": b"", "importlib/__init__.py": b"raise SystemExit('decoy')\n"})
    monkeypatch.chdir(tmp_path / "decoy")
    monkeypatch.setenv("PYTHONPATH", str(checkout / "python"))

    tree = open_target(None, python=sys.executable)

    assert tree.root == checkout / "python"
    assert tree.paths == PACKAGE_PATHS


def test_interpreter_of_a_virtual_environment(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own site-packages are seen, with what a `.pth` file adds to them; the path may be relative."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (site / "editable.pth").write_text(f"{checkout / 'python'}\n")
    monkeypatch.chdir(tmp_path)

    assert open_target(None, python="env/bin/python").root == checkout / "python"


@pytest.mark.parametrize(
    ("script", "message", "code"),
    [
        (None, "no such interpreter", 2),
        ("exit 0", "does not answer like a Python 3 interpreter", 3),
        ("echo oops >&2; exit 7", "it failed: oops", 3),
        ("exit 7", "it failed: exit code 7", 3),
        ("echo \"timing-audit:''\"", "sglang is not installed there", 3),
    ],
)
def test_interpreter_that_cannot_answer(tmp_path: Path, script: str | None, message: str, code: int) -> None:
    """One line for each way in which asking fails."""
    python = tmp_path / "python"
    if script is not None:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)

    with pytest.raises(TimingAuditError, match=message) as caught:
        open_target(None, python=str(python))
    assert caught.value.exit_code == code


def test_interpreter_and_target_exclude_each_other(checkout: Path) -> None:
    """Two answers to one question are a usage error."""
    with pytest.raises(TimingAuditError, match="both name what to audit") as caught:
        open_target(str(checkout), python=sys.executable)
    assert caught.value.exit_code == 2


def test_file_deleted_after_the_listing(checkout: Path) -> None:
    """The tree reads lazily, so a file may be gone by then."""
    from timing_audit.source.decode import Unreadable

    tree = open_target(str(checkout))
    os.unlink(checkout / "python" / WORKER)

    with pytest.raises(Unreadable, match="gone since the folder was listed"):
        tree.read(WORKER)
