"""The report against hand labels of two releases.

The labels are not part of the repository: `TIMING_AUDIT_TRUTH` names the folder that holds them, one folder a
release with `functions.json` and `timing_sites.json`. Only what lies below `speculative/` is labelled; what the
labeller was unsure of counts neither for nor against.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.tracing import room_to_recurse, trace_release, unhinted
from timing_audit.source.target import open_target

Rows = list[dict[str, Any]]
TRUTH = os.environ.get("TIMING_AUDIT_TRUTH", "")
SCOPE = "sglang/srt/speculative/"
STAGES = ("draft", "verify", "draft_extend", "target_extend")
TIMING = frozenset(
    (
        "clock_read", "cuda_event_create", "cuda_event_record", "cuda_event_elapsed", "nvtx", "record_function",
        "profiler", "device_timer", "trace_span", "metric_hook", "wrapper_use",
    )
)  # fmt: skip
THRESHOLDS = {"decode": 0.97, "prefill": 0.95, "stages": 0.95, "sites": 1.0}
WITHOUT_HINTS = 0.85
NOT_YET: dict[tuple[str, str], str] = {}
"""Figures that are below their threshold as yet, by release and name, and why."""


class Figure(NamedTuple):
    """What was found and rightly so, wrongly, and missed."""

    hit: int
    wrong: int
    missed: int
    names: tuple[str, ...]

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.hit / (2 * self.hit + self.wrong + self.missed) if self.hit else 0.0


def figure(said: Collection[Any], wanted: Collection[Any], unsure: Collection[Any] = ()) -> Figure:
    wrong = sorted(set(said) - set(wanted) - set(unsure))
    missed = sorted(set(wanted) - set(said))
    names = (*(f"wrong: {key}" for key in wrong), *(f"missed: {key}" for key in missed))
    return Figure(len(set(said) & set(wanted)), len(wrong), len(missed), names)


def labels(version: str, file: str) -> Rows:
    rows: Rows = json.loads((Path(TRUTH) / version / file).read_text(encoding="utf-8"))
    return rows


@cache
def report(wheel: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "timing_audit", "scan", str(wheel), "--format", "json"]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def of_phase(found: dict[str, Any], truth: Rows, phase: str) -> Figure:
    """Which labelled functions are hot in a phase."""
    labelled = {(row["file"], row["qualname"]): row["label"] for row in truth if row["sure"]}
    hot = {(f["file"], f["qualname"]) for f in found["functions"] if f["role"] == "hot" and phase in f["phases"]}
    return figure(hot & labelled.keys(), {key for key, label in labelled.items() if label in (phase, "both")})


def of_stages(found: dict[str, Any], truth: Rows) -> Figure:
    """The stages of functions that are hot for us; what differs is both wrong and missed, so this is the share."""
    wanted = {(r["file"], r["qualname"]): r["stage"] for r in truth if r["sure"] and r["stage"] in STAGES}
    said = {(f["file"], f["qualname"]): str(f["stage"]) for f in found["functions"] if f["role"] == "hot"}
    both = wanted.keys() & said.keys()
    return figure({(*key, said[key]) for key in both}, {(*key, wanted[key]) for key in both})


def of_sites(found: dict[str, Any], truth: Rows) -> Figure:
    """The lines of timing sites."""
    wanted: set[tuple[str, int]] = set()
    unsure: set[tuple[str, int]] = set()
    for row in truth:
        if row["kind"] in TIMING and row["role"] != "sync_only":
            (wanted if row["sure"] else unsure).add((row["file"], row["line"]))
        elif row["kind"] == "log_elapsed":
            unsure.add((row["file"], row["line"]))
    said = {(s["file"], s["line"]) for s in found["sites"] if s["purpose"] == "timing" and s["file"].startswith(SCOPE)}
    return figure(said, wanted, unsure - wanted)


def judged() -> list[Any]:
    return [
        pytest.param(
            version,
            name,
            marks=[pytest.mark.xfail(reason=NOT_YET[version, name], strict=True)] if (version, name) in NOT_YET else [],
        )
        for version in ("0.5.9", "0.5.15")
        for name in THRESHOLDS
    ]


@pytest.mark.long
@pytest.mark.network
@pytest.mark.skipif(not TRUTH, reason="TIMING_AUDIT_TRUTH names no folder with labels")
@pytest.mark.skipif(importlib.util.find_spec("timing_audit.cli") is None, reason="there is no command to run yet")
@pytest.mark.parametrize(("version", "name"), judged())
def test_the_report_agrees_with_the_labels(release: Callable[[str], Path], version: str, name: str) -> None:
    found = report(release(version))
    truth = labels(version, "timing_sites.json" if name == "sites" else "functions.json")
    if name in ("decode", "prefill"):
        result = of_phase(found, truth, name)
    else:
        result = of_stages(found, truth) if name == "stages" else of_sites(found, truth)
    print(f"{version} {name}: hit {result.hit}, wrong {result.wrong}, missed {result.missed}, F1 {result.f1:.3f}")  # noqa: T201 the figures are what one runs this test for
    assert result.f1 >= THRESHOLDS[name], "\n".join(result.names)


@pytest.mark.long
@pytest.mark.network
@pytest.mark.skipif(not TRUTH, reason="TIMING_AUDIT_TRUTH names no folder with labels")
@pytest.mark.parametrize("version", ["0.5.9", "0.5.15"])
def test_without_the_packs_type_hints_most_of_decode_is_still_found(
    release: Callable[[str], Path], version: str
) -> None:
    with room_to_recurse():
        steps = trace_release(open_target(str(release(version))), unhinted()).steps
    places = [(s.frame.path, s.frame.function.qualname, s.phase.name) for s in steps if s.frame.function is not None]
    hot = [{"file": file, "qualname": name, "role": "hot", "phases": [phase]} for file, name, phase in places]
    result = of_phase({"functions": hot}, labels(version, "functions.json"), "decode")
    print(f"{version} decode without hints: F1 {result.f1:.3f}")  # noqa: T201 the figures are what one runs this test for
    assert result.f1 >= WITHOUT_HINTS, "\n".join(result.names)


def test_figures_count_what_is_right_wrong_and_missed_but_not_what_is_unsure() -> None:
    result = figure({"a", "b", "d"}, {"a", "c"}, {"d"})
    assert result == Figure(1, 1, 1, ("wrong: b", "missed: c"))
    assert result.f1 == 0.5
    assert figure(set(), {"a"}).f1 == 0.0
