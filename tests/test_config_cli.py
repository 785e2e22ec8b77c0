"""What the configuration does to a scan, and what goes before it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from timing_audit.cli import run

Out = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files, either of which may be entered."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.py").write_text("def first(x):\n    x.run()\n")
    (tmp_path / "src" / "two.py").write_text("def second(x):\n    x.run()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hot(capsys: Out, *arguments: str) -> list[str]:
    capsys.readouterr()
    assert run(["scan", "--format", "json", *arguments]) == 0
    return [row["qualname"] for row in json.loads(capsys.readouterr().out)["functions"] if row["role"] == "hot"]


def test_targets_and_entries_of_the_file_hold_unless_the_command_line_names_others(project: Path, capsys: Out) -> None:
    (project / "timing-audit.toml").write_text('targets = ["src"]\nentries = ["first"]\n')

    assert hot(capsys) == ["first"]
    assert hot(capsys, "--entry", "second") == ["second"]
    assert hot(capsys, "src/two.py", "--entry", "second") == ["second"]


def test_paths_of_the_file_start_at_its_folder(project: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "timing-audit.toml").write_text('targets = ["src"]\nentries = ["first"]\nbaseline = "kept.json"\n')
    (project / "deeper").mkdir()
    monkeypatch.chdir(project / "deeper")

    assert hot(capsys) == ["first"]
    assert run(["scan", "-q", "--update-baseline"]) == 0
    assert json.loads((project / "kept.json").read_text(encoding="utf-8"))["functions"][0]["qualname"] == "first"


def test_excludes_hold_for_a_path_that_is_given_explicitly(project: Path, capsys: Out) -> None:
    (project / "timing-audit.toml").write_text('excludes = ["two.py"]\nentries = ["first", "second"]\n')

    assert hot(capsys, "src") == ["first"]
    assert run(["scan", "src/two.py"]) == 3
    assert capsys.readouterr().err == "timing-audit: every Python file of two.py is excluded; check `excludes`\n"


def test_of_several_targets_the_user_chooses(project: Path, capsys: Out) -> None:
    (project / "timing-audit.toml").write_text('targets = ["src", "lib"]\nentries = ["first"]\n')

    assert run(["scan"]) == 2
    assert capsys.readouterr().err == "timing-audit: timing-audit.toml has 2 targets; name one: src, lib\n"


def test_a_broken_file_ends_the_run_with_2(project: Path, capsys: Out) -> None:
    (project / "named.toml").write_text('probes = "often"\nexclude = ["x"]\n')

    assert run(["scan", "src", "--config", "named.toml"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "timing-audit: named.toml:1: `probes` is `often`; it is one of none, kept",
        "named.toml:2: unknown key `exclude`, did you mean `excludes`?",
    ]


def checks(capsys: Out, *arguments: str) -> set[str]:
    capsys.readouterr()
    assert run(["scan", "src", "--entry", "*", "--format", "json", *arguments]) == 0
    return {finding["check"] for finding in json.loads(capsys.readouterr().out)["findings"]}


def test_checks_of_the_file_hold_unless_the_command_line_names_others(project: Path, capsys: Out) -> None:
    found = checks(capsys)
    assert "untimed-function" in found
    (project / "timing-audit.toml").write_text('[checks]\nignore = ["untimed-*"]\n')

    assert checks(capsys) == found - {"untimed-function", "untimed-region"}
    assert checks(capsys, "--select", "untimed-*", "--ignore", "mixed-clocks") == found


def test_leftover_probes_are_reported_where_the_file_says_that_there_are_none(project: Path, capsys: Out) -> None:
    (project / "src" / "one.py").write_text("def first(x):\n    x.run()  # timing: probe 0a1b\n")
    assert "leftover-probe" not in checks(capsys)

    (project / "timing-audit.toml").write_text('probes = "none"\n')
    assert "leftover-probe" in checks(capsys)
