"""The hot path as a tree, as chains, as JSON and as Mermaid."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from tests.golden import MINI
from timing_audit import pipeline
from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.model.graph import CallGraph, GraphCall, GraphNode, Launch
from timing_audit.model.options import Options
from timing_audit.model.report import Clocks, Target
from timing_audit.packs.load import load_packs
from timing_audit.render.graph import Look, launch_text, loop_text, next_steps, render_chains, render_graph
from timing_audit.render.json import render_graph_json
from timing_audit.render.mermaid import render_mermaid, render_mermaid_chains
from timing_audit.render.outline import Outliner, aside, chains, near_matches, trunk
from timing_audit.source.target import open_target


def call(to: int, line: int, **about: Any) -> GraphCall:
    return GraphCall(to, line, 1, "f", "exact", "call", (), "", "")._replace(**about)


def node(name: str, *calls: GraphCall, coverage: str = "untimed", **about: Any) -> GraphNode:
    clocks = Clocks(coverage, "untimed", "untimed")
    plain = GraphNode("a.py", 10 * len(name), name, "", "decode", "", "", ("Eagle",), False, coverage, clocks, calls)
    return plain._replace(**about)


def graph(*nodes: GraphNode, roots: tuple[int, ...] = (0,)) -> CallGraph:
    target = Target("engine 1", "engine", "1", ())
    return CallGraph(target, (Launch("Eagle", ("EAGLE",)),), roots, nodes, (), 0)


SMALL = graph(
    node("loop", call(1, 5, loops=("True",)), call(4, 9)),
    node("run", call(2, 7, worker="Eagle"), call(2, 8, worker="Eagle")),
    node(
        "forward",
        call(3, 11, stage="draft", loops=("range(self.steps)",)),
        call(5, 12, stage="verify", how="hierarchy"),
        call(4, 13),
    ),
    node("draft", call(4, 20), coverage="direct", stage="draft", captured=True),
    node("help", call(4, 30), coverage="excluded"),
    node("verify", coverage="partial", stage="verify"),
)


def drawn(found: CallGraph, most: int | None = None) -> list[str]:
    """The lines of the tree and below it, without the room that aligns the places."""
    return [re.sub(r"(?<=\S) {2,}(?=a\.py)", "  ", line) for line in render_graph(found, Look(most)).split("\n")[3:]]


def test_the_tree_tells_marks_stages_workers_loops_and_repeats() -> None:
    assert drawn(SMALL)[:8] == [
        "○ loop  a.py:40",
        "├─ ○ run  × cycles  a.py:30",
        "│  └─ ○ forward  worker EAGLE, 2 calls  a.py:70",
        "│     ├─ ● draft  [draft], × self.steps, captured  a.py:50",
        "│     │  └─ · help  ↑ shown above  a.py:40",
        "│     ├─ ◐ verify  [verify]  a.py:60",
        "│     └─ · help  ↑ shown above  a.py:40",
        "└─ · help  a.py:40",
    ]


def test_short_of_lines_it_keeps_the_way_to_the_stages_and_counts_what_it_folds() -> None:
    assert drawn(SMALL, most=5)[:5] == [
        "○ loop  +1  a.py:40",
        "└─ ○ run  × cycles  a.py:30",
        "   └─ ○ forward  worker EAGLE, 2 calls, +1  a.py:70",
        "      ├─ ● draft  [draft], × self.steps, captured, +1  a.py:50",
        "      └─ ◐ verify  [verify]  a.py:60",
    ]


def test_a_function_that_calls_itself_is_drawn_once() -> None:
    recursive = graph(node("a", call(1, 1)), node("bb", call(0, 2), call(1, 3)))

    assert drawn(recursive)[:3] == ["○ a  a.py:10", "└─ ○ bb  a.py:20", "   └─ ○ a  ↑ shown above  a.py:10"]


def test_plain_output_is_ascii() -> None:
    text = render_graph(SMALL, Look(plain=True))

    assert text.isascii()
    assert "`- . help" in text


def test_the_first_root_leads_to_most_workers() -> None:
    loop = node("loop", call(3, 2, worker="Eagle"))
    two = graph(node("idle", call(1, 1)), node("helper"), loop, node("worker"), roots=(0, 2))

    assert trunk(two, "decode") == [2, 0]
    assert "also entered at idle" in drawn(two, most=9)


def test_the_shortest_chain_says_where_each_call_is_and_how_it_was_resolved() -> None:
    (chain,) = chains(SMALL, "verify")

    assert [(link.node.function, link.call and link.call.line) for link in chain.links] == [
        ("loop", None), ("run", 5), ("forward", 7), ("verify", 12),
    ]  # fmt: skip
    assert render_chains(SMALL, [chain], [], Look()).split("\n")[:6] == [
        "a.py:60 verify: hot in decode, stage verify, timed in part",
        "  under every worker; the shortest way there, confidence medium:",
        "  a.py:40 loop      entry point",
        "  a.py:5 → run      exact, × cycles",
        "  a.py:7 → forward  exact, worker Eagle",
        "  a.py:12 → verify  hierarchy, enters verify",
    ]


def test_loops_and_launches_are_told_short() -> None:
    assert loop_text("range(self.num_steps - 1)") == "self.num_steps - 1"
    assert loop_text("range(len(steps))") == "len(steps)"
    assert loop_text("range(1, n)") == "range(1, n)"
    assert loop_text("batch.reqs") == "batch.reqs"
    assert launch_text(("EAGLE with x", "EAGLE3 with x", "NGRAM")) == "EAGLE/EAGLE3 with x, NGRAM"


@cache
def mini() -> CallGraph:
    return pipeline.graph(open_target(str(MINI)), load_packs())


def test_the_mini_engine_fits_a_screen_and_shows_every_stage_of_every_worker() -> None:
    text = render_graph(mini(), Look())
    decode = text.partition("prefill:")[0]

    assert text.count("\n") <= 66
    # Two of its three workers speculate, and each of them drafts, verifies and extends.
    assert all(decode.count(f"[{stage}]") >= 2 for stage in ("draft", "verify", "draft_extend"))
    assert "select_top_k_tokens  × self.speculative_num_steps, captured" in render_graph(mini(), Look(most=None))


def test_all_of_it_names_every_hot_function() -> None:
    text = render_graph(mini(), Look(most=None))
    reached = Outliner(mini())

    assert {n.function for n in mini().nodes if n.function not in text} == set()
    assert " +" not in text.rpartition("+n")[0]
    assert reached.tree(mini().roots[0], 1).branches == ()


def test_one_worker_and_phase_is_a_part_of_the_whole() -> None:
    part = pipeline.graph(open_target(str(MINI)), load_packs(), Options(phases=("decode",), workers=("NONE",)))

    assert [launch.worker for launch in part.workers] == ["TpModelWorker"]
    assert {n.phase for n in part.nodes} == {"decode"}
    assert all("TpModelWorker" in n.workers for n in part.nodes)
    assert {n.function for n in part.nodes} < {n.function for n in mini().nodes}
    assert all(call.to < len(part.nodes) for n in part.nodes for call in n.calls)


def test_what_is_not_hot_is_told_with_its_reason() -> None:
    others = aside(mini(), "EAGLEWorker.init_cuda_graphs")

    assert [function.role for function in others] == ["capture"]
    assert "is not on the hot path: runs only while graphs are captured" in render_chains(mini(), [], others, Look())


def test_an_unknown_function_is_an_error_that_names_the_near_ones() -> None:
    with pytest.raises(TimingAuditError, match="no function draft_forwrd") as caught:
        aside(mini(), "draft_forwrd")

    assert caught.value.exit_code == USAGE
    assert near_matches(mini(), "draft_forwrd")[:2] == ["EAGLEWorker.draft_forward", "EagleDraftWorker.draft_forward"]


@pytest.mark.parametrize("to", [None, "draft_forward", "init_cuda_graphs"])
def test_json_is_what_its_schema_says(to: str | None) -> None:
    schema = json.loads((files("timing_audit.render") / "schema" / "graph-1.json").read_text(encoding="utf-8"))
    ways, others = (chains(mini(), to), aside(mini(), to)) if to is not None else ([], [])
    document = json.loads(render_graph_json(mini(), next_steps(mini(), Options(), to), to, ways, others))

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
    assert len(document["nodes"]) == len(mini().nodes)
    assert (document["to"] is None) == (to is None)


def test_mermaid_has_a_box_for_each_line_and_dashes_where_only_a_name_speaks() -> None:
    named = SMALL._replace(nodes=(SMALL.nodes[0]._replace(calls=(call(4, 9, how="same name"),)), *SMALL.nodes[1:]))

    assert '  n2 -->|"× self.steps, draft"| n3' in render_mermaid(SMALL).split("\n")
    assert '  n3["draft<br>a.py:50<br>captured"]:::timed' in render_mermaid(SMALL).split("\n")
    assert "  n0 -.-> n4" in render_mermaid(named).split("\n")
    assert render_mermaid_chains(SMALL, chains(SMALL, "verify")).count("]:::") == 4


def test_what_comes_next_is_the_command_line_of_this_tool() -> None:
    steps = next_steps(SMALL, Options(target="x"), None)

    assert steps[0] == ("timing-audit", "graph", "x", "--worker", "Eagle", "--phase", "decode")
    assert steps[1] == ("timing-audit", "graph", "x", "--to", "verify")
    assert steps[-1] == ("timing-audit", "graph", "x", "--format", "json")
