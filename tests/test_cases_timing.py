"""The `match` and `pair` cases: which sites and brackets a source holds, and which it does not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from tests.unit.timing.harness import PACKS, Audit, lines_of, pairs, timing_sites
from timing_audit.model.pack import Packs
from timing_audit.model.timing import Bracket, Clock, Purpose
from timing_audit.packs.load import read_packs

CASES = Path(__file__).parent / "data" / "cases.jsonl"
OUTSIDE = b"""
pack = "outside"

[[rule]]
id = "engine-span"
kind = "span"
clock = "trace"
site = "record_function"
calls = ["sglang.srt.utils.nvtx_utils.profile_range"]
summary = "A span of the engine."
rationale = "Its definition is not in the target."

[[rule.example]]
name = "a span"
code = '''
from sglang.srt.utils.nvtx_utils import profile_range
with profile_range("x"):  # expect: engine-span
    pass
'''

[[rule.example]]
name = "no span"
code = "x = 1"
"""


@cache
def sources() -> dict[str, str]:
    cases = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return {case["id"]: case["input"] for case in cases}


def audit(case: str, packs: Packs = PACKS) -> Audit:
    return Audit(sources()[case], packs)


def only(brackets: tuple[Bracket, ...]) -> Bracket:
    (bracket,) = brackets
    return bracket


def test_match_aliased_clocks() -> None:
    body = audit("match-aliased-clocks").body("draft_step")

    assert pairs(body) == [(8, 10), (11, 13), (14, 16), (17, 19)]
    assert [bracket.family for bracket in body.brackets] == ["performance", "monotonic-ns", "performance", "wall"]
    assert [bracket.covers for bracket in body.brackets] == [((9, 9),), ((12, 12),), ((15, 15),), ((18, 18),)]
    assert {bracket.clock for bracket in body.brackets} == {Clock.HOST}
    assert body.unpaired == ()
    assert body.mixed == ()


def test_match_events_that_do_not_time() -> None:
    target = audit("match-events-that-do-not-time")
    init, push = target.body("Relay.__init__"), target.body("Relay.push")

    assert timing_sites(init) == [(13, "cuda_event_create")]
    assert [site.line for site in init.sites if site.purpose is Purpose.ORDERING] == [11, 12]
    assert timing_sites(push) == []
    assert [(site.line, site.purpose) for site in push.sites] == [
        (16, Purpose.ORDERING),
        (18, Purpose.ORDERING),
        (19, Purpose.SYNC),
    ]
    assert init.brackets == push.brackets == ()
    assert [sync.timer_line for sync in push.syncs] == [0]


def test_match_device_module_events() -> None:
    body = audit("match-device-module-events").body("run")
    created = [site for site in body.sites if site.kind == "cuda_event_create"]
    recorded = [site for site in body.sites if site.kind == "cuda_event_record"]

    assert [(site.line, site.purpose.value) for site in created] == [
        (7, "timing"), (8, "timing"), (9, "timing"), (10, "ordering"), (11, "timing"),
    ]  # fmt: skip
    assert [(site.line, site.purpose.value) for site in recorded] == [(12, "timing"), (14, "timing"), (15, "ordering")]
    bracket = only(body.brackets)
    assert (bracket.start_line, bracket.end_line, bracket.clock) == (12, 14, Clock.DEVICE)
    assert bracket.covers == ((13, 13),)
    assert bracket.synced[1]
    assert body.unpaired == ()


def test_match_span_among_with_items() -> None:
    packs = Packs((*PACKS.packs, *read_packs((("outside.toml", OUTSIDE),)).packs))
    body = audit("match-span-among-with-items", packs).body("step")

    assert timing_sites(body) == [(8, "record_function"), (12, "record_function")]
    draft, extend = body.brackets
    assert (draft.label, draft.covers, draft.inside) == ("draft", ((10, 10),), ())
    assert (extend.label, extend.covers) == ("extend", ((13, 13),))
    assert extend.inside == ((12, 52),)
    assert 11 not in lines_of(draft) | lines_of(extend)


def test_match_decorator_spans() -> None:
    target = audit("match-decorator-spans")
    found = {name: target.body(f"Engine.{name}") for name in ("draft", "verify", "commit", "extend")}

    assert {name: timing_sites(body) for name, body in found.items()} == {
        "draft": [(6, "record_function")],
        "verify": [(11, "nvtx")],
        "commit": [(15, "nvtx")],
        "extend": [],
    }
    covers = {name: only(body.brackets).covers for name, body in found.items() if body.brackets}
    assert covers == {"draft": ((8, 8),), "verify": ((13, 13),), "commit": ((17, 17),)}
    assert only(found["draft"].brackets).label == "engine.draft"
    assert {only(found[name].brackets).clock for name in covers} == {Clock.TRACE}


def test_match_span_helper_of_helper() -> None:
    target = audit("match-span-helper-of-helper")
    body = target.body("round_trip")

    assert timing_sites(body) == [(20, "wrapper_use")]
    bracket = only(body.brackets)
    assert (bracket.start_line, bracket.label, bracket.clock) == (20, "draft", Clock.TRACE)
    assert bracket.covers == ((21, 21),)
    assert [hop.partition(" ")[2] for hop in bracket.hops] == [
        "span_for", "stage", "torch.profiler.record_function",
    ]  # fmt: skip
    assert timing_sites(target.body("stage")) == [(7, "record_function")]
    assert target.wrapper("quiet") == ()


def test_match_text_only_timers() -> None:
    body = audit("match-text-only-timers").body("tree_decode")

    assert body.sites == ()
    assert body.brackets == ()


def test_match_timestamps_and_deadlines() -> None:
    body = audit("match-timestamps-and-deadlines").body("serve")

    assert timing_sites(body) == [(line, "clock_read") for line in (5, 7, 10, 11)]
    assert body.brackets == ()
    assert body.unpaired == ()
    assert body.mixed == ()


def test_match_stop_inside_fstring() -> None:
    body = audit("match-stop-inside-fstring").body("build")

    assert pairs(body) == [(8, 10), (11, 13), (14, 16)]
    assert [bracket.covers for bracket in body.brackets] == [((9, 9),), ((12, 12),), ((15, 15),)]
    assert body.unpaired == ()


def test_pair_synchronized_host_clock() -> None:
    body = audit("pair-synchronized-host-clock").body("timed_verify")
    bracket = only(body.brackets)

    assert pairs(body) == [(8, 11)]
    assert bracket.covers == ((9, 9),)
    assert bracket.synced == (True, True)
    assert [(sync.line, sync.timer_line) for sync in body.syncs] == [(7, 8), (10, 8)]


def test_pair_timer_class_without_sync() -> None:
    target = audit("pair-timer-class-without-sync")
    (wrapper,) = target.wrapper_class("Timer")
    body = target.body("propose")
    bracket = only(body.brackets)

    assert (wrapper.line, wrapper.clock, wrapper.synced) == (4, Clock.HOST, (False, False))
    assert timing_sites(body) == [(14, "wrapper_use")]
    assert bracket.covers == ((15, 15),)
    assert (bracket.synced, bracket.host_sync) == ((False, False), False)
    assert target.of_class("Timer").unpaired == ()
    assert target.body("Timer.__enter__").unpaired == target.body("Timer.__exit__").unpaired == ()
    assert only(target.of_class("Timer").brackets).covers == ()


def test_pair_accumulate_negative_start() -> None:
    target = audit("pair-accumulate-negative-start")
    body = target.body("spec_round")
    bracket = only(body.brackets)

    assert (bracket.start_line, bracket.end_line, bracket.label) == (16, 18, "draft")
    assert bracket.covers == ((17, 17),)
    assert timing_sites(body) == [(16, "wrapper_use"), (18, "wrapper_use"), (19, "wrapper_use")]
    assert [(fault.line, fault.kind) for fault in body.unpaired] == [(19, "start")]
    assert target.body("begin").unpaired == target.body("end").unpaired == ()


def test_pair_sum_then_minus_start() -> None:
    body = audit("pair-sum-then-minus-start").body("capture")

    assert pairs(body) == [(5, 9)]
    assert only(body.brackets).covers == ((6, 6),)
    assert body.unpaired == ()


def test_pair_across_methods() -> None:
    target = audit("pair-across-methods")
    found = target.of_class("RoundTrip")
    bracket = only(found.brackets)

    assert (bracket.start_line, bracket.end_line, bracket.covers) == (6, 11, ())
    assert bracket.function is not None and bracket.function.qualname == "RoundTrip.on_result"
    assert [(fault.line, fault.kind) for fault in found.unpaired] == [(15, "start")]
    assert target.body("RoundTrip.on_launch").unpaired == ()


def test_pair_exit_before_stop() -> None:
    body = audit("pair-exit-before-stop").body("verify")

    assert pairs(body) == [(5, 11)]
    assert only(body.brackets).covers == ((6, 10),)
    assert [(fault.line, fault.kind, fault.related_line) for fault in body.unpaired] == [
        (7, "exit", 5),
        (10, "exit", 5),
    ]


def test_pair_event_lists_zipped() -> None:
    body = audit("pair-event-lists-zipped").body("bench")
    bracket = only(body.brackets)

    assert (bracket.start_line, bracket.end_line, bracket.clock) == (8, 10, Clock.DEVICE)
    assert bracket.covers == ((9, 9),)
    assert bracket.synced[1]
    assert timing_sites(body) == [
        (5, "cuda_event_create"), (6, "cuda_event_create"), (8, "cuda_event_record"), (10, "cuda_event_record"),
        (12, "cuda_event_elapsed"),
    ]  # fmt: skip
    assert body.unpaired == ()


def test_pair_mixed_clocks() -> None:
    target = audit("pair-mixed-clocks")
    found = target.of_class("Req")
    (mixed,) = found.mixed

    assert (mixed.start_line, mixed.start_family) == (6, "wall")
    assert (mixed.end_line, mixed.end_family) == (10, "performance")
    assert [(bracket.start_line, bracket.end_line) for bracket in found.brackets] == [(7, 13)]


def test_pair_nvtx_push_pop_unbalanced() -> None:
    body = audit("pair-nvtx-push-pop-unbalanced").body("loop")

    assert [(bracket.label, bracket.start_line, bracket.end_line) for bracket in body.brackets] == [
        ("round", 6, 15),
        ("draft", 7, 9),
        ("verify", 12, 14),
    ]
    assert [bracket.label for bracket in body.brackets if 8 in lines_of(bracket)] == ["round", "draft"]
    assert [bracket.label for bracket in body.brackets if 13 in lines_of(bracket)] == ["round", "verify"]
    assert [(fault.line, fault.kind, fault.related_line) for fault in body.unpaired] == [(11, "exit", 6)]


def test_pair_lap_timer() -> None:
    body = audit("pair-lap-timer").body("decode_all")
    bracket = only(body.brackets)

    assert (bracket.start_line, bracket.end_line) == (5, 9)
    assert 8 in lines_of(bracket)
    assert 12 not in lines_of(bracket)
    assert body.unpaired == ()


def test_pair_guarded_by_one_flag() -> None:
    body = audit("pair-guarded-by-one-flag").body("draft")
    bracket = only(body.brackets)

    assert (bracket.start_line, bracket.end_line, bracket.covers) == (9, 12, ((10, 10),))
    assert (bracket.conditional, bracket.gate) == (True, "TRACE")
    assert body.unpaired == ()


def test_every_case_of_these_areas_has_a_test() -> None:
    cases = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    wanted = {case["id"] for case in cases if case["area"] in ("match", "pair")}
    named = {name.removeprefix("test_").replace("_", "-") for name in globals() if name.startswith("test_")}

    assert wanted <= named
