"""The checks on the command line: gates, choice, pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from timing_audit.checks.registry import CHECKS
from timing_audit.cli import run

MIXED = """
import time

def queued(request):
    received = time.time()
    request.wait()
    return time.perf_counter() - received
"""
EVERYTHING = ("--all-files", "--entry", "*")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with one error, and no warning."""
    file = tmp_path_factory.mktemp("mixed") / "queue.py"
    file.write_text(MIXED)
    return str(file)


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ((), 0),
        (("--fail-on", "error"), 1),
        (("--fail-on", "warning"), 1),
        (("--fail-on", "error", "--ignore", "mixed-clocks"), 0),
        (("--fail-on", "warning", "--select", "untimed-*"), 0),
    ],
)
def test_a_gate_fails_only_where_it_is_asked_for(
    mixed: str, gate: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert out(capsys, "scan", mixed, *EVERYTHING, *gate)[0] == code


def test_the_gate_says_why(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, said = out(capsys, "scan", mixed, *EVERYTHING, "--fail-on", "error")

    assert said == "timing-audit: 1 finding as bad as error\n"


def test_a_text_tells_what_was_found_with_its_place(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, report, _ = out(capsys, "scan", mixed, *EVERYTHING)

    assert "queue.py:7 error: the instant of line 7 is of the performance clock" in report
    assert "[mixed-clocks]" in report
    assert "1 error, 0 warnings, 1 info in all" in report


def test_json_holds_every_finding_with_the_fields_of_the_contract(
    mixed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, report, _ = out(capsys, "scan", mixed, *EVERYTHING, "--format", "json")
    told = json.loads(report)["findings"]

    assert [finding["check"] for finding in told] == ["mixed-clocks", "untimed-function"]
    assert list(told[0]) == [
        "check", "severity", "confidence", "file", "line", "end_line", "function", "stage", "message", "hint",
    ]  # fmt: skip
    assert (told[0]["line"], told[0]["function"], told[0]["stage"]) == (7, "queued", None)


def test_an_unknown_check_is_a_usage_error(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, report, said = out(capsys, "scan", mixed, *EVERYTHING, "--ignore", "mixed-clock")

    assert (code, report) == (2, "")
    assert said == "timing-audit: no check is called mixed-clock; did you mean mixed-clocks?\n"


@pytest.mark.parametrize("check", CHECKS, ids=[check.id for check in CHECKS])
@pytest.mark.parametrize("command", [("explain",), ("rules", "show")], ids=["explain", "rules show"])
def test_a_check_is_explained(command: tuple[str, ...], check: object, capsys: pytest.CaptureFixture[str]) -> None:
    page = next(known.page for known in CHECKS if known is check)
    code, text, said = out(capsys, *command, page.id)

    assert (code, said) == (0, "")
    assert page.summary in text
    assert page.rationale in text
    assert page.hint in text
    assert all(example.name in text for example in (*page.bad, *page.good))


def test_a_rule_is_explained_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, _ = out(capsys, "explain", "perf-counter")

    assert code == 0
    assert text.startswith("perf-counter (clock-read, pack python-clocks)")


def test_explain_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = out(capsys, "explain", "mixed-clocks", "--format", "json")
    (check,) = json.loads(text)["checks"]

    assert (check["id"], check["severity"]) == ("mixed-clocks", "error")
    assert check["bad"][0]["code"].startswith("import time")


def test_the_workflow_is_a_day_from_the_scan_to_the_clean_tree(capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = out(capsys, "explain", "workflow")
    order = ["timing-audit scan", "timing-audit apply --codemod", "timing-audit record", "timing-audit report",
             "timing-audit compare", "timing-audit strip"]  # fmt: skip
    places = [text.index(command) for command in order]

    assert places == sorted(places)


def test_the_workflow_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = out(capsys, "explain", "workflow", "--format", "json")
    steps = json.loads(text)["steps"]

    assert next(step["command"][1] for step in steps if step["command"][0] == "timing-audit") == "scan"


def test_an_unknown_subject_is_refused_with_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    code, text, said = out(capsys, "explain", "workflw")

    assert (code, text) == (2, "")
    assert said == "timing-audit: nothing is called workflw; did you mean workflow?\n"


def test_a_finding_is_named_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tree" / "python" / "sglang"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "queue.py").write_text(MIXED)
    monkeypatch.chdir(tmp_path)
    _, report, _ = out(capsys, "scan", "tree", *EVERYTHING)

    assert "tree/python/sglang/queue.py:7 error:" in report
