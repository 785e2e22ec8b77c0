"""The hooks under the real pre-commit: a temporary git repository, and a clone of this project as the hooks' source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from tests.unit.ratchet.engines import DRAFT_SPAN, NO_DRAFT_SPAN, SPECULATIVE, WORKER, copy_engine, edit

ROOT = Path(__file__).resolve().parent.parent
CONFIG = """\
repos:
  - repo: {source}
    rev: {rev}
    hooks:
      - id: timing-audit
      - id: timing-audit-no-probes
"""
PROBE = "import sglang.probes  # timing: probe 0a1b\n"
LOST = "`self.draft_worker.draft` is in no trace timer any more"

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


class Repository:
    """A git repository whose commits pass through pre-commit."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        git_settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
        named = {f"GIT_{who}_{what}": "tester" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        # Python's settings must not leak from this test run into the hooks' own environment.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GIT_"))}
        self.environment = {**kept, **git_settings, **named, "PRE_COMMIT_HOME": str(home)}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False)

    def git(self, *arguments: str) -> str:
        done = self.run("git", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def hooks(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "pre_commit", "run", "--color", "never", *arguments)

    def commit(self) -> subprocess.CompletedProcess[str]:
        return self.run("git", "commit", "-q", "-m", "a change")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, unavailable: Callable[[str], NoReturn]) -> Repository:
    """The engine, committed with its baseline, and pre-commit installed with the hooks' environment."""
    base = tmp_path_factory.mktemp("pre-commit")
    source = _source(base)
    root = base / "engine"
    root.mkdir()
    repository = Repository(copy_engine(root), base / "home")
    rev = Repository(source, base).git("rev-parse", "HEAD").strip()
    (root / ".pre-commit-config.yaml").write_text(CONFIG.format(source=source, rev=rev))
    repository.git("init", "-q", "-b", "main")
    installed = repository.run(sys.executable, "-m", "pre_commit", "install", "--install-hooks")
    if installed.returncode != 0:
        if "No matching distribution" in installed.stdout or "Connection" in installed.stdout:
            unavailable("the hooks' environment cannot be made without the package index")
        pytest.fail(installed.stdout + installed.stderr)
    (tool,) = (base / "home").glob("repo*/py_env-*/bin/timing-audit")
    made = repository.run(str(tool), "scan", ".", "-q", "-o", os.devnull, "--update-baseline")
    assert made.returncode == 0, made.stderr
    repository.git("add", ".")
    done = repository.commit()
    assert done.returncode == 0, done.stdout + done.stderr
    return repository


def _source(base: Path) -> Path:
    """A clone of the project as it is now, what is not committed included."""
    source = base / "source"
    source.mkdir()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    repository = Repository(source, base)
    repository.git("init", "-q", "-b", "main")
    repository.git("add", "--force", ".")
    repository.git("commit", "-q", "-m", "the project")
    return source


@pytest.fixture
def repository(prepared: Repository) -> Repository:
    """The repository as it was prepared."""
    prepared.git("reset", "-q", "--hard")
    prepared.git("checkout", "-q", "-B", "work", "main")
    prepared.git("clean", "-q", "-f", "-d")
    return prepared


def test_a_commit_that_loses_nothing_goes_through(repository: Repository) -> None:
    edit(repository.root, WORKER, "OnPublish = ", "# more\nOnPublish = ")
    repository.git("add", ".")

    done = repository.commit()

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_commit_that_takes_a_span_out_is_stopped(repository: Repository) -> None:
    edit(repository.root, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    repository.git("add", ".")

    done = repository.commit()

    assert done.returncode == 1
    assert LOST in done.stdout + done.stderr
    assert "timing-audit scan --update-baseline" in done.stdout + done.stderr


def test_what_is_staged_counts_and_not_what_lies_in_the_folder(repository: Repository) -> None:
    edit(repository.root, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    repository.git("add", ".")
    edit(repository.root, WORKER, NO_DRAFT_SPAN, DRAFT_SPAN)
    assert LOST in repository.hooks().stdout

    repository.git("add", ".")
    edit(repository.root, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    (repository.root / "other.py").write_text("x = 1\n")
    repository.git("add", "other.py")
    assert repository.hooks().returncode == 0


def test_a_renamed_file_takes_its_coverage_along(repository: Repository) -> None:
    moved = f"{SPECULATIVE}/second worker.py"
    repository.git("mv", WORKER, moved)
    assert repository.hooks().returncode == 0

    edit(repository.root, moved, DRAFT_SPAN, NO_DRAFT_SPAN)
    repository.git("add", ".")
    done = repository.hooks()
    assert done.returncode == 1
    assert f"{moved}:" in done.stdout
    assert LOST in done.stdout


def test_a_deleted_file_is_no_error(repository: Repository) -> None:
    repository.git("rm", "-q", WORKER)

    done = repository.commit()

    assert done.returncode == 0, done.stdout + done.stderr


def test_an_inserted_timer_is_stopped_in_a_file_with_spaces_in_its_name(repository: Repository) -> None:
    (repository.root / "a folder").mkdir()
    (repository.root / "a folder" / "my module.py").write_text("x = 1\n" + PROBE)
    repository.git("add", ".")

    done = repository.hooks()

    assert done.returncode == 1
    assert "a folder/my module.py:2: an inserted timer, 0a1b" in done.stdout


def test_a_thousand_files(repository: Repository) -> None:
    folder = repository.root / "many files"
    folder.mkdir()
    for number in range(1000):
        (folder / f"module {number}.py").write_text(f"def f{number}():\n    return {number}\n")
    edit(repository.root, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    repository.git("add", ".")

    done = repository.hooks()

    assert done.returncode == 1
    assert done.stdout.count(LOST) == 1


def test_excludes_of_the_project_hold(repository: Repository) -> None:
    (repository.root / "timing-audit.toml").write_text('excludes = ["eagle_worker_v2.py"]\n')
    edit(repository.root, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    repository.git("add", ".")

    assert repository.hooks().returncode == 0


def test_without_a_baseline_the_hook_says_how_to_write_one(repository: Repository) -> None:
    repository.git("rm", "-q", "timing-audit-baseline.json")
    edit(repository.root, WORKER, "OnPublish = ", "# more\nOnPublish = ")
    repository.git("add", ".")

    done = repository.hooks()

    assert done.returncode == 1, "pre-commit's own code for a hook that failed"
    assert "- exit code: 2" in done.stdout
    assert "`timing-audit scan --update-baseline` writes it" in done.stdout
