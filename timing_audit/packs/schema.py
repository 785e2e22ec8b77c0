"""The fields of every kind of rule: TOML table -> `Rule`, with all faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypedDict

from timing_audit.config.table import PHASES, Table
from timing_audit.model.pack import (
    CallRule,
    EntryRule,
    Example,
    FunctionRule,
    HintRule,
    ModeLabelRule,
    PhaseFunctionRule,
    PhaseRule,
    Rule,
    SetterRule,
    StageRule,
    WorkerRule,
    WrittenRule,
)
from timing_audit.model.timing import Clock

STAGES = ("draft", "verify", "draft_extend", "target_extend")
SUBSTAGES = ("sampling", "tree_build", "kv_alloc", "grammar", "communication", "batch_prepare", "output")
SPAN_SITES = ("nvtx", "record_function", "profiler", "device_timer", "trace_span", "metric_hook")
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CANONICAL = re.compile(r"(\*|[A-Za-z_]\w*)(\(\))*(\.(\*|[A-Za-z_]\w*)(\(\))*)*")
_EXPECT = re.compile(r"#\s*expect(?P<gap>-gap)?:\s*(?P<ids>[\w-]+(?:\s*,\s*[\w-]+)*)")


class Common(TypedDict):
    """The fields that every rule has."""

    id: str
    kind: str
    summary: str
    rationale: str
    examples: tuple[Example, ...]
    pack: str
    file: str
    line: int


def _calls(table: Table) -> tuple[str, ...]:
    names = table.texts("calls", required=True)
    for name in names:
        if not _CANONICAL.fullmatch(name):
            table.fault(f"`calls` has `{name}`, which is not a dotted name")
        elif name.rpartition(".")[2].startswith("*"):
            table.fault(f"`calls` has `{name}`; its last segment must be a name")
    return names


def _plain(site: str) -> Callable[[Table, Common], Rule]:
    def build(table: Table, common: Common) -> Rule:
        return CallRule(**common, calls=_calls(table), site=site)

    return build


def _clock_read(table: Table, common: Common) -> Rule:
    return CallRule(
        **common,
        calls=_calls(table),
        clock=Clock.HOST,
        site="clock_read",
        family=table.text("family", required=True),
        steps=table.flag("steps"),
    )


def _span(table: Table, common: Common) -> Rule:
    site = table.text("site", required=True, choices=SPAN_SITES)
    return CallRule(**common, calls=_calls(table), clock=table.clock(required=True), site=site)


def _end_of_pair(table: Table, common: Common) -> Rule:
    return CallRule(
        **common,
        calls=_calls(table),
        clock=table.clock(required=True),
        site=table.text("site", required=True, choices=SPAN_SITES),
        pair=table.text("pair", required=True),
        pairing=table.text("pairing", required=True, choices=("stack", "handle", "object")),
    )


def _event_create(table: Table, common: Common) -> Rule:
    return CallRule(
        **common,
        calls=_calls(table),
        clock=Clock.DEVICE,
        site="cuda_event_create",
        timing_keyword=table.text("timing_keyword", required=True),
        timing_position=table.position("timing_position"),
    )


def _event_use(site: str) -> Callable[[Table, Common], Rule]:
    def build(table: Table, common: Common) -> Rule:
        event = table.position("event_position")
        return CallRule(**common, calls=_calls(table), clock=Clock.DEVICE, site=site, event_position=event)

    return build


class _Functions(TypedDict):
    functions: tuple[str, ...]
    paths: tuple[str, ...]
    unless: tuple[str, ...]


def _functions(table: Table, *, required: bool = True) -> _Functions:
    read: _Functions = {
        "functions": table.texts("functions"),
        "paths": table.texts("paths"),
        "unless": table.texts("unless"),
    }
    if required and not read["functions"] and not read["paths"]:
        table.fault("`functions` or `paths` is missing")
    return read


def _by_function(table: Table, common: Common) -> Rule:
    return FunctionRule(**common, **_functions(table))


def _entry(table: Table, common: Common) -> Rule:
    return EntryRule(
        **common,
        **_functions(table),
        role=table.text("role", required=True, choices=("scheduler", "worker")),
        phases=table.texts("phases", required=True, choices=PHASES),
        target_call=table.text("target_call"),
    )


def _stage(name: str, choices: tuple[str, ...]) -> Callable[[Table, Common], Rule]:
    def build(table: Table, common: Common) -> Rule:
        calls = table.texts("calls")
        return StageRule(
            **common,
            **_functions(table, required=not calls),
            stage=table.text(name, required=True, choices=choices),
            calls=calls,
            phases=table.texts("phases", choices=PHASES),
            outside=table.texts("outside", choices=choices),
        )

    return build


def _phase_function(table: Table, common: Common) -> Rule:
    return PhaseFunctionRule(**common, **_functions(table), phase=table.text("phase", required=True, choices=PHASES))


def _phase(table: Table, common: Common) -> Rule:
    flags = Table(table.table("flags"), common["file"], common["line"], f"{table.where}, flags")
    attributes = tuple(table.table("flags"))
    phases = tuple(flags.text(attribute, choices=PHASES) for attribute in attributes)
    table.faults += flags.faults
    return PhaseRule(
        **common,
        enum=table.text("enum", required=True),
        attribute=table.text("attribute", required=True),
        decode=table.texts("decode", required=True),
        prefill=table.texts("prefill", required=True),
        reaches=table.texts("reaches"),
        idle=table.texts("idle"),
        flags=tuple(zip(attributes, phases, strict=True)),
    )


def _hint(table: Table, common: Common) -> Rule:
    return HintRule(**common, name=table.text("name", required=True), classes=table.texts("classes", required=True))


def _setter(table: Table, common: Common) -> Rule:
    return SetterRule(
        **common,
        **_functions(table),
        site=table.text("site", required=True, choices=SPAN_SITES),
        clock=table.clock(required=False),
        name_position=table.position("name_position"),
        start=table.text("start"),
        end=table.text("end"),
    )


def _written(table: Table, common: Common) -> Rule:
    return WrittenRule(**common, calls=table.texts("calls", required=True))


def _mode_label(table: Table, common: Common) -> Rule:
    modes = Table(table.table("stages", required=True), common["file"], common["line"], f"{table.where}, stages")
    names = tuple(table.table("stages"))
    stages = tuple((name, modes.text(name, choices=STAGES)) for name in names)
    table.faults += modes.faults
    attribute = table.text("attribute", required=True)
    return ModeLabelRule(**common, **_functions(table), attribute=attribute, stages=stages)


def _worker(table: Table, common: Common) -> Rule:
    launches = Table(table.table("workers", required=True), common["file"], common["line"], f"{table.where}, workers")
    names = tuple(table.table("workers"))
    workers = tuple((name, launches.texts(name)) for name in names)
    table.faults += launches.faults
    flag = table.text("flag", required=True)
    return WorkerRule(**common, flag=flag, when=table.text("when"), workers=workers)


KINDS: Mapping[str, Callable[[Table, Common], Rule]] = {
    "clock-read": _clock_read,
    "span": _span,
    "open": _end_of_pair,
    "close": _end_of_pair,
    "event-create": _event_create,
    "event-record": _event_use("cuda_event_record"),
    "event-elapsed": _event_use("cuda_event_elapsed"),
    "event-query": _event_use(""),
    "event-synchronize": _event_use("synchronize"),
    "synchronize": _plain("synchronize"),
    "ordering": _plain("synchronize"),
    "gate": _plain(""),
    "metric-hook": _plain("metric_hook"),
    "device-work": _plain(""),
    "launch": _written,
    "host-wait": _written,
    "mode-label": _mode_label,
    "graph-replay": _plain(""),
    "graph-capture": _plain(""),
    "kernel": _plain(""),
    "compiled": _plain(""),
    "entry": _entry,
    "phase": _phase,
    "phase-function": _phase_function,
    "stage": _stage("stage", STAGES),
    "stage-label": _stage("stage", STAGES),
    "substage": _stage("substage", SUBSTAGES),
    "cold": _by_function,
    "capture": _by_function,
    "leaf": _by_function,
    "hint": _hint,
    "setter": _setter,
    "worker": _worker,
}


def read_rule(table: Table, pack: str, file: str) -> Rule | None:
    """The rule of one `[[rule]]` table, or None where its kind is not known; faults stay in the table."""
    rule_id = table.text("id", required=True)
    if rule_id and not _KEBAB.fullmatch(rule_id):
        table.fault("`id` must be lower-case words joined by hyphens")
    kind = table.text("kind", required=True, choices=KINDS)
    common: Common = {
        "id": rule_id,
        "kind": kind,
        "summary": table.text("summary", required=True),
        "rationale": table.text("rationale", required=True),
        "examples": _examples(table, rule_id, file),
        "pack": pack,
        "file": file,
        "line": table.line,
    }
    if not kind:
        return None
    rule = KINDS[kind](table, common)
    table.refuse_unknown()
    return rule


def _examples(table: Table, rule_id: str, file: str) -> tuple[Example, ...]:
    examples = tuple(_example(table, values, file) for values in table.tables("example"))
    expecting = [any(found == rule_id for _, found in example.expected + example.gaps) for example in examples]
    if not any(expecting):
        table.fault(f"no example expects it (`# expect: {rule_id}`)")
    if not any(not example.expected and not example.gaps for example in examples):
        table.fault("no example is without an expectation")
    return examples


def _example(table: Table, values: Mapping[str, object], file: str) -> Example:
    example = Table(values, file, table.line, f"{table.where}, example")
    name = example.text("name", required=True)
    code = example.text("code", required=True)
    example.refuse_unknown()
    table.faults += example.faults
    marks = [
        (number, rule_id.strip(), bool(found["gap"]))
        for number, line in enumerate(code.splitlines(), start=1)
        for found in _EXPECT.finditer(line)
        for rule_id in found["ids"].split(",")
    ]
    return Example(
        name,
        code,
        tuple((line, rule_id) for line, rule_id, gap in marks if not gap),
        tuple((line, rule_id) for line, rule_id, gap in marks if gap),
    )
