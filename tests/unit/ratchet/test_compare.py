"""Drift between two trees: by identity, and only what got worse is worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.ratchet.engines import DRAFT_SPAN, NO_DRAFT_SPAN, SPECULATIVE, WORKER, changed, edit, mini_baseline
from timing_audit.model.baseline import Baseline, FunctionRecord, Identity, OwnTimer, WrapperRecord
from timing_audit.model.drift import GAINED, GATED, GONE, LOST, MOVED, RENAMED, UNTIMED, Drift, StageDrift
from timing_audit.ratchet.compare import compare, own_losses

V2 = "sglang/srt/speculative/eagle_worker_v2.py"
DRAFTING = Identity("sglang/srt/speculative/eagle_draft_worker.py", "EagleDraftWorker.draft")


def kinds(drift: Drift) -> list[tuple[str, Identity]]:
    return [(change.kind, change.identity) for change in drift.changes]


def record(
    name: str, host: str = "untimed", *, file: str = "a.py", body: str = "", phases: tuple[str, ...] = ("decode",),
    stage: str | None = None, timers: tuple[OwnTimer, ...] = (),
) -> FunctionRecord:  # fmt: skip
    words = (host, "excluded" if host == "excluded" else "untimed", "excluded" if host == "excluded" else "untimed")
    return FunctionRecord(Identity(file, name), body, phases, stage, host, words, timers)


def drift(old: list[FunctionRecord], new: list[FunctionRecord]) -> Drift:
    return compare(Baseline("e", "1", tuple(old), ()), Baseline("e", "2", tuple(new), ()))


def test_nothing_changes_against_itself() -> None:
    assert compare(mini_baseline(), mini_baseline()).changes == ()


def test_lines_that_move_are_no_change(tmp_path: Path) -> None:
    new = changed(tmp_path, lambda root: edit(root, WORKER, "OnPublish =", "# one line\n# and another\n\nOnPublish ="))

    found = compare(mini_baseline(), new)

    assert (found.changes, found.wrappers, found.worse) == ((), (), 0)


def test_a_span_that_is_taken_out_is_lost_where_it_stood_and_below(tmp_path: Path) -> None:
    new = changed(tmp_path, lambda root: edit(root, WORKER, DRAFT_SPAN, NO_DRAFT_SPAN))

    found = compare(mini_baseline(), new)

    lost = {change.identity: change for change in found.of(LOST)}
    assert lost[DRAFTING].before[2] == "outside"
    assert lost[DRAFTING].after[2] == "untimed"
    assert found.worse == len(found.changes) == len(lost)
    back = compare(new, mini_baseline())
    assert [change.kind for change in back.changes] == [GAINED] * len(lost)
    assert back.worse == 0


def test_timers_that_only_time_on_a_condition_now_are_lost() -> None:
    mask = Identity("sglang/srt/speculative/spec_utils.py", "generate_token_bitmask")
    before = next(record for record in mini_baseline().functions if record.identity == mask)
    assert [timer.gate for timer in before.timers] == [""]

    gated = before._replace(timers=tuple(timer._replace(gate="DEBUG") for timer in before.timers))
    (change,) = drift([before], [gated]).changes

    assert (change.kind, change.why) == (LOST, "its host timers time only if DEBUG")


def test_a_new_untimed_function_on_the_hot_path_is_worse(tmp_path: Path) -> None:
    def add(root: Path) -> None:
        edit(root, WORKER, "        divisors = None\n", "        divisors = self._prepare_more(batch)\n")
        text = (root / WORKER).read_text(encoding="utf-8")
        more = "\n    def _prepare_more(self, batch):\n        batch.sort()\n        return None\n"
        (root / WORKER).write_text(text + more, encoding="utf-8")

    found = compare(mini_baseline(), changed(tmp_path, add))

    assert kinds(found) == [(UNTIMED, Identity(V2, "EAGLEWorkerV2._prepare_more"))]
    (change,) = found.changes
    assert (change.stage, change.phases, change.line > 0) == ("verify", ("decode",), True)
    assert found.worse == 1


def test_a_file_that_moves_loses_nothing(tmp_path: Path) -> None:
    def move(root: Path) -> None:
        folder = root / SPECULATIVE
        (folder / "eagle_draft_worker.py").rename(folder / "drafting.py")
        edit(root, WORKER, "speculative.eagle_draft_worker", "speculative.drafting")

    found = compare(mini_baseline(), changed(tmp_path, move))

    assert {change.kind for change in found.changes} == {MOVED}
    assert DRAFTING in {change.was for change in found.changes}
    assert found.worse == 0


def test_a_function_with_another_name_is_known_by_its_body(tmp_path: Path) -> None:
    def rename(root: Path) -> None:
        for file in (WORKER, f"{SPECULATIVE}/spec_utils.py", f"{SPECULATIVE}/eagle_worker.py"):
            text = (root / file).read_text(encoding="utf-8")
            (root / file).write_text(text.replace("generate_token_bitmask", "mask_tokens"), encoding="utf-8")

    found = compare(mini_baseline(), changed(tmp_path, rename))

    file = "sglang/srt/speculative/spec_utils.py"
    assert kinds(found) == [(RENAMED, Identity(file, "mask_tokens"))]
    assert found.changes[0].was == Identity(file, "generate_token_bitmask")
    assert found.worse == 0


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("direct", "untimed", LOST), ("outside", "partial", LOST), ("partial", "untimed", LOST),
        ("untimed", "partial", GAINED), ("partial", "outside", GAINED), ("excluded", "untimed", UNTIMED),
        ("direct", "outside", None), ("outside", "direct", None), ("direct", "excluded", None),
        ("excluded", "direct", None),
    ],
)  # fmt: skip
def test_which_words_are_better(before: str, after: str, kind: str | None) -> None:
    assert [change.kind for change in drift([record("f", before)], [record("f", after)]).changes] == (
        [] if kind is None else [kind]
    )


def test_a_function_that_becomes_hot_in_another_phase_is_told_for_that_phase() -> None:
    found = drift([record("f", phases=("prefill",))], [record("f", phases=("decode", "prefill"))])

    (change,) = found.changes
    assert (change.kind, change.phases, change.why) == (UNTIMED, ("decode",), "was hot in prefill only")


def test_two_that_could_be_the_same_are_neither() -> None:
    old = [record("f", body="x"), record("g", body="x")]

    assert sorted(kind for kind, _ in kinds(drift(old, [record("h", body="x")]))) == [GONE, GONE, UNTIMED]


def test_of_two_of_one_name_the_one_with_the_same_body_moved() -> None:
    old = [record("f", body="x", file="a.py"), record("f", body="y", file="b.py")]

    found = drift(old, [record("f", body="y", file="c.py")])

    assert [(change.kind, change.identity.file) for change in found.changes] == [(MOVED, "c.py"), (GONE, "a.py")]


def test_a_wrapper_with_a_new_gate_is_worse_and_a_new_one_is_not() -> None:
    old = WrapperRecord(Identity("a.py", "span"), ("host",), ("context",), "")
    other = WrapperRecord(Identity("a.py", "more"), ("trace",), ("context",), "only while a torch profiler runs")

    found = compare(Baseline("e", "1", (), (old,)), Baseline("e", "2", (), (old._replace(gate="DEBUG"), other)))

    assert [(change.kind, change.identity.qualname, change.is_worse) for change in found.wrappers] == [
        ("new", "more", False), (GATED, "span", True),
    ]  # fmt: skip
    assert found.worse == 1


def test_stages_are_counted_on_both_sides() -> None:
    old = [record("f", "direct", stage="draft"), record("g", "excluded", stage="draft")]
    new = [record("f", stage="draft"), record("h", stage="draft")]

    (stage,) = drift(old, new).stages
    assert stage == StageDrift("decode", "draft", (1, 2), ((1, 0), (0, 0), (0, 0)))


def timer(*calls: str, clock: str = "host", gate: str = "") -> OwnTimer:
    return OwnTimer(clock, gate, "", calls)


@pytest.mark.parametrize(
    ("old", "new", "made", "losses"),
    [
        ([timer("a", "b")], [timer("a", "b")], {"a": 1, "b": 1}, []),
        ([timer("a", "b")], [timer("a")], {"a": 1, "b": 1}, ["`b` is in no host timer any more"]),
        ([timer("a", "b")], [timer("a")], {"a": 1}, []),
        ([timer("a")], [], {"a": 1}, ["no host timer is left in it"]),
        ([timer("a")], [timer("a", clock="device")], {"a": 1}, ["no host timer is left in it"]),
        ([timer("a")], [timer("a", gate="DEBUG")], {"a": 1}, ["its host timers time only if DEBUG"]),
        ([timer("a", gate="DEBUG")], [timer("a", gate="TRACE")], {"a": 1}, []),
        ([], [timer("a")], {"a": 1}, []),
    ],
)
def test_what_a_function_own_timers_lose(
    old: list[OwnTimer], new: list[OwnTimer], made: dict[str, int], losses: list[str]
) -> None:
    assert own_losses(old, new, made) == losses
