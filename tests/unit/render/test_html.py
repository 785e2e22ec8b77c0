"""The HTML report: self-contained, escaped, and its data is what the report says."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from typing import Any

from tests.golden import MINI, mini_report
from timing_audit.model.baseline import Identity
from timing_audit.model.drift import LOST, Change, Drift
from timing_audit.model.report import EXCLUDED, Finding, FunctionFact, Report
from timing_audit.model.source import Skipped
from timing_audit.render.html import render_html


def source(file: str) -> str:
    return (MINI / "python" / file).read_text(encoding="utf-8")


def page(report: Report | None = None, drift: Drift | None = None) -> str:
    return render_html(report or mini_report(), source, drift, "python/")


def data(text: str) -> dict[str, Any]:
    found = re.search(r'id="data">([^<]*)<', text)
    assert found is not None
    document = json.loads(zlib.decompress(b64decode(found[1])))
    assert isinstance(document, dict)
    return document


def hot() -> list[FunctionFact]:
    return [fact for fact in mini_report().functions if fact.role == "hot"]


def test_nothing_is_loaded_from_anywhere() -> None:
    text = page()

    assert re.findall(r"""(?:src|href|url|action)\s*[=(]\s*["']?(?:https?:)?//""", text) == []
    assert "http" not in re.sub(r"http-equiv", "", text)
    assert "default-src 'none'" in text
    assert text == page(), "the same bytes for the same report"


def test_the_answers_and_stages_stand_in_the_page_itself() -> None:
    above = page().split('id="path-title"')[0]

    assert "0 of 3 stages timed; 2 timers, graph capture only (53-55, 56-58)" in above
    assert '<td class="yes">timed</td>' in above
    counted = [fact for fact in hot() if fact.coverage != EXCLUDED]
    untimed = sum(fact.clocks.host == "untimed" for fact in counted)
    assert f"<tr><td>host</td><td>2</td><td>2</td><td>{untimed}</td>" in above


def test_every_hot_function_is_in_the_tree_once_below_one_of_its_callers() -> None:
    found = data(page())["functions"]

    assert [(row["n"], row["l"]) for row in found] == [(fact.qualname, fact.line) for fact in hot()]
    for number in range(len(found)):
        seen: list[int] = []
        up = number
        while up >= 0:
            assert up not in seen, "a circle"
            seen.append(up)
            up = found[up]["u"]
    roots = [row["n"] for row in found if row["u"] < 0]
    assert roots == ["Scheduler.event_loop_normal", "Scheduler.event_loop_overlap"]


def test_the_source_of_every_hot_function_is_there_once() -> None:
    document = data(page())

    for row in document["functions"]:
        lines = source(document["files"][row["f"]]).split("\n")
        pieces = [
            piece for piece in document["source"][str(row["f"])] if piece[0] <= row["l"] < piece[0] + len(piece[1])
        ]
        ((start, held),) = pieces
        assert held[row["l"] - start : row["e"] - start + 1] == lines[row["l"] - 1 : row["e"]]
        assert "def " in held[row["l"] - start]


def test_lines_are_marked_as_the_regions_say() -> None:
    document = data(page())
    place = document["files"].index("sglang/srt/speculative/eagle_worker_v2.py")
    text = source("sglang/srt/speculative/eagle_worker_v2.py").split("\n")
    masks = {start: mask for start, end, mask in document["regions"][str(place)]}

    timed = next(n for n, line in enumerate(text, 1) if "self.draft_worker.draft(batch)" in line)
    untimed = next(n for n, line in enumerate(text, 1) if "result = self.verify(batch)" in line)
    assert (masks[timed], masks.get(untimed, masks.get(untimed - 1))) == (4, 0)


def test_names_and_texts_are_escaped() -> None:
    report = mini_report()
    evil = "<script>alert(1)</script>"
    target = report.target._replace(label=evil)
    finding = Finding("x", "info", "low", hot()[0].file, hot()[0].line, 0, evil, None, evil, "")
    change = Change(LOST, Identity(evil, evil), None, 3, ("decode",), None, ("direct",) * 3, ("untimed",) * 3)
    changed = report._replace(target=target, findings=(finding,), skipped=(Skipped(evil, evil),))

    text = page(changed, Drift(evil, "new", (change,), (), ()))

    assert evil not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 5


def test_findings_go_to_the_innermost_hot_function() -> None:
    first = hot()[0]
    finding = Finding("x", "info", "low", first.file, first.line + 1, first.line + 1, first.qualname, None, "m", "h")

    document = data(page(mini_report()._replace(findings=(finding,))))

    assert [row["n"] for row in document["functions"] if row["x"]] == [first.qualname]
    assert list(document["findings"].values()) == [[[first.line + 1, "info", "x", "m", "h"]]]


def test_a_file_that_is_gone_leaves_its_functions_without_source() -> None:
    document = data(render_html(mini_report(), lambda file: ""))

    assert len(document["functions"]) == len(hot())
