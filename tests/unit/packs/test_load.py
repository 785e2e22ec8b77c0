"""Reading packs: all faults at once, each at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from timing_audit.errors import TimingAuditError
from timing_audit.packs.load import load_packs, read_packs, rules_folder

GOOD = """\
pack = "mine"

[[rule]]
id = "ticks"
kind = "clock-read"
family = "ticks"
calls = ["engine.ticks"]
summary = "A clock."
rationale = "Because."

[[rule.example]]
name = "read"
code = '''
id = engine.ticks()  # expect: ticks
[[rule]]
'''

[[rule.example]]
name = "not read"
code = "engine.ticks"
"""

BAD = """\
pack = "bad"
colour = "red"

[[rule]]
kind = "clock-read"
id = "Wrong Name"
family = "ticks"
calls = ["engine.ticks", "not a name", "engine.*"]
sumary = "A clock."
rationale = "Because."

[[rule]]
id = "no-examples"
kind = "clok-read"
summary = "A clock."
rationale = ""
steps = 1

[[rule]]
id = "gauge"
kind = "open"
clock = "hots"
site = "nvtx"
pair = "gauge"
pairing = "pile"
calls = []
summary = "A gauge."
rationale = "Because."

[[rule.example]]
name = "stranger"
code = "x()  # expect: gauge, nobody"

[[rule.example]]
code = "x()"
"""


def faults_of(*sources: tuple[str, str]) -> list[str]:
    """The lines of the one error that the packs raise."""
    with pytest.raises(TimingAuditError) as caught:
        read_packs(tuple((file, text.encode()) for file, text in sources))
    assert caught.value.exit_code == 2
    return caught.value.message.splitlines()


def test_a_good_pack_is_read() -> None:
    """Ids and examples come with their lines; TOML inside an example does not confuse them."""
    packs = read_packs((("mine.toml", GOOD.encode()),))

    (rule,) = packs.rules
    assert (rule.id, rule.file, rule.line, rule.pack) == ("ticks", "mine.toml", 4, "mine")
    assert [example.expected for example in rule.examples] == [((1, "ticks"),), ()]


def test_all_faults_are_told_at_once() -> None:
    """Every fault of a bad pack has its line: the rule's `id`, or the file's first line."""
    assert faults_of(("bad.toml", BAD)) == [
        "bad.toml:1: unknown key `colour`",
        "bad.toml:6: rule Wrong Name: `calls` has `engine.*`; its last segment must be a name",
        "bad.toml:6: rule Wrong Name: `calls` has `not a name`, which is not a dotted name",
        "bad.toml:6: rule Wrong Name: `id` must be lower-case words joined by hyphens",
        "bad.toml:6: rule Wrong Name: `summary` is missing",
        "bad.toml:6: rule Wrong Name: no example expects it (`# expect: Wrong Name`)",
        "bad.toml:6: rule Wrong Name: no example is without an expectation",
        "bad.toml:6: rule Wrong Name: unknown key `sumary`, did you mean `summary`?",
        "bad.toml:13: rule no-examples: `kind` is `clok-read`, did you mean `clock-read`?; it is one of clock-read, "
        "span, open, close, event-create, event-record, event-elapsed, event-query, event-synchronize, synchronize, "
        "ordering, gate, metric-hook, device-work, launch, host-wait, mode-label, graph-replay, graph-capture, "
        "kernel, compiled, entry, phase, phase-function, stage, stage-label, substage, cold, capture, leaf, hint, "
        "setter, worker",
        "bad.toml:13: rule no-examples: `rationale` must be a string that is not empty",
        "bad.toml:13: rule no-examples: no example expects it (`# expect: no-examples`)",
        "bad.toml:13: rule no-examples: no example is without an expectation",
        "bad.toml:20: rule gauge, example `stranger`: no rule is called nobody",
        "bad.toml:20: rule gauge, example: `name` is missing",
        "bad.toml:20: rule gauge: `calls` must be a list of strings that is not empty",
        "bad.toml:20: rule gauge: `clock` is `hots`, did you mean `host`?; it is one of host, device, trace",
        "bad.toml:20: rule gauge: `pairing` is `pile`; it is one of stack, handle, object",
    ]


def test_syntax_errors_of_several_packs_and_faults_of_others_come_together() -> None:
    """A pack that is no TOML does not hide what is wrong in the next one."""
    faults = faults_of(("a.toml", 'pack = "a"\n[[rule]\n'), ("b.toml", 'pack = "b"\nx = \n'), ("c.toml", "y = 1\n"))

    assert [fault.split(": ")[0] for fault in faults] == ["a.toml:2", "b.toml:2", "c.toml:1", "c.toml:1"]
    assert faults[0].startswith("a.toml:2: not TOML: ")
    assert faults[2:] == ["c.toml:1: `pack` is missing", "c.toml:1: unknown key `y`"]


def test_a_pack_cut_short_is_a_fault_at_its_last_line() -> None:
    """An error at the end of the document has no line of its own."""
    assert faults_of(("cut.toml", 'pack = "cut"\n\nx = "'))[0].startswith("cut.toml:3: not TOML: ")


def test_bytes_that_are_no_text_are_a_fault() -> None:
    """TOML is UTF-8; the line is that of the first bad byte."""
    with pytest.raises(TimingAuditError, match=r"^latin\.toml:2: not UTF-8$"):
        read_packs((("latin.toml", b'pack = "x"\n# caf\xe9\n'),))


def test_ids_and_calls_are_unique_across_packs() -> None:
    """The second pack that says the same is told where the first one is."""
    assert faults_of(("one.toml", GOOD), ("two.toml", GOOD)) == [
        "two.toml:4: rule ticks: rule ticks names `engine.ticks` too",
        "two.toml:4: rule ticks: the id is taken, one.toml:4",
    ]


def test_a_folder_of_the_user_adds_to_the_packs(tmp_path: Path) -> None:
    """`--rules DIR` adds rules and keeps ours."""
    (tmp_path / "mine.toml").write_text(GOOD)

    packs = load_packs(tmp_path)

    assert packs.match_call("engine.ticks") is not None
    assert packs.match_call("time.perf_counter") is not None


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_packs_is_refused(tmp_path: Path, exists: bool) -> None:
    """A mistyped or empty folder never passes silently."""
    folder = tmp_path if exists else tmp_path / "nothing"

    with pytest.raises(TimingAuditError) as caught:
        load_packs(folder)

    assert caught.value.exit_code == 2
    assert str(folder) in caught.value.message


def test_a_checkout_uses_the_top_level_rules() -> None:
    """Only an installed wheel holds a copy inside the package."""
    assert rules_folder().name == "rules"
