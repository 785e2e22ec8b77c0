"""SARIF by its official schema, GitHub annotations, Markdown that holds whatever a name holds."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.golden import mini_report
from timing_audit.model.baseline import Identity
from timing_audit.model.checks import CheckPage
from timing_audit.model.drift import LOST, MOVED, UNTIMED, Change, Drift
from timing_audit.model.report import Finding, Report
from timing_audit.model.source import Skipped
from timing_audit.render.github import render_github
from timing_audit.render.markdown import render_markdown
from timing_audit.render.sarif import IDENTITY, render_sarif

SCHEMA = Path(__file__).resolve().parents[2] / "data" / "sarif-schema-2.1.0.json"
FINDINGS = (
    Finding(
        "untimed-stage", "warning", "high", "sglang/a b.py", 7, 9, "Worker.draft", "draft", "No timer.", "Add one."
    ),
    Finding(
        "untimed-stage", "warning", "high", "sglang/a b.py", 12, 12, "Worker.draft", "draft", "No timer.", "Add one."
    ),
    Finding("mixed-clocks", "error", "medium", "sglang/é.py", 0, 0, "", None, "100 %: a, b\nand more", ""),
    Finding("sync-on-hot-path", "info", "low", "sglang/c.py", 3, 3, "f", None, "A wait.", ""),
)


def report(*skipped: Skipped) -> Report:
    return mini_report()._replace(findings=FINDINGS, skipped=skipped)


def drift(*changes: Change) -> Drift:
    return Drift("engine 1", "engine 2", changes, (), ())


def sarif(found: Report, *pages: CheckPage, prefix: str = "") -> dict[str, object]:
    document = json.loads(render_sarif(found, pages, prefix))
    jsonschema.Draft4Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document)
    (run,) = document["runs"]
    assert isinstance(run, dict)
    return run


@pytest.mark.parametrize("found", [mini_report(), report(), report(Skipped("sglang/x.py", "contains null bytes"))])
def test_sarif_keeps_to_the_official_schema(found: Report) -> None:
    run = sarif(found, CheckPage("untimed-stage", "A stage.", "Why.", "warning", "What to do.", (), ()))

    assert run["columnKind"] == "unicodeCodePoints"


def test_sarif_results_name_their_rule_place_and_identity() -> None:
    run = sarif(report(), prefix="python/")

    results = run["results"]
    assert isinstance(results, list)
    rules = run["tool"]["driver"]["rules"]  # type: ignore[index]
    assert [rule["id"] for rule in rules] == ["mixed-clocks", "sync-on-hot-path", "untimed-stage"]
    assert [rules[result["ruleIndex"]]["id"] for result in results] == [finding.check for finding in FINDINGS]
    assert [result["level"] for result in results] == ["warning", "warning", "error", "note"]
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "python/sglang/a%20b.py"
    assert place["region"] == {"startLine": 7, "endLine": 9}
    first, second, *_ = [result["partialFingerprints"][IDENTITY] for result in results]
    assert first[:-1] == second[:-1] and (first[-2:], second[-2:]) == (":1", ":2")
    assert results[0]["message"]["text"] == "No timer. Add one"


def test_sarif_identities_do_not_hang_on_lines() -> None:
    moved = report()._replace(findings=tuple(f._replace(line=f.line + 40, end_line=f.end_line + 40) for f in FINDINGS))

    def identities(found: Report) -> list[object]:
        results = sarif(found)["results"]
        assert isinstance(results, list)
        return [result["partialFingerprints"] for result in results]

    assert identities(moved) == identities(report())


def test_skipped_files_make_the_run_a_failed_one() -> None:
    invocations = sarif(report(Skipped("sglang/x.py", "contains null bytes")))["invocations"]

    assert isinstance(invocations, list)
    assert invocations[0]["executionSuccessful"] is False
    assert invocations[0]["toolExecutionNotifications"][0]["message"]["text"].endswith("contains null bytes")


def test_github_annotations_are_escaped_and_the_worst_come_first() -> None:
    lost = Change(LOST, Identity("sglang/d.py", "f"), None, 5, ("decode",), "draft", ("direct",) * 3, ("untimed",) * 3)
    moved = lost._replace(kind=MOVED, was=Identity("sglang/e.py", "f"))
    fresh = lost._replace(kind=UNTIMED, before=(), line=9)

    lines = render_github(report(Skipped("sglang/x.py", "gone")), drift(lost, moved, fresh), "python/").splitlines()

    assert lines[:3] == [
        "::error file=python/sglang/x.py,title=timing-audit%3A skipped::gone",
        "::error file=python/sglang/d.py,line=5,title=timing-audit%3A coverage::f: draft, decode; "
        "host direct -> untimed, device direct -> untimed, trace direct -> untimed",
        "::warning file=python/sglang/d.py,line=9,title=timing-audit%3A coverage::f: draft, decode",
    ]
    assert lines[3] == "::error file=python/sglang/é.py,title=timing-audit%3A mixed-clocks::100 %25: a, b%0Aand more"
    assert lines[4].startswith("::warning file=python/sglang/a b.py,line=7,endLine=9,title=")
    assert [line.split(" ")[0] for line in lines[4:]] == ["::warning", "::warning", "::notice"]


def test_markdown_opens_with_the_answer_and_folds_the_rest() -> None:
    text = render_markdown(report(), top=2)

    lines = text.splitlines()
    assert lines[2].startswith("- EAGLEWorker decode: 0 of 3 stages timed")
    assert "<summary>findings: 4, the first 2</summary>" in lines
    assert "| decode draft | - | - | timed |" in text
    assert text.count("<details>") == text.count("</details>") == 2
    assert len(render_markdown(report(), top=None)) > len(text)


def test_markdown_takes_names_for_nothing_else() -> None:
    evil = Finding("x", "info", "low", "a|b.py", 1, 1, "f", None, "<img src=x> | *bold* `code`", "")

    text = render_markdown(report()._replace(findings=(evil,)))

    assert "`a\\|b.py:1` **info** \\<img src=x\\> \\| \\*bold\\* \\`code\\`" in text


def test_markdown_names_what_changed() -> None:
    lost = Change(LOST, Identity("a.py", "f"), None, 5, ("decode",), None, ("direct",) * 3, ("untimed",) * 3)

    text = render_markdown(report(), drift(lost))

    assert "**Against engine 1: 1 lost coverage**" in text
    assert "- `a.py:5` f: no stage, decode; host direct -\\> untimed" in text
