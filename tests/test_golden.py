"""The scan of the mini engine: as recorded, and as its hand-made truth says."""

from __future__ import annotations

import json
import pickle
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from tests.golden import GOLDEN, MINI, mini_report, rendered
from timing_audit.model.options import Options
from timing_audit.model.report import FunctionFact
from timing_audit.packs.load import load_packs
from timing_audit.pipeline import audit
from timing_audit.render.json import render_json
from timing_audit.source.target import open_target

TRUTH: dict[str, Any] = json.loads((MINI / "expected.json").read_text())
CLOCK = {"cuda_event": "device", "perf_counter": "host", "record_function": "trace", "request_trace": "trace"}
HOT = {"decode": ("decode",), "prefill": ("prefill",), "both": ("decode", "prefill")}


def sure(kind: str) -> list[dict[str, Any]]:
    return [entry for entry in TRUTH[kind] if entry.get("sure", True)]


def functions() -> dict[tuple[str, str, int], FunctionFact]:
    return {(fact.file, fact.qualname, fact.line): fact for fact in mini_report().functions}


@pytest.mark.parametrize("name", ["mini_sglang.json", "mini_sglang.txt"])
def test_report_is_the_recorded_one(name: str) -> None:
    assert rendered()[name] == (GOLDEN / name).read_text(encoding="utf-8"), "make update-golden, and read what changed"


def test_a_second_scan_says_the_same() -> None:
    again = audit(open_target(str(MINI)), load_packs(), Options(target="fixtures/mini_sglang"))
    assert again == mini_report()


def test_report_is_plain_data() -> None:
    assert pickle.loads(pickle.dumps(mini_report())) == mini_report()


