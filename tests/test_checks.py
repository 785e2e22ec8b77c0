"""Every check: its examples, the cases, selection, and the comments that silence it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from tests.checking import EVERYTHING, GAPS, faults, found, packs
from timing_audit.checks.base import Check
from timing_audit.checks.registry import CHECKS, chosen, find
from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.examples import example_tree
from timing_audit.model.checks import CONFIDENCES, SEVERITIES, CheckExample
from timing_audit.model.options import Options
from timing_audit.pipeline import audit

CASES = Path(__file__).parent / "data" / "cases.jsonl"
FINDS = re.compile(r"# finds: ([\w-]+)")


@cache
def cases() -> dict[str, tuple[str, str]]:
    rows = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return {row["id"]: (row["area"], row["input"]) for row in rows}


EXAMPLES = [(check, example) for check in CHECKS for example in (*check.page.bad, *check.page.good)]


@pytest.mark.parametrize(
    ("check", "example"), EXAMPLES, ids=[f"{check.id}: {example.name}" for check, example in EXAMPLES]
)
def test_example(check: Check, example: CheckExample) -> None:
    wanted = {
        (number, check_id)
        for number, line in enumerate(example.code.split("\n"), start=1)
        for check_id in FINDS.findall(line)
    }
    said = {(finding.line, finding.check) for finding in found(example.code, example.entries)}

    assert wanted <= said
    assert {place for place in said if place[1] == check.id} <= wanted
    assert bool(wanted) is (example in check.page.bad)


@pytest.mark.parametrize("check", CHECKS, ids=[check.id for check in CHECKS])
def test_every_check_says_what_it_is(check: Check) -> None:
    page = check.page

    assert page.bad, "no example is reported"
    assert page.good, "no example is left alone"
    assert page.severity in SEVERITIES
    assert page.summary.endswith(".")
    assert page.rationale.endswith(".")
    assert not page.hint.endswith(".")


def test_ids_are_the_contract() -> None:
    assert [check.id for check in CHECKS] == [
        "untimed-stage", "untimed-function", "untimed-region", "timer-never-called", "replay-without-timer",
        "silent-under-capture", "host-clock-around-device-work", "unpaired-clock-read", "bracket-skipped-by-exit",
        "mixed-clocks", "wall-clock-interval", "event-without-timing", "event-read-before-ready",
        "bracket-across-streams", "sync-on-hot-path", "ambiguous-label", "mislabelled-stage", "leftover-probe",
        "unused-suppression",
    ]  # fmt: skip


# By case: what is found beside the coverage gaps. Each follows from the case's own words, or, where those leave it
# open, from the source: time.time() can step, and a wait for a device or an event is told once, as a note.
CASE_FAULTS: dict[str, list[tuple[int, str, str]]] = {
    "match-aliased-clocks": [(17, "wall-clock-interval", "warning")],
    "match-events-that-do-not-time": [(19, "sync-on-hot-path", "info")],
    "match-device-module-events": [(16, "sync-on-hot-path", "info")],
    "match-span-among-with-items": [],
    "match-decorator-spans": [],
    "match-span-helper-of-helper": [],
    "match-text-only-timers": [],
    "match-timestamps-and-deadlines": [],
    "match-stop-inside-fstring": [],
    "pair-synchronized-host-clock": [(7, "sync-on-hot-path", "info"), (8, "wall-clock-interval", "warning")],
    "pair-timer-class-without-sync": [(14, "host-clock-around-device-work", "warning")],
    "pair-accumulate-negative-start": [(19, "unpaired-clock-read", "warning")],
    "pair-sum-then-minus-start": [],
    "pair-across-methods": [(15, "unpaired-clock-read", "warning")],
    "pair-exit-before-stop": [(7, "bracket-skipped-by-exit", "warning"), (10, "bracket-skipped-by-exit", "info")],
    "pair-event-lists-zipped": [(11, "sync-on-hot-path", "info")],
    "pair-mixed-clocks": [(10, "mixed-clocks", "error")],
    "pair-nvtx-push-pop-unbalanced": [(11, "bracket-skipped-by-exit", "warning")],
    "pair-lap-timer": [],
    "pair-guarded-by-one-flag": [],
}


@pytest.mark.parametrize("case", CASE_FAULTS)
def test_case(case: str) -> None:
    assert faults(cases()[case][1]) == CASE_FAULTS[case]


def test_every_case_of_these_areas_is_judged() -> None:
    assert set(CASE_FAULTS) == {name for name, (area, _) in cases().items() if area in ("match", "pair")}


# What the cases say is uncovered is reported so, and no more lines of a function that is timed in part.
UNCOVERED = {
    "match-events-that-do-not-time": [("untimed-function", "Relay.__init__"), ("untimed-function", "Relay.push")],
    "match-decorator-spans": [
        ("untimed-function", "Engine.commit"), ("untimed-function", "Engine.draft"),
        ("untimed-function", "Engine.extend"), ("untimed-function", "Engine.verify"),
    ],
    "match-text-only-timers": [("untimed-function", "tree_decode")],
    "match-timestamps-and-deadlines": [("untimed-function", "serve")],
    "pair-lap-timer": [("untimed-region", "decode_all")],
}  # fmt: skip


@pytest.mark.parametrize("case", UNCOVERED)
def test_case_gaps(case: str) -> None:
    gaps = {(f.check, f.function) for f in found(cases()[case][1]) if f.check in GAPS}

    assert gaps >= set(UNCOVERED[case])


def test_a_span_is_no_coverage_but_is_told() -> None:
    messages = {f.function: f.message for f in found(cases()["match-decorator-spans"][1]) if f.check in GAPS}

    assert "only a profiler sees it" in messages["Engine.draft"]
    assert "no timer covers it" in messages["Engine.extend"]


@pytest.mark.parametrize("case", [name for name, (area, _) in cases().items() if area == "hotpath"])
def test_hot_path_case(case: str) -> None:
    """None holds a timer on the hot path: every hot function with work of its own is a gap, and nothing else."""
    told = found(cases()[case][1], ("forward_batch_generation",))

    assert "untimed-function" in {finding.check for finding in told}
    assert {finding.check for finding in told} <= set(GAPS)


def test_init_time_timers_leave_the_hot_path_untimed() -> None:
    told = found(cases()["hotpath-init-time-timers-do-not-count"][1], ("forward_batch_generation",))

    assert [(finding.line, finding.function) for finding in told] == [
        (14, "SpecWorker.forward_batch_generation"),
        (17, "SpecWorker._run"),
    ]


def test_findings_say_how_bad_and_how_sure() -> None:
    for name in CASE_FAULTS:
        for finding in found(cases()[name][1]):
            check = find(finding.check)
            assert check is not None
            assert SEVERITIES.index(finding.severity) >= SEVERITIES.index(check.page.severity)
            assert finding.confidence in CONFIDENCES
            assert finding.line <= finding.end_line


def test_the_worst_comes_first() -> None:
    severities = [SEVERITIES.index(f.severity) for f in found(cases()["pair-mixed-clocks"][1])]

    assert severities == sorted(severities)


# Selection.


def test_select_and_ignore() -> None:
    code = cases()["pair-mixed-clocks"][1]

    assert {f.check for f in found(code, select=("mixed-clocks",))} == {"mixed-clocks"}
    assert "mixed-clocks" not in {f.check for f in found(code, ignore=("mixed-clocks",))}
    assert {check.id for check in chosen(("untimed-*",), ("untimed-region",))} == {"untimed-stage", "untimed-function"}


def test_an_unknown_check_is_refused_with_the_near_one() -> None:
    with pytest.raises(TimingAuditError, match="no check is called mixed-clock") as caught:
        chosen(("mixed-clock",), ())

    assert "mixed-clocks" in str(caught.value)
    assert caught.value.exit_code == USAGE


# Silencing.

QUEUED = """
import time

