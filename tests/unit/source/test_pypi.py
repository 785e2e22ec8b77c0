"""`pypi:` through a pip that is a script of ours; the real one only where the network is allowed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.source.source_trees import PACKAGE_PATHS, zip_file
from timing_audit.errors import TimingAuditError
from timing_audit.source.cache import cache_root
from timing_audit.source.pypi import PYTHON_VERSIONS, fetch_wheel
from timing_audit.source.target import open_target

WHEEL = "sglang-1.2.4-cp311-cp311-manylinux_2_34_x86_64.whl"
FAKE_PIP = """
import os, shutil, sys
args = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(" ".join(args) + "\\n")
{body}
"""
NOT_FOUND = (
    'sys.exit("ERROR: Could not find a version that satisfies the requirement sglang==9 '
    '(from versions: 0.1, 0.5.9)\\nERROR: No matching distribution found for sglang==9")'
)
BROKEN = (
    "sys.exit(\"WARNING: Retrying after connection broken by 'NewConnectionError(<object at 0x7f>)'\\n"
    "ERROR: Could not find a version that satisfies the requirement sglang==9 (from versions: none)\\n"
    'ERROR: No matching distribution found for sglang==9")'
)
FakePip = Callable[[str], list[str]]


@pytest.fixture
def fake_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePip:
    """Makes a pip of the given body, and a cache of its own for the test."""
    monkeypatch.setenv("TIMING_AUDIT_CACHE", str(tmp_path / "cache"))

    def make(body: str) -> list[str]:
        script = tmp_path / "pip.py"
        script.write_text(FAKE_PIP.format(log=str(tmp_path / "log"), body=body))
        return [sys.executable, str(script)]

    return make


def saving(tmp_path: Path, python: str) -> str:
    """The body of a pip that finds the wheel for one Python version only."""
    files = dict.fromkeys(PACKAGE_PATHS, b"")
    wheel = zip_file(tmp_path / WHEEL, files)
    found = f"shutil.copy({str(wheel)!r}, next(a for a in args if a.startswith('--dest=')).removeprefix('--dest='))"
    return f"if {python!r} not in args:\n    {NOT_FOUND}\n{found}"


def calls(tmp_path: Path) -> list[str]:
    """The argument lines that pip was called with."""
    return (tmp_path / "log").read_text().splitlines()


def test_wheel_is_fetched_once_then_cached(tmp_path: Path, fake_pip: FakePip) -> None:
    """Network use is said before it happens, and a cached wheel needs none; no staging folder is left."""
    said: list[str] = []
    pip = fake_pip(saving(tmp_path, "3.12"))

    first = fetch_wheel("sglang==1.2.4", said.append, pip=pip)
    second = fetch_wheel("SGLang==1.2.4", said.append, pip=pip)

    assert first == second == tmp_path / "cache" / "wheels" / WHEEL
    assert said == ["fetching the wheel of sglang 1.2.4 over the network, with pip"]
    assert len(calls(tmp_path)) == 1
    assert os.listdir(first.parent) == [WHEEL]


def test_arguments_are_for_reading_a_wheel_only(tmp_path: Path, fake_pip: FakePip) -> None:
    """No dependencies, no building, no questions, and not this host's tags."""
    fetch_wheel("sglang==1.2.4", lambda message: None, pip=fake_pip(saving(tmp_path, "3.12")))

    words = calls(tmp_path)[0].split()

    assert words[0] == "download" and words[-1] == "sglang==1.2.4"
    assert {"--no-deps", "--only-binary=:all:", "--no-input", "--platform=any"} <= set(words)
    assert {"--platform=manylinux_2_34_x86_64", "--abi=cp312", "--abi=abi3", "--abi=none"} <= set(words)


def test_other_python_versions_are_tried(tmp_path: Path, fake_pip: FakePip) -> None:
    """A release that is built for one Python only is found on any host."""
    wheel = fetch_wheel("sglang==1.2.4", lambda message: None, pip=fake_pip(saving(tmp_path, "3.11")))

    assert wheel.name == WHEEL
    assert len(calls(tmp_path)) == PYTHON_VERSIONS.index("3.11") + 1


@pytest.mark.parametrize(
    ("body", "message", "count"),
    [
        (NOT_FOUND, "the package index has no wheel of sglang 9; the newest it has is 0.5.9", len(PYTHON_VERSIONS)),
        (BROKEN, "the package index cannot be reached for sglang 9; check the network", 1),
        ("sys.exit('ERROR: disk full\\nmore')", "pip could not fetch sglang 9: disk full", 1),
        ("sys.exit(1)", "pip could not fetch sglang 9: it gave no reason", 1),
    ],
)
def test_pip_that_fails_is_summed_up(tmp_path: Path, fake_pip: FakePip, body: str, message: str, count: int) -> None:
    """One line instead of pip's page, and no second try where it cannot help."""
    with pytest.raises(TimingAuditError) as caught:
        fetch_wheel("sglang==9", lambda text: None, pip=fake_pip(body))

    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)
    assert caught.value.exit_code == 3
    assert len(calls(tmp_path)) == count


@pytest.mark.parametrize("spec", ["", "sglang", "sglang>=0.5", "sglang==0.5.*", "==1", "--index-url=x==1", "a==1 b==2"])
def test_only_one_exact_release(spec: str) -> None:
    """Anything else is a usage error, before pip is looked for."""
    with pytest.raises(TimingAuditError, match="names no release") as caught:
        open_target(f"pypi:{spec}")
    assert caught.value.exit_code == 2


def test_cache_that_cannot_be_written(tmp_path: Path, fake_pip: FakePip, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint names the variable that moves it."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIMING_AUDIT_CACHE", str(tmp_path / "file"))

    with pytest.raises(TimingAuditError, match=r"cannot be stored: .*TIMING_AUDIT_CACHE"):
        fetch_wheel("sglang==1.2.4", lambda message: None, pip=fake_pip("sys.exit(1)"))


def test_place_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own variable, else the XDG one where it is absolute, else the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TIMING_AUDIT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    by_home = cache_root()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    by_xdg = cache_root()
    monkeypatch.setenv("TIMING_AUDIT_CACHE", "~/own")

    assert by_home == tmp_path / ".cache" / "timing-audit"
    assert by_xdg == tmp_path / "xdg" / "timing-audit"
    assert cache_root() == tmp_path / "own"


@pytest.mark.skipif(not os.environ.get("TIMING_AUDIT_TEST_NETWORK"), reason="TIMING_AUDIT_TEST_NETWORK is not set")
def test_real_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest release there is to audit, from the index that pip is configured for."""
    monkeypatch.setenv("TIMING_AUDIT_CACHE", str(tmp_path))

    tree = open_target("pypi:sglang==0.4.3")

    assert tree.label == "sglang 0.4.3 (wheel)"
    assert "sglang/srt/speculative/eagle_worker.py" in tree.paths