def test_json_is_what_its_schema_says() -> None:
    schema = json.loads((files("timing_audit.render") / "schema" / "scan-1.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(render_json(mini_report())), schema, jsonschema.Draft202012Validator)


def test_nothing_in_the_report_is_an_absolute_path() -> None:
    for text in rendered().values():
        assert str(MINI.parents[1]) not in text


# Against the truth.


def test_hot_functions_are_those_of_the_truth() -> None:
    said = {(f.file, f.qualname): f.phases for f in mini_report().functions if f.role == "hot"}
    unsure = {(e["file"], e["qualname"]) for e in TRUTH["functions"] if not e["sure"]}
    true = {(e["file"], e["qualname"]): HOT[e["label"]] for e in sure("functions") if e["label"] in HOT}
    assert {key: phases for key, phases in said.items() if key not in unsure} == true


def test_roles_off_the_path() -> None:
    found = functions()
    for entry in sure("functions"):
        fact = found.get((entry["file"], entry["qualname"], entry["line"]))
        if entry["label"] in ("capture", "cold") and fact is not None:
            assert fact.role == entry["label"], entry["qualname"]


def test_stages_of_functions_that_serve_one() -> None:
    found = functions()
    for entry in sure("functions"):
        if entry["label"] in HOT and entry["stage"]:
            assert found[entry["file"], entry["qualname"], entry["line"]].stage == entry["stage"], entry["qualname"]


def test_workers_of_hot_functions() -> None:
    found = functions()
    for entry in sure("functions"):
        if entry["label"] in HOT and entry["stage"]:
            fact = found[entry["file"], entry["qualname"], entry["line"]]
            assert set(fact.workers) == set(entry["worker"]), entry["qualname"]


def test_sites_of_the_reported_files() -> None:
    covered = {fact.file for fact in mini_report().functions}
    said = {(site.file, site.line, site.kind, site.purpose, site.phase) for site in mini_report().sites}
    true = {
        (e["file"], e["line"], e["kind"], e["purpose"], e["phase"])
        for e in sure("sites")
        if e["purpose"] and e["kind"] != "log_elapsed" and e["file"] in covered
    }
    assert true - said == set()


def test_no_site_where_the_truth_has_a_false_friend() -> None:
    said = {(site.file, site.line) for site in mini_report().sites}
    assert not said & {(e["file"], e["line"]) for e in TRUTH["sites"] if e["purpose"] is None}


def test_brackets() -> None:
    said = {
        (b.file, b.start_line, b.clock, b.function, b.phase, "cycle" if b.is_cycle else b.stage)
        for b in mini_report().brackets
    }
    true = {(e["file"], e["open"], CLOCK[e["clock"]], e["function"], e["phase"], e["stage"]) for e in TRUTH["brackets"]}
    assert said == true


def test_stage_coverage() -> None:
    rows = mini_report().summary.rows
    said = {(r.worker, r.phase, s.stage): s.timed._asdict() for r in rows for s in r.stages}
    true = {
        (e["worker"], e["phase"], e["stage"]): {clock: e[clock] for clock in ("host", "device", "trace")}
        for e in TRUTH["stages"]
    }
    assert said == true


def test_timers_deeper_in_a_stage_are_listed_under_it() -> None:
    rows = mini_report().summary.rows
    said = {(r.worker, r.phase, s.stage): sorted(t.function for t in s.inside) for r in rows for s in r.stages}
    for entry in TRUTH["stages"]:
        inside = sorted(place.partition(" ")[0] for place in entry["inside"])
        assert said[entry["worker"], entry["phase"], entry["stage"]] == inside, entry


def test_a_wrapper_names_the_stage_that_nothing_wraps() -> None:
    told = {wrapper.name: wrapper.unwrapped for wrapper in mini_report().summary.wrappers}
    assert told["spec_stage_span"] == ("verify",)
    assert {name for name, unwrapped in told.items() if unwrapped} == {"spec_stage_span"}


# Arithmetic.


def test_no_line_is_in_two_regions() -> None:
    seen: set[tuple[str, int]] = set()
    for region in mini_report().regions:
        lines = {(region.file, line) for line in range(region.start_line, region.end_line + 1)}
        assert lines.isdisjoint(seen), region
        seen |= lines


def test_tallies_add_up_to_the_hot_functions() -> None:
    for row in mini_report().summary.rows:
        assert {sum(tally) for tally in row.tallies} == {row.functions}
        assert all(timed <= row.statements for timed in row.timed_statements)


def test_the_better_of_host_and_device_is_the_coverage() -> None:
    order = ("direct", "outside", "partial", "untimed", "excluded")
    for fact in mini_report().functions:
        assert order.index(fact.coverage) == min(order.index(fact.clocks.host), order.index(fact.clocks.device)), fact
        assert (fact.coverage == "excluded") == bool(fact.reason), fact


def test_the_cycles_bracket_times_no_stage_and_no_function() -> None:
    cycle = {timer for row in mini_report().summary.rows for timer in row.cycle}
    assert {(timer.start_line, timer.clock) for timer in cycle} == {(118, "device"), (123, "device")}
    for row in mini_report().summary.rows:
        assert row.tallies.device.outside + row.tallies.device.direct <= 1, "only what the draft's replay calls"


# Options.


def narrowed(**options: Any) -> Any:
    return audit(open_target(str(MINI)), load_packs(), Options(**options))


def test_one_worker_by_what_one_launches_with() -> None:
    rows = narrowed(workers=("EAGLE3",)).summary.rows
    assert {row.worker for row in rows} == {"EAGLEWorker", "EAGLEWorkerV2"}
    assert all("EAGLE3" in row.launched_with for row in rows)


def test_one_phase() -> None:
    report = narrowed(phases=("prefill",))
    assert {row.phase for row in report.summary.rows} == {"prefill"}
    assert {region.phase for region in report.regions} == {"prefill"}
    assert all("prefill" in fact.phases for fact in report.functions if fact.role == "hot")


def test_an_entry_replaces_the_packs_entries() -> None:
    report = narrowed(entries=("EagleDraftWorker.draft",))
    assert report.target.entries == ("EagleDraftWorker.draft",)
    hot = {fact.qualname for fact in report.functions if fact.role == "hot"}
    assert "EagleDraftWorker.draft" in hot
    assert "Scheduler.run_batch" not in hot


def test_every_function_of_every_file() -> None:
    report = narrowed(entries=("*",), all_files=True)
    assert report.summary.parsed.parsed_files == report.summary.parsed.files
    plain = [fact for fact in report.functions if fact.role not in ("kernel", "compiled")]
    hot = [fact for fact in plain if fact.role == "hot"]
    assert {(fact.phases, fact.stage) for fact in hot} == {(("decode",), None)}
    assert len(hot) > 150


def test_the_parts_of_a_row_add_up_to_it() -> None:
    for row in mini_report().summary.rows:
        assert sum(part.functions for part in row.parts) == row.functions
        for clock, whole in enumerate(row.tallies):
            assert tuple(map(sum, zip(*(part.tallies[clock] for part in row.parts), strict=True))) == tuple(whole)


def test_the_rest_of_the_cycle_is_a_part_of_its_own() -> None:
    """What the mini engine does around its workers, by the substages of the packs."""
    (decode,) = [row for row in mini_report().summary.rows if (row.worker, row.phase) == ("EAGLEWorker", "decode")]
    names = {part.name for part in decode.parts}
    assert {"draft", "draft_extend", "batch_prepare", "output", "rest"} <= names