def queued(request):  %s
    received = time.time()
    request.wait()
    %s
    return time.perf_counter() - received  %s
"""
COMMENT = "# timing: ignore[mixed-clocks] both come from one machine"


@pytest.mark.parametrize("places", [(COMMENT, "", ""), ("", COMMENT, ""), ("", "", COMMENT)])
def test_a_comment_silences(places: tuple[str, str, str]) -> None:
    """On the def line, on a line of its own before the statement, and on the finding's first line."""
    assert faults(QUEUED % places) == []


def test_without_the_comment_it_is_found() -> None:
    assert faults(QUEUED % ("", "", "")) == [(8, "mixed-clocks", "error")]


@pytest.mark.parametrize(
    "comment",
    [
        "# timing: ignore[mixed-clocks]",
        "# timing: ignore[] whatever",
        "# timing: ignore[mixed-clock] a typing error",
        "# timing: ignore[wall-clock-interval] not the fault of this line",
    ],
)
def test_a_comment_that_silences_nothing_is_reported(comment: str) -> None:
    assert faults(QUEUED % ("", "", comment)) == [(8, "mixed-clocks", "error"), (8, "unused-suppression", "info")]


def test_a_comment_in_a_string_is_text() -> None:
    assert faults(f'NOTE = """\n{COMMENT}\n"""\n') == []


def test_a_comment_for_a_check_that_did_not_run_is_left_alone() -> None:
    assert found(QUEUED % ("", "", COMMENT), ignore=("mixed-clocks",), select=("*clock*", "unused-suppression")) == ()


def test_a_comment_on_a_function_does_not_reach_the_next() -> None:
    code = f"""
import time

def first(request):  {COMMENT}
    return request.wait()

def queued(request):
    received = time.time()
    request.wait()
    return time.perf_counter() - received
"""
    assert faults(code) == [(4, "unused-suppression", "info"), (10, "mixed-clocks", "error")]


def test_leftover_probes_are_reported_only_where_none_may_be() -> None:
    code = "def step(worker):\n    worker.draft()  # timing: probe 3f2a\n"
    options = Options(entries=EVERYTHING, all_files=True)

    assert (2, "leftover-probe", "error") in faults(code)
    assert "leftover-probe" not in {f.check for f in audit(example_tree(code), packs(), options).findings}
