"""The packs that come with the tool."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from timing_audit.model.pack import (
    CallRule,
    EntryRule,
    FunctionRule,
    HintRule,
    Pack,
    Packs,
    PhaseFunctionRule,
    PhaseRule,
    Rule,
    SetterRule,
    StageRule,
    WorkerRule,
    matches_qualname,
)
from timing_audit.model.timing import Clock
from timing_audit.packs.load import load_packs
from timing_audit.packs.schema import KINDS, STAGES, SUBSTAGES


@cache
def packs() -> Packs:
    """The real packs, read once."""
    return load_packs()


@pytest.mark.parametrize("rule", packs().rules, ids=lambda rule: rule.id)
def test_examples_parse(rule: Rule) -> None:
    """The code of an example is Python, and each expectation names a rule."""
    for example in rule.examples:
        ast.parse(example.code)
        assert all(packs().find(expected) is not None for _, expected in example.expected + example.gaps)


@pytest.mark.parametrize("rule", packs().select(FunctionRule), ids=lambda rule: rule.id)
def test_function_rules_match_the_functions_of_their_examples(rule: FunctionRule) -> None:
    """A `def` that expects a function rule is named by it, and no other `def` of the rule's examples is."""
    for example in rule.examples:
        path = next((line[12:] for line in example.code.splitlines() if line.startswith("# --- file: ")), "x.py")
        expected = {line for line, rule_id in example.expected if rule_id == rule.id}
        named = {line for line, qualname in _functions(ast.parse(example.code), "") if rule.matches(path, qualname)}
        if not isinstance(rule, SetterRule):
            assert named == expected & {line for line, _ in _functions(ast.parse(example.code), "")}


def _functions(node: ast.AST, owner: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            found.append((child.lineno, owner + child.name))
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            found += _functions(child, f"{owner}{child.name}.")
    return found


def test_every_kind_has_a_rule() -> None:
    """No kind of the schema is dead."""
    assert {rule.kind for rule in packs().rules} == set(KINDS)


def test_ids_are_unique() -> None:
    """An id is what users write in ignores."""
    ids = [rule.id for rule in packs().rules]

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("name", "rule_id"),
    [
        ("time.perf_counter", "perf-counter"),
        ("timeit.default_timer", "perf-counter"),
        ("torch.Event", "generic-event"),
        ("torch.Event().record", "event-record"),
        ("torch.cuda.Event", "device-event"),
        ("torch.get_device_module().Event", "device-event"),
        ("torch.get_device_module().Event().elapsed_time", "event-elapsed"),
        ("torch.npu.current_stream().synchronize", "device-synchronize"),
        ("torch.cuda.CUDAGraph().replay", "graph-replay"),
    ],
)
def test_match_call(name: str, rule_id: str) -> None:
    """Exact names and globs, through every device module."""
    rule = packs().match_call(name)

    assert rule is not None
    assert rule.id == rule_id


@pytest.mark.parametrize(
    "name", ["", "Event", "threading.Event", "torch.a.b.Event", "torch.cuda.Event()", "time", "mytime.perf_counter"]
)
def test_match_call_knows_no_other(name: str) -> None:
    """A glob segment is one segment, and what a call returns is not the call."""
    assert packs().match_call(name) is None


def test_the_narrower_glob_goes_first() -> None:
    """Whatever the order of the rules."""
    wide = CallRule("wide", "gate", "", "", (), "p", "f", 1, calls=("a.*.*.end",))
    narrow = CallRule("narrow", "gate", "", "", (), "p", "f", 2, calls=("a.b.*.end",))
    found = Packs((pack_of(wide, narrow),)).match_call("a.b.c.end")

    assert found is narrow


def pack_of(*rules: Rule) -> Pack:
    """A pack made by hand."""
    return Pack("p", "f", rules)


