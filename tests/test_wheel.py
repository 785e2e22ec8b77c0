"""The wheel, in an environment of its own and away from the checkout, as a user has it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from timing_audit import __version__

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TIMING_AUDIT"))}
    return subprocess.run(command, cwd=cwd, env={**kept, **extra}, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    assert build.returncode == 0, build.stdout + build.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory, unavailable: Callable[[str], NoReturn]
) -> Callable[..., str]:
    """Runs the installed command and gives back its standard output."""
    folder = tmp_path_factory.mktemp("installed")
    venv = run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    assert venv.returncode == 0, venv.stderr
    pip = run(folder / "venv/bin/python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    if pip.returncode != 0:
        unavailable(f"the wheel's dependencies cannot be installed: {pip.stderr.strip()}")

    def command(*arguments: str | Path) -> str:
        done = run(folder / "venv/bin/timing-audit", *arguments, cwd=folder, TIMING_AUDIT_CACHE=str(folder / "cache"))
        assert done.returncode == 0, done.stderr
        return done.stdout

    return command


def test_the_wheel_holds_the_package_the_rules_and_the_licence(wheel: Path) -> None:
    package = {file.relative_to(ROOT) for file in (ROOT / "timing_audit").rglob("*") if file.is_file()}
    rules = {file.relative_to(ROOT / "rules") for file in (ROOT / "rules").rglob("*") if file.is_file()}
    expected = {file.as_posix() for file in package if "__pycache__" not in file.parts}
    expected |= {f"timing_audit/_rules/{file.as_posix()}" for file in rules}

    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = f"timing_audit-{__version__}.dist-info"

    assert {name for name in names if not name.startswith(metadata)} == expected
    assert f"{metadata}/licenses/LICENSE" in names


@pytest.mark.network
def test_it_says_its_version(installed: Callable[..., str]) -> None:
    assert __version__ in installed("--version")


@pytest.mark.network
def test_it_finds_its_rules(installed: Callable[..., str]) -> None:
    listed = installed("rules", "list").split()

    texts = [pack.read_text(encoding="utf-8") for pack in (ROOT / "rules").glob("*.toml")]
    rules = [rule for text in texts for rule in re.findall(r'^id = "(.+)"', text, re.MULTILINE)]
    assert rules
    assert [rule for rule in rules if rule not in listed] == []


@pytest.mark.network
def test_it_scans(installed: Callable[..., str]) -> None:
    report = json.loads(installed("scan", ROOT / "fixtures/mini_sglang", "--format", "json"))

    assert report["schema"] == 1
    assert report["skipped"] == []
    assert report["sites"]


@pytest.mark.long
@pytest.mark.network
def test_it_installs_without_a_network(tmp_path: Path, unavailable: Callable[[str], NoReturn]) -> None:
    """What `make wheelhouse` does, and what its last line says."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "-m pip wheel" in makefile
    house, venv = tmp_path / "wheelhouse", tmp_path / "venv"
    made = run(sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", house, ROOT, cwd=tmp_path)
    if made.returncode != 0:
        unavailable(f"the wheels cannot be fetched: {made.stderr.strip()}")
    assert run(sys.executable, "-m", "venv", venv, cwd=tmp_path).returncode == 0

    offline = ("install", "--quiet", "--no-index", "--find-links", house, "timing-audit")
    done = run(venv / "bin/python", "-m", "pip", *offline, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    scan = run(venv / "bin/timing-audit", "scan", ROOT / "fixtures/mini_sglang", "--format", "html", cwd=tmp_path)
    assert scan.returncode == 0, scan.stderr
    assert 'id="path-title"' in scan.stdout
