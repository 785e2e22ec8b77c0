"""A bare apply carries out the configured plan, on the configured target, and says what became of an earlier one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from timing_audit.cli import run

WORKER = """import os


class Worker:
    def forward_batch_generation(self, b):
        out = self.draft(b)
        return out

    def draft(self, b):
        return b
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "src/pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "one.py").write_text(WORKER, encoding="utf-8")
    other = tmp_path / "src/other"
    other.mkdir()
    (other / "__init__.py").write_text("", encoding="utf-8")
    (other / "one.py").write_text(WORKER, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(project: Path, plan: str, probes: str = "none") -> None:
    head = f'targets = ["src/pkg"]\nentries = ["*forward_batch_generation"]\nprobes = "{probes}"\n'
    (project / "timing-audit.toml").write_text(f"{head}[apply]\n{plan}", encoding="utf-8")


def plan(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, object]:
    capsys.readouterr()
    assert run(["apply", "--format", "json", *more]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def notes(capsys: pytest.CaptureFixture[str]) -> list[str]:
    found = plan(capsys)["notes"]
    assert isinstance(found, list)
    return found


def test_the_configured_plan_is_the_one_of_a_bare_apply(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(project, 'detail = "function"\nbackend = "nvtx"\nlayout = "block"\n')
    found = plan(capsys)
    assert (found["detail"], found["backend"], found["layout"]) == ("function", "nvtx", "block")


def test_the_command_line_goes_before_the_configuration(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(project, 'detail = "function"\nbackend = "nvtx"\n')
    found = plan(capsys, "--backend", "region")
    assert (found["detail"], found["backend"], found["layout"]) == ("function", "region", "lines")


def test_apply_strip_and_status_take_the_configured_target(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(project, 'detail = "function"\n')
    assert run(["apply", "--codemod"]) == 0
    assert "# timing: probe 1" in (project / "src/pkg/one.py").read_text(encoding="utf-8")
    assert (project / "src/other/one.py").read_text(encoding="utf-8") == WORKER
    capsys.readouterr()
    assert run(["status", "--format", "json"]) == 0
    assert [probe["line"] for probe in json.loads(capsys.readouterr().out)["probes"]] == [6]
    assert run(["strip"]) == 0
    assert (project / "src/pkg/one.py").read_text(encoding="utf-8") == WORKER
    assert sorted(path.name for path in (project / "src/pkg").glob("*.*")) == ["__init__.py", "one.py"]


def test_the_hook_of_kept_probes_checks_the_configured_plan(project: Path) -> None:
    """The plan that is applied is not the default one, which a hook that knew no other would miss."""
    configure(project, 'detail = "function"\nbackend = "nvtx"\n', probes="kept")
    assert run(["apply", "--codemod", "--detail", "function", "--backend", "nvtx", "src/pkg"]) == 0
    assert run(["apply", "--codemod", "--check"]) == 0
    assert run(["hook", "--no-probes", "src/pkg/one.py"]) == 0
    assert run(["strip"]) == 0
    assert run(["hook", "--no-probes", "src/pkg/one.py"]) == 1


def test_a_later_apply_says_what_moved_and_what_is_gone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(project, 'detail = "function"\n')
    worker = project / "src/pkg/one.py"
    assert run(["apply", "--codemod"]) == 0
    assert notes(capsys) == []
    text = worker.read_text(encoding="utf-8")
    worker.write_text(text.replace("class Worker:", "LIMIT = 2\n\n\nclass Worker:"), encoding="utf-8")
    (moved,) = notes(capsys)
    assert moved.endswith("in Worker.forward_batch_generation moved: pkg/one.py:6 -> 9")
    worker.write_text(WORKER.replace("out = self.draft(b)", "out = b"), encoding="utf-8")
    (gone,) = notes(capsys)
    assert gone.endswith("is no longer in Worker.forward_batch_generation (pkg/one.py)")


def test_a_stage_that_is_not_there_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(project, 'detail = "function"\nstages = ["verify"]\n')
    assert notes(capsys) == ["stage verify was not found"]
