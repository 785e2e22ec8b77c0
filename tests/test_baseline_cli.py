"""`scan --baseline` and `--update-baseline` as a user meets them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from tests.golden import MINI
from tests.unit.ratchet.engines import DRAFT_SPAN, NO_DRAFT_SPAN, WORKER, copy_engine, edit
from timing_audit.cli import run

Out = pytest.CaptureFixture[str]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the mini engine, with a baseline, in the current folder."""
    copy_engine(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(["scan", ".", "--update-baseline", "-q"]) == 0
    return tmp_path


def test_the_baseline_is_written_and_nothing_is_worse(engine: Path, capsys: Out) -> None:
    capsys.readouterr()

    assert run(["scan", ".", "--baseline", "timing-audit-baseline.json"]) == 0
    assert capsys.readouterr() == ("sglang against sglang: nothing got worse\n", "")


def test_what_got_worse_is_named_and_fails(engine: Path, capsys: Out) -> None:
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    capsys.readouterr()

    assert run(["scan", ".", "--baseline", "timing-audit-baseline.json", "--all"]) == 1
    out, err = capsys.readouterr()
    assert "EagleDraftWorker.draft: draft, decode; trace outside -> untimed\n" in out
    assert out.startswith("sglang against sglang: ")
    assert err.startswith("timing-audit: worse than timing-audit-baseline.json: ")
    assert err.endswith("if that is meant, `timing-audit scan . --update-baseline`\n")
    assert err.count("\n") == 1


def test_what_got_better_passes_and_updating_says_so(engine: Path, capsys: Out) -> None:
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    capsys.readouterr()
    assert run(["scan", ".", "--update-baseline", "-o", "report.txt"]) == 0
    assert " lost coverage\n" in capsys.readouterr().err

    edit(engine, WORKER, NO_DRAFT_SPAN, DRAFT_SPAN)
    assert run(["scan", ".", "--baseline", "timing-audit-baseline.json"]) == 0
    assert "gained coverage: " in capsys.readouterr().out


def test_json_holds_all_changes_and_keeps_to_the_schema(engine: Path, capsys: Out) -> None:
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)
    capsys.readouterr()

    assert run(["scan", ".", "--baseline", "timing-audit-baseline.json", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    schema = json.loads((files("timing_audit.render") / "schema" / "scan-1.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
    drift = document["drift"]
    assert drift["worse"] == len(drift["changes"]) > 0
    change = next(row for row in drift["changes"] if row["qualname"] == "EagleDraftWorker.draft")
    assert (change["kind"], change["worse"], change["before"]["trace"]) == ("lost", True, "outside")


def test_the_json_of_a_scan_is_a_baseline_too(engine: Path, capsys: Out) -> None:
    assert run(["scan", ".", "--format", "json", "-o", "old.json"]) == 0
    edit(engine, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN)

    assert run(["scan", ".", "--baseline", "old.json"]) == 1
    assert "lost coverage" in capsys.readouterr().out


def test_a_skipped_file_leaves_the_baseline_as_it_was(engine: Path, capsys: Out) -> None:
    before = (engine / "timing-audit-baseline.json").read_bytes()
    (engine / WORKER).write_text("def broken(:\n", encoding="utf-8")
    capsys.readouterr()

    assert run(["scan", ".", "--update-baseline"]) == 3
    assert "timing-audit-baseline.json was not written: what is skipped would count as gone" in capsys.readouterr().err
    assert (engine / "timing-audit-baseline.json").read_bytes() == before


def test_only_a_baseline_is_overwritten_by_one(tmp_path: Path, capsys: Out) -> None:
    precious = tmp_path / "pyproject.toml"
    precious.write_text("[project]\n", encoding="utf-8")

    assert run(["scan", str(MINI), "--update-baseline", "--baseline", str(precious)]) == 2
    assert "exists and is no baseline, so it is not overwritten" in capsys.readouterr().err
    assert precious.read_text(encoding="utf-8") == "[project]\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no baseline b.json; `timing-audit scan X --update-baseline --baseline b.json` writes it"),
        ("{", "b.json is no JSON: "),
        ('{"baseline": 9}', "b.json: baseline version 9 is unknown, this timing-audit reads 1"),
        ("\udcff", "b.json is no baseline: not UTF-8"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_one_line_before_any_scan(
    content: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("b.json").write_bytes(content.encode("utf-8", "surrogateescape"))

    assert run(["scan", "X", "--baseline", "b.json"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"timing-audit: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("part", [["--worker", "EAGLE"], ["--phase", "decode"]])
def test_a_part_of_the_path_is_neither_written_nor_compared(part: list[str], capsys: Out) -> None:
    assert run(["scan", str(MINI), "--update-baseline", *part]) == 2
    assert f"cannot be compared or written with {part[0]}" in capsys.readouterr().err
