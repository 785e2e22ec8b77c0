"""The import contracts of pyproject.toml: kept, and each of them notices what it is there for."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A module, what is put into it, and the contract that this breaks.
BREACHES = {
    "a module without a place": ("utils.py", "", "every module has a place"),
    "an import upwards": ("model/added.py", "import timing_audit.syntax\n", "Imports go downwards"),
    "an import upwards, inside a function": (
        "errors.py",
        "def f() -> None:\n    import timing_audit.model\n",
        "Imports go downwards",
    ),
    "two siblings of one layer": ("checks/added.py", "import timing_audit.render\n", "Imports go downwards"),
    "a cycle in a package": ("program/added.py", "import timing_audit.program.back\n", "No cycles"),
    "a library in the model": ("model/added.py", "import jinja2\n", "are plain data"),
    "libcst beside the codemod": ("timing/added.py", "import libcst as cst\n", "libcst only in codemod"),
    "tree-sitter above the syntax": ("program/added.py", "from tree_sitter import Node\n", "tree_sitter only in"),
    "click below the command line": ("source/added.py", "from click import echo\n", "click only in cli"),
    "jinja2 outside the renderers": ("packs/added.py", "import jinja2.sandbox\n", "jinja2 only in render and codemod"),
}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    options = ["--no-logo", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    return subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package's Python files, to be broken."""
    ignored = shutil.ignore_patterns("__pycache__")
    package = Path(shutil.copytree(ROOT / "timing_audit", tmp_path / "timing_audit", ignore=ignored))
    (package / "program/back.py").write_text("import timing_audit.program.added\n", encoding="utf-8")
    (package / "program/added.py").write_text("", encoding="utf-8")
    return package


def test_the_package_keeps_its_contracts(copy: Path) -> None:
    run = lint_imports(copy.parent)

    assert run.returncode == 0, run.stdout
    assert " 0 broken" in run.stdout


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_noticed(copy: Path, breach: str) -> None:
    module, text, contract = BREACHES[breach]
    file = copy / module
    if not file.parent.is_dir():
        # A module that is not a package yet, or not there: it becomes one for this test.
        file.parent.mkdir()
        (file.parent / "__init__.py").touch()
    file.write_text(text, encoding="utf-8")

    run = lint_imports(copy.parent)

    broken = [line for line in run.stdout.splitlines() if " BROKEN" in line]
    assert run.returncode == 1, run.stdout + run.stderr
    assert any(contract in line for line in broken), run.stdout
