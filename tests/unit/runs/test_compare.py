"""Comparisons of launches whose truth is known: what is there is shown, and what is not is shown rarely."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from tests.unit.runs.written import steady, write
from timing_audit.cli import cli
from timing_audit.errors import TimingAuditError
from timing_audit.render.compare import compare_text, verdict
from timing_audit.runs.compare import CompareRow, Comparison, compare
from timing_audit.runs.launches import Launch, Point, Side

VERIFY_NS, DRAFT_NS, EXTEND_NS, REST_NS = 22_180_000, 610_000, 310_000, 300_000


def make_launch(random: Random, cycles: int, *, verify: float = 1.0, accepted: float = 3.0, size: int = 8) -> Launch:
    """Cycles with autocorrelation 0.9 and a spread of 3 %; launches differ by 0.5 %."""
    level, noise = 1 + random.gauss(0, 0.005), 0.0
    points = []
    for _ in range(cycles):
        noise = 0.9 * noise + random.gauss(0, 0.03 * (1 - 0.81) ** 0.5)
        factor = level * (1 + noise)
        stages = {"verify": VERIFY_NS * verify, "draft": DRAFT_NS, "draft_extend": EXTEND_NS}
        times = {stage: round(length * factor) for stage, length in stages.items()}
        cycle = sum(times.values()) + REST_NS
        times.update(cycle=cycle, start_to_start=cycle + 20_000)
        points.append(Point(size, times, round(accepted * size), size))
    return Launch("x", 1, points)


def side(random: Random, launches: int, cycles: int = 200, **changes: float) -> Side:
    return Side("s", "stream", [make_launch(random, cycles, **changes) for _ in range(launches)], {"steps": "5"})  # type: ignore[arg-type]


def rows_of(found: Comparison) -> dict[str, CompareRow]:
    return {row.metric: row for row in found.rows}


def test_a_verify_that_is_27_percent_faster_is_shown_with_five_launches_a_side() -> None:
    random = Random(7)
    found = compare(side(random, 5), side(random, 5, verify=0.73))
    row = rows_of(found)["verify"]
    assert found.unit == "launch"
    assert row.shown and not row.worse
    assert row.difference.low < -0.27 < row.difference.high
    # Alone it is 2/252; of three stages, Holm triples it.
    assert row.p == pytest.approx(3 * 2 / 252)
    assert not rows_of(found)["draft"].shown
    assert "ms per token is 2" in verdict(found) and "lower in B" in verdict(found)


def test_two_sides_that_are_alike_rarely_differ() -> None:
    """The cycle and the time per token at 5 %; 200 repeats, so 8 % is three deviations off."""
    random, alarms = Random(20), {"cycle": 0, "ms_per_token": 0, "verify": 0}
    for _ in range(200):
        rows = rows_of(compare(side(random, 5, 60), side(random, 5, 60)))
        for metric in alarms:
            alarms[metric] += rows[metric].shown
    assert all(count <= 16 for count in alarms.values()), alarms


def test_fewer_launches_fall_back_to_blocks_and_say_so() -> None:
    random = Random(3)
    found = compare(side(random, 1, 2000), side(random, 1, 2000, verify=0.73))
    assert found.unit == "window"
    assert rows_of(found)["cycle"].shown
    assert "launch-to-launch noise is not included" in compare_text(found)


def test_a_faster_cycle_with_fewer_tokens_is_a_loss() -> None:
    random = Random(5)
    found = compare(side(random, 5), side(random, 5, verify=0.94, accepted=2.5))
    rows = rows_of(found)
    assert not rows["cycle"].worse and rows["ms_per_token"].worse and rows["ms_per_token"].shown
    assert "although its cycle is faster" in verdict(found)
    assert "WORSE" in compare_text(found)


def test_batch_sizes_are_compared_like_with_like() -> None:
    """B runs mostly at a large, slow batch size; within each size nothing differs."""
    random = Random(6)

    def mixed(small: int, large: int) -> Side:
        launches = []
        for _ in range(5):
            one = make_launch(random, small, size=1)
            two = make_launch(random, large, size=32, verify=2.0)
            launches.append(Launch("x", 1, [*one.points, *two.points]))
        return Side("s", "stream", launches, {})

    row = rows_of(compare(mixed(180, 20), mixed(20, 180)))["cycle"]
    assert abs(row.difference.value) < 0.02
    assert not row.shown


def test_sides_without_a_common_batch_size_are_refused() -> None:
    random = Random(1)
    a, b = (Side("s", "host", [make_launch(random, 20, size=size)], {}) for size in (1, 2))
    with pytest.raises(TimingAuditError, match="no batch size in common"):
        compare(a, b)


# From files.


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *arguments], standalone_mode=False)


def launches(folder: Path, count: int, verify_ns: int, steps: int) -> str:
    for number in range(count):
        words = steady(60, 2_000 + verify_ns + number, 1_000, verify_ns)
        server = {"speculative_algorithm": "EAGLE", "speculative_num_steps": steps}
        write(folder / f"{number}" / "a.tarec", words, server_args=server, started_ns=number)
    return str(folder)


def test_the_command_opens_with_what_differs_and_gates(tmp_path: Path) -> None:
    a, b = launches(tmp_path / "a", 5, 8_000, 5), launches(tmp_path / "b", 5, 8_800, 2)
    result = invoke(a, b)
    assert result.output.startswith("differs: num_steps 5 -> 2\n")
    assert result.return_value == 0
    assert invoke(a, b, "--fail-over", "3").return_value == 1
    assert invoke(a, b, "--fail-over", "30").return_value == 0
    assert invoke(b, a, "--fail-over", "3").return_value == 0
    document = json.loads(invoke(a, b, "--format", "json").output)
    assert document["launches"] == {"a": 5, "b": 5}
    assert document["unit"] == "launch"


def test_launches_of_one_parent_are_told_apart_by_their_ranks(tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path / f"{number}.tarec", steady(30), ranks={"tp": number % 2}, started_ns=number)
    result = invoke(str(tmp_path), str(tmp_path), "--format", "json")
    assert json.loads(result.output)["launches"] == {"a": 3, "b": 3}
