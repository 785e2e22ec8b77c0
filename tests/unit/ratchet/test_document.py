"""The baseline's file: frozen, line by line, refused in one line where it is none."""

from __future__ import annotations

import json

import pytest

from tests.golden import mini_report
from tests.unit.ratchet.engines import mini_baseline
from timing_audit.errors import TimingAuditError
from timing_audit.model.baseline import Baseline, FunctionRecord, Identity, OwnTimer, WrapperRecord
from timing_audit.ratchet.compare import compare
from timing_audit.ratchet.document import dump, load
from timing_audit.render.json import render_json

SMALL = Baseline(
    "engine", "1.0",
    (
        FunctionRecord(
            Identity("engine/a.py", "Worker.draft"), "0123456789abcdef", ("decode",), "draft", "direct",
            ("direct", "untimed", "untimed"), (OwnTimer("host", "DEBUG", "draft", ("self.run",)),),
        ),
        FunctionRecord(Identity("engine/a.py", "réseau"), "", ("decode", "prefill"), None, "untimed", ("untimed",) * 3),
    ),
    (
        WrapperRecord(
            Identity("engine/b.py", "span"), ("host", "trace"), ("context",), "only while a profiler runs", ("s",), True
        ),
    ),
)  # fmt: skip

TEXT = """\
{"baseline": 1, "package": "engine", "version": "1.0",
"functions": [
{"file": "engine/a.py", "qualname": "Worker.draft", "fingerprint": "0123456789abcdef", "phases": ["decode"], "stage": \
"draft", "coverage": "direct", "host": "direct", "device": "untimed", "trace": "untimed", "timers": [{"clock": "host", \
"gate": "DEBUG", "label": "draft", "calls": ["self.run"]}]},
{"file": "engine/a.py", "qualname": "réseau", "fingerprint": "", "phases": ["decode", "prefill"], "stage": null, \
"coverage": "untimed", "host": "untimed", "device": "untimed", "trace": "untimed"}
],
"wrappers": [
{"file": "engine/b.py", "qualname": "span", "clocks": ["host", "trace"], "forms": ["context"], "gate": \
"only while a profiler runs", "aliases": ["s"], "alone": true}
]}
"""


def test_the_frozen_format() -> None:
    """Version 1 for good: a change of this text is a new version."""
    assert dump(SMALL) == TEXT
    assert load(TEXT, "b.json") == SMALL


def test_what_is_written_is_read_back() -> None:
    kept = mini_baseline()
    plain = kept._replace(functions=tuple(record._replace(line=0, depth=0) for record in kept.functions))

    assert load(dump(kept), "b.json") == plain
    assert json.loads(dump(kept))["baseline"] == 1
    assert dump(kept).count("\n") == len(kept.functions) + len(kept.wrappers) + 5


def test_the_json_of_a_scan_serves_as_a_baseline() -> None:
    old = load(render_json(mini_report()), "scan.json")

    assert not old.has_timers
    assert len(old.functions) == len(mini_baseline().functions)
    assert compare(old, mini_baseline()).changes == ()


def test_a_name_with_several_definitions_is_as_bad_as_the_worst() -> None:
    one, other = (
        SMALL.functions[0],
        SMALL.functions[0]._replace(
            coverage="untimed", words=("untimed",) * 3, phases=("prefill",), fingerprint="fedc"
        ),
    )
    text = dump(SMALL._replace(functions=(one, other)))

    (merged,) = load(text, "b.json").functions
    assert (merged.coverage, merged.words, merged.phases) == ("untimed", ("untimed",) * 3, ("decode", "prefill"))
    assert merged.fingerprint == "0123456789abcdef+fedc"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "b.json is no JSON: "),
        ("[" * 200_000, "b.json is no JSON: "),
        ("[]", "b.json is neither a baseline nor the JSON of a scan"),
        ('{"name": "other"}', "b.json is neither a baseline nor the JSON of a scan"),
        ('{"baseline": 2}', "b.json: baseline version 2 is unknown, this timing-audit reads 1"),
        ('{"baseline": "1"}', 'b.json: baseline version "1" is unknown, this timing-audit reads 1'),
        ('{"schema": 9}', "b.json: schema 9 is unknown, this timing-audit reads 1"),
        ('{"baseline": 1}', "b.json: `functions` is missing"),
        (
            '{"baseline": 1, "functions": [3]}',
            "b.json: functions, entry 1: it is no object",
        ),
        (
            TEXT.replace('"host": "direct"', '"host": "good"'),
            'b.json: functions, entry 1: `host` is "good", not one of',
        ),
        (TEXT.replace('["decode"]', '"decode"'), "b.json: functions, entry 1: `phases` is no list"),
        (
            TEXT.replace('"clock": "host"', '"clock": "sun"'),
            'b.json: functions, entry 1: timers, entry 1: `clock` is "sun"',
        ),
    ],
)
def test_what_is_no_baseline_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(TimingAuditError) as caught:
        load(text, "b.json")

    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
