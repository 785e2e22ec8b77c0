"""The hot path as a Mermaid flowchart: the lines of the tree as boxes, coverage as colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from timing_audit.model.graph import CallGraph, Chain, GraphCall, GraphNode
from timing_audit.model.report import CONFIDENCE, COVERED, EXCLUDED
from timing_audit.render.graph import DECODE, loop_text
from timing_audit.render.outline import Branch, Outliner, trunk

MOST_BOXES = 60
COLORS = {
    "timed": "fill:#d6f5d6,stroke:#2e7d32,color:#000",
    "partly": "fill:#fff3cd,stroke:#b58900,color:#000",
    "untimed": "fill:#fdd,stroke:#c62828,color:#000",
    "excluded": "fill:#eee,stroke:#999,color:#000",
}


def render_mermaid(graph: CallGraph, most: int | None = MOST_BOXES) -> str:
    """The trees of all phases in one flowchart, a box for each line."""
    phases = sorted({node.phase for node in graph.nodes}, key=lambda phase: (phase != DECODE, phase))
    lines: list[str] = []
    for phase in phases:
        lines += [f"  subgraph {phase}", *_phase(graph, phase, None if most is None else most // len(phases)), "  end"]
    return _document(lines)


def render_mermaid_chains(graph: CallGraph, found: Sequence[Chain]) -> str:
    """The ways to a function in one flowchart."""
    boxes: dict[str, None] = {}
    arrows: dict[str, None] = {}
    places = {id(node): place for place, node in enumerate(graph.nodes)}
    for chain in found:
        for link in chain.links:
            boxes[_box(places[id(link.node)], link.node)] = None
        for above, link in pairwise(chain.links):
            if link.call is not None:
                arrows[_arrow(places[id(above.node)], link.call.to, (link.call,))] = None
    return _document([*boxes, *arrows])


def _document(lines: Sequence[str]) -> str:
    classes = [f"  classDef {name} {style}" for name, style in COLORS.items()]
    return "\n".join(["flowchart LR", *lines, *classes]) + "\n"


def _phase(graph: CallGraph, phase: str, most: int | None) -> Iterator[str]:
    roots = trunk(graph, phase)
    outliner = Outliner(graph)
    seen: set[int] = set()
    for root in roots if most is None else roots[:1]:
        yield from _branch(graph, outliner.tree(root, most), seen)


def _branch(graph: CallGraph, branch: Branch, seen: set[int]) -> Iterator[str]:
    if branch.place not in seen:
        seen.add(branch.place)
        yield _box(branch.place, graph.nodes[branch.place])
    for below in branch.branches:
        yield from _branch(graph, below, seen)
        yield _arrow(branch.place, below.place, below.calls)


def _box(place: int, node: GraphNode) -> str:
    about = [node.function, f"{node.file.rpartition('/')[2]}:{node.line}", *(["captured"] if node.captured else [])]
    return f'  n{place}["{"<br>".join(map(_quoted, about))}"]:::{_class(node)}'


def _arrow(start: int, end: int, calls: Sequence[GraphCall]) -> str:
    loops = dict.fromkeys(loop for call in calls for loop in call.loops)
    words = [f"× {'cycles' if loop == 'True' else loop_text(loop)}" for loop in loops]
    words += dict.fromkeys(word for call in calls for word in (call.worker, call.stage) if word)
    label = f'|"{_quoted(", ".join(words))}"|' if words else ""
    sure = any(CONFIDENCE[call.how] != "low" for call in calls)
    return f"  n{start} {'-->' if sure else '-.->'}{label} n{end}"


def _class(node: GraphNode) -> str:
    if node.coverage in COVERED:
        return "timed"
    return {"partial": "partly", EXCLUDED: "excluded"}.get(node.coverage, "untimed")


def _quoted(text: str) -> str:
    return text.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
