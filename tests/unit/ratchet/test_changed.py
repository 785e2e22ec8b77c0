"""Findings are kept by function: one changed line brings back all of its function's."""

from __future__ import annotations

from tests.golden import mini_report
from timing_audit.model.report import Finding
from timing_audit.ratchet.changed import only_changed

FACT = next(fact for fact in mini_report().functions if fact.qualname == "EAGLEWorkerV2.forward_batch_generation")


def finding(line: int, function: str = FACT.qualname) -> Finding:
    return Finding("x", "info", "low", FACT.file, line, line, function, None, "m", "h")


def kept(found: Finding, *ranges: tuple[int, int], file: str = FACT.file) -> bool:
    report = mini_report()._replace(findings=(found,))
    return bool(only_changed(report, {file: ranges}).findings)


def test_a_finding_stays_where_any_line_of_its_function_changed() -> None:
    first = finding(FACT.line)

    assert kept(first, (FACT.end_line, FACT.end_line))
    assert kept(first, (1, 2), (FACT.line - 5, FACT.line))
    assert not kept(first, (FACT.end_line + 1, FACT.end_line + 9))
    assert not kept(first, (FACT.line, FACT.line), file="sglang/other.py")


def test_outside_of_functions_the_line_itself_counts() -> None:
    assert kept(finding(3, ""), (2, 3))
    assert not kept(finding(3, ""), (4, 9))


def test_facts_stay_as_they_are() -> None:
    assert only_changed(mini_report(), {}).functions == mini_report().functions
