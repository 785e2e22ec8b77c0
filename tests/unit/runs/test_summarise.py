"""What a report says of runs whose times were chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from tests.unit.runs.written import CYCLE, DRAFT, VERIFY, span, steady, stream, values, write
from timing_audit.cli import cli
from timing_audit.render.run_html import run_html
from timing_audit.render.run_json import run_document
from timing_audit.render.run_text import run_text
from timing_audit.runs.find import read_run
from timing_audit.runs.report import Row, RunReport
from timing_audit.runs.summarise import summarise

SCHEMAS = Path(__file__).resolve().parents[3] / "timing_audit" / "render" / "schema"


def report_of(folder: Path, last: int | None = None) -> RunReport:
    return summarise(read_run([str(folder)]), [str(folder)], last)


def rows_of(report: RunReport) -> dict[str, Row]:
    return {row.name: row for row in report.rows}


def streamed(count: int) -> list[int]:
    """Cycles of 20 us of stream time: draft 2 at 1, a seam of 1, verify 15 at 4, and 1 behind it."""
    words: list[int] = []
    for number in range(count):
        start = 1_000_000 + number * 20_000
        words += [
            *span(DRAFT, start + 10, start + 110),
            *span(VERIFY, start + 200, start + 500),
            *span(CYCLE, start, start + 600),
        ]
        words += [*stream(DRAFT, start + 10, 1_000, 2_000), *stream(VERIFY, start + 200, 4_000, 15_000)]
        words += [*stream(CYCLE, start, 20_000, 20_000), *values(start, 2)]
    return words


def test_host_shares_are_exact_and_close(tmp_path: Path) -> None:
    write(tmp_path / "a.tarec", steady(1000))
    report = report_of(tmp_path)
    shares = {name: row.host_share.value for name, row in rows_of(report).items() if row.host_share is not None}
    assert shares == pytest.approx(
        {"decode cycle": 1, "target verify": 0.8, "draft": 0.1, "seams": 0.05, "unattributed": 0.05}
    )
    assert report.cycles == 950 and dict(report.set_apart) == {"warm-up": 50}
    assert (report.clock, report.bound, report.headroom_ns) == ("host", "unknown", None)
    assert report.tokens_per_cycle == 2.5
    assert report.ms_per_token == pytest.approx(10_200 / 1e6 / 2.5)
    assert report.verdict.startswith("target verify is 80.0 % of the cycle on the host's clock")
    assert rows_of(report)["target verify"].gap == 500


def test_stream_time_leads_where_it_is_there(tmp_path: Path) -> None:
    write(tmp_path / "a.tarec", streamed(200))
    report = report_of(tmp_path)
    shares = {name: row.stream_share.value for name, row in rows_of(report).items() if row.stream_share is not None}
    assert shares == pytest.approx(
        {"decode cycle": 1, "target verify": 0.75, "draft": 0.1, "seams": 0.05, "unattributed": 0.1}
    )
    assert (report.clock, report.bound, report.headroom_ns) == ("stream", "device", 19_400)
    assert rows_of(report)["target verify"].gap == 1_000
    assert "host's clock" not in report.verdict
    assert "device-bound, headroom 0.019 ms" in run_text(report)


def test_missing_ranks_are_named(tmp_path: Path) -> None:
    for rank in (0, 1, 3):
        write(tmp_path / f"{rank}.tarec", steady(20), ranks={"tp": rank}, server_args={"tp_size": 4}, pid=rank)
    report = report_of(tmp_path)
    assert (report.ranks_expected, report.ranks_missing) == (4, ("TP2",))
    assert "3 of 4: TP2 missing" in run_text(report)


def test_a_slow_rank_shows_in_the_spread(tmp_path: Path) -> None:
    for rank, cycle in enumerate((10_000, 10_000, 11_000)):
        write(tmp_path / f"{rank}.tarec", steady(40, cycle), ranks={"tp": rank})
    assert rows_of(report_of(tmp_path))["decode cycle"].spread == pytest.approx(0.1)


def test_prefill_and_idle_cycles_are_set_apart(tmp_path: Path) -> None:
    words = steady(20)  # 20 make one of warm-up
    for number, mode in enumerate((2, 2, 3)):
        start = 100 + 1000 * number
        words += [*span(CYCLE, start, start + 500), *values(start, 1, mode)]
    write(tmp_path / "a.tarec", words)
    report = report_of(tmp_path)
    assert dict(report.set_apart) == {"prefill": 2, "idle": 1, "warm-up": 1}
    assert report.cycles == 19


def test_only_the_last_cycles_count_where_asked(tmp_path: Path) -> None:
    write(tmp_path / "a.tarec", steady(100))
    assert report_of(tmp_path, last=7).cycles == 7


def test_batch_sizes_are_strata(tmp_path: Path) -> None:
    words = []
    for number in range(40):
        start = number * 1000
        words += [*span(CYCLE, start, start + (100 if number % 4 else 300)), *values(start, 1 if number % 4 else 8)]
    write(tmp_path / "a.tarec", words)
    assert [(one.size, one.cycles, one.cycle.p50) for one in report_of(tmp_path).strata] == [(1, 29, 100), (8, 9, 300)]


def test_json_keeps_its_schema(tmp_path: Path) -> None:
    schema = json.loads((SCHEMAS / "run-report-1.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for name, words in (("host", steady(50)), ("stream", streamed(50)), ("none", span(CYCLE, 1, 2))):
        write(tmp_path / name / "a.tarec", words)
        validator.validate(run_document(report_of(tmp_path / name)))


def test_a_run_without_decode_cycles_is_no_pass(tmp_path: Path) -> None:
    write(tmp_path / "a.tarec", [*span(CYCLE, 1, 2), *values(1, 1, 2)])
    result = CliRunner().invoke(cli, ["report", str(tmp_path)], standalone_mode=False)
    assert result.return_value == 3
    assert "no decode cycle was recorded" in result.output


def test_the_html_is_one_file_and_escapes(tmp_path: Path) -> None:
    write(tmp_path / "a.tarec", steady(50), worker="<script>alert(1)</script>")
    page = run_html(report_of(tmp_path))
    assert "<script" not in page and "&lt;script&gt;" in page
    assert page.count("<svg") == page.count("</svg>") == 3
    assert "http" not in page


def test_no_two_slices_of_the_trace_overlap_on_a_track(tmp_path: Path) -> None:
    for rank in (0, 1):
        write(tmp_path / f"{rank}.tarec", streamed(30), ranks={"tp": rank})
    result = CliRunner().invoke(cli, ["report", str(tmp_path), "--format", "trace"])
    events = json.loads(result.stdout)["traceEvents"]
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            tracks.setdefault((event["pid"], event["tid"]), []).append((start, start + round(event["dur"] * 1000)))
    assert sorted(tracks) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    for slices in tracks.values():
        assert len(slices) == 90
        open_ends: list[int] = []
        for start, end in slices:
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)