def test_clock_families_keep_units_and_zero_points_apart() -> None:
    """What cannot be subtracted from each other is of two families."""
    families = {name: rule.family for rule in packs().select(CallRule, "clock-read") for name in rule.calls}

    assert families["time.perf_counter"] == families["timeit.default_timer"]
    names = ("perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "time_ns", "process_time")
    assert len({families[f"time.{name}"] for name in names}) == len(names)
    assert {rule.id for rule in packs().select(CallRule, "clock-read") if rule.steps} == {
        "wall-clock",
        "wall-clock-ns",
        "datetime-now",
    }


def test_pairs_are_complete() -> None:
    """Each `open` has a `close` of the same pair, pairing and clock, and the other way round."""

    def ends(kind: str) -> set[tuple[str, str, Clock | None]]:
        return {(rule.pair, rule.pairing, rule.clock) for rule in packs().select(CallRule, kind)}

    assert ends("open") == ends("close")


def test_stages_are_complete() -> None:
    """Every stage and substage of the contract can be entered."""
    assert {rule.stage for rule in packs().select(StageRule, "stage")} == set(STAGES)
    assert {rule.stage for rule in packs().select(StageRule, "substage")} == set(SUBSTAGES)


def test_the_target_worker_verifies_in_decode_and_extends_in_prefill() -> None:
    """The phase decides what one written call means."""
    entered = {
        (rule.stage, rule.phases)
        for rule in packs().select(StageRule, "stage")
        if rule.matches_call("self.target_worker.forward_batch_generation")
    }

    assert entered == {("verify", ("decode",)), ("target_extend", ("prefill",))}


def test_entries() -> None:
    """A decode loop serves both phases, a disaggregated prefill loop one."""
    loops = {
        name: [rule.phases for rule in packs().select(EntryRule) if rule.matches("x.py", name)]
        for name in ("Scheduler.event_loop_overlap", "Mixin.event_loop_pp_disagg_prefill", "Other.event_loop")
    }

    assert loops == {
        "Scheduler.event_loop_overlap": [("decode", "prefill")],
        "Mixin.event_loop_pp_disagg_prefill": [("prefill",)],
        "Other.event_loop": [],
    }


@pytest.mark.parametrize(
    "qualname",
    [
        "ForwardBatch.init_new",
        "Req.init_next_round_input",
        "EAGLEWorker.capture_for_decode",
        "FlashInferAttnBackend.init_forward_metadata_replay_cuda_graph",
        "DecodeCudaGraphRunner._capture_graph_size",
        "CudaGraphRunner.recapture_if_needed",
        "FrozenKVMTPDraftWorker._init_frozen_kv_metadata",
    ],
)
def test_hot_functions_with_misleading_names_are_not_cut(qualname: str) -> None:
    """Names that look like start-up or capture and run in every cycle."""
    off_path = packs().select(FunctionRule, "cold") + packs().select(FunctionRule, "capture")

    assert [rule.id for rule in off_path if rule.matches("sglang/srt/x.py", qualname)] == []


def test_the_phase_rule_assigns_each_member_once() -> None:
    """A member of the enum belongs to one phase."""
    (rule,) = packs().select(PhaseRule)
    members = rule.decode + rule.reaches + rule.prefill + rule.idle

    assert len(members) == len(set(members))
    assert rule.flags == (("is_extend_in_batch", "prefill"), ("is_prefill_only", "prefill"))


def test_functions_of_one_phase() -> None:
    """The scheduler's result processing is told apart by name."""
    phases = {
        name: {rule.phase for rule in packs().select(PhaseFunctionRule) if rule.matches("x.py", name)}
        for name in ("S.process_batch_result_decode", "S.process_batch_result_prefill", "S.process_batch_result")
    }

    assert list(phases.values()) == [{"decode"}, {"prefill"}, set()]


def test_hints_setters_and_workers() -> None:
    """One fact of each of the remaining kinds."""
    hint = next(rule for rule in packs().select(HintRule) if rule.name == "spec_info")
    setter = next(rule for rule in packs().select(SetterRule) if rule.name_position is not None)
    worker = next(rule for rule in packs().select(WorkerRule) if not rule.when)

    assert hint.matches_class("SpecInput") and not hint.matches_class("SpecInputType")
    assert (setter.functions, setter.name_position, setter.site) == (("set_time_batch",), 1, "trace_span")
    assert dict(worker.workers)["EAGLE3"] == ("EAGLEWorker", "EAGLEWorkerV2")


def test_globs_match_whole_components() -> None:
    """`*` stays within a component, and a glob stands at the end of the name."""
    assert matches_qualname(("*Worker*.draft",), "m.EAGLEWorkerV2.draft")
    assert not matches_qualname(("*Worker*.draft",), "EAGLEWorker.draft.inner")
    assert not matches_qualname(("*Worker*.draft",), "EAGLEWorker.draft_forward")
    assert not matches_qualname(("draft",), "redraft")
