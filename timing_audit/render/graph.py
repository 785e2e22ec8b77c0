"""The hot path as a tree for a terminal, and why a function is hot."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from timing_audit import __version__
from timing_audit.model.graph import CallGraph, Chain, GraphCall, GraphNode, Link, OffPath
from timing_audit.model.options import Options
from timing_audit.model.report import CONFIDENCE, COVERED, EXCLUDED
from timing_audit.render.outline import Branch, Outliner, trunk
from timing_audit.render.text import BOLD, DIM, GREEN, PLAIN, RED

DECODE = "decode"
MOST_LINES = 52
MOST_CHAINS = 4
MOST_ROOTS = 4
MOST_ASIDE = 8
LONGEST_LOOP = 32
WIDEST = 78
LEVELS = ("low", "medium", "high")
RANGE = re.compile(r"range\(([^,()]*(?:\([^()]*\)[^,()]*)*)\)")
KINDS = {"call": "", "context": "with", "operator": "", "property": "property"}


class Look(NamedTuple):
    """How a graph is drawn: `most` lines of tree in all, None for everything."""

    most: int | None = MOST_LINES
    color: bool = False
    prefix: str = ""
    root: str = ""
    plain: bool = False
    """Only ASCII."""

    def paint(self, code: str, text: str) -> str:
        """The text in a colour, where colours are wanted."""
        return f"{code}{text}{PLAIN}" if self.color and text else text

    @property
    def signs(self) -> Signs:
        """The characters to draw with."""
        return ASCII if self.plain else UNICODE


class Signs(NamedTuple):
    """Characters: marks of coverage, the parts of a tree, and what stands for words."""

    timed: str
    partly: str
    untimed: str
    excluded: str
    fork: str
    last: str
    bar: str
    times: str
    again: str
    arrow: str


UNICODE = Signs("●", "◐", "○", "·", "├─ ", "└─ ", "│  ", "×", "↑", "→")
ASCII = Signs("#", "%", "o", ".", "|- ", "`- ", "|  ", "x", "^", "->")


def render_graph(graph: CallGraph, look: Look, following: Sequence[Sequence[str]] = ()) -> str:
    """The trees of all phases, decode first; what to run next."""
    return "\n".join([*_Drawing(graph, look).lines(), *_next(following)]) + "\n"


def render_chains(
    graph: CallGraph, found: Sequence[Chain], aside: Sequence[OffPath], look: Look,
    following: Sequence[Sequence[str]] = (),
) -> str:  # fmt: skip
    """How the functions of one name come to be hot, and which of them do not."""
    return "\n".join([*_Drawing(graph, look).answer(found, aside), *_next(following)]) + "\n"


def next_steps(graph: CallGraph, options: Options, to: str | None) -> tuple[tuple[str, ...], ...]:
    """What to run now: one worker's tree, then why its first untimed stage is hot, then all for a program."""
    base = ("timing-audit", "graph", *([options.target] if options.target is not None else []))
    chosen = [part for worker in options.workers for part in ("--worker", worker)]
    narrowed = [("--worker", launch.worker, "--phase", DECODE) for launch in graph.workers[:1] if not options.workers]
    entered = [
        graph.nodes[call.to].function
        for node in graph.nodes
        for call in node.calls
        if call.stage and graph.nodes[call.to].coverage not in COVERED
    ]
    why = [(*chosen, "--to", function) for function in entered[:1] if to is None]
    return (*((*base, *words) for words in (*narrowed, *why)), (*base, *chosen, "--format", "json"))


def loop_text(loop: str) -> str:
    """What a loop repeats by: `range(n)` is n."""
    counted = RANGE.fullmatch(loop)
    text = counted[1] if counted is not None else loop
    return text if len(text) <= LONGEST_LOOP else f"{text[: LONGEST_LOOP - 3]}..."


def launch_text(names: Sequence[str]) -> str:
    """What chooses a worker: `EAGLE with x`, `EAGLE3 with x` is `EAGLE/EAGLE3 with x`."""
    grouped: dict[str, list[str]] = {}
    for name in names:
        grouped.setdefault(name.partition(" with ")[2], []).append(name.partition(" with ")[0])
    return ", ".join("/".join(found) + (f" with {when}" if when else "") for when, found in grouped.items())


def _next(following: Sequence[Sequence[str]]) -> Iterator[str]:
    for command in following[:1]:
        yield ""
        yield f"next: {shlex.join(command)}"


class _Line(NamedTuple):
    lead: str
    mark: str
    color: str
    name: str
    about: str
    place: str


class _Drawing:
    def __init__(self, graph: CallGraph, look: Look) -> None:
        self._graph = graph
        self._look = look
        self._signs = look.signs
        self._receivers: dict[tuple[str, int], set[str]] = {}
        for node in graph.nodes:
            self._receivers.setdefault((node.file, node.line), set()).add(node.receiver)

    def lines(self) -> Iterator[str]:
        below = f"; files are named from {self._look.root}" if self._look.root else ""
        yield f"{self._look.paint(BOLD, self._graph.target.label)}, the hot path by timing-audit {__version__}{below}"
        phases = sorted({node.phase for node in self._graph.nodes}, key=lambda phase: (phase != DECODE, phase))
        for phase in phases:
            yield ""
            yield from self._phase(phase, self._share(phase, len(phases)))
        yield ""
        yield from self._legend()

    def _share(self, phase: str, phases: int) -> int | None:
        """Of the lines, decode takes two thirds."""
        if self._look.most is None or phases == 1:
            return self._look.most
        return self._look.most * 2 // 3 if phase == DECODE else self._look.most // 3

    def _phase(self, phase: str, most: int | None) -> Iterator[str]:
        nodes = [node for node in self._graph.nodes if node.phase == phase]
        functions = len({(node.file, node.line) for node in nodes})
        workers = ", ".join(launch.worker for launch in self._graph.workers)
        under = f" under {workers}" if workers else ""
        yield f"{self._look.paint(BOLD, phase)}: {_count(functions, 'function')}{under}"
        roots = trunk(self._graph, phase)
        outliner = Outliner(self._graph)
        drawn = roots if most is None else roots[:1]
        yield from self._aligned(line for root in drawn for line in self._branch(outliner.tree(root, most), "", "", ""))
        if len(drawn) < len(roots):
            yield from self._others([self._graph.nodes[place] for place in roots[len(drawn) :]])

    def _others(self, roots: Sequence[GraphNode]) -> Iterator[str]:
        names = [root.function for root in roots[:MOST_ROOTS]]
        more = f" and {len(roots) - MOST_ROOTS} more" if len(roots) > MOST_ROOTS else ""
        yield self._look.paint(DIM, f"also entered at {', '.join(names)}{more}")

    def _branch(self, branch: Branch, lead: str, fork: str, deeper: str) -> Iterator[_Line]:
        node = self._graph.nodes[branch.place]
        mark, color = self._mark(node)
        yield _Line(
            lead + fork, mark, color, self._name(node), ", ".join(self._about(node, branch)),
            self._place(node.file, node.line),
        )  # fmt: skip
        for below in branch.branches:
            is_last = below is branch.branches[-1]
            fork = self._signs.last if is_last else self._signs.fork
            yield from self._branch(below, lead + deeper, fork, "   " if is_last else self._signs.bar)

    def _about(self, node: GraphNode, branch: Branch) -> Iterator[str]:
        workers = {call.worker for call in branch.calls if call.worker}
        for launch in self._graph.workers:
            if launch.worker in workers:
                yield f"worker {launch_text(launch.launched_with) or launch.worker}"
        yield from dict.fromkeys(f"[{call.stage}]" for call in branch.calls if call.stage)
        if node.substage and not node.stage:
            yield node.substage
        yield from self._repeated(branch.calls)
        if node.coverage not in COVERED and node.clocks.trace in COVERED:
            yield "trace only"
        if node.captured:
            yield "captured"
        if branch.is_repeat:
            yield f"{self._signs.again} shown above"
        if branch.folded:
            yield f"+{branch.folded}"

    def _repeated(self, calls: Sequence[GraphCall]) -> Iterator[str]:
        """Loops around the call, calls at several lines, and what makes a call that is not written as one."""
        for loop in dict.fromkeys(loop for call in calls for loop in call.loops):
            yield f"{self._signs.times} {'cycles' if loop == 'True' else loop_text(loop)}"
        lines = sorted({call.line for call in calls})
        if len(lines) > 1:
            yield f"{len(lines)} calls"
        yield from (word for word in dict.fromkeys(KINDS.get(call.kind, call.kind) for call in calls) if word)
        if calls and all(CONFIDENCE[call.how] == "low" for call in calls):
            yield "by name only"

    def _mark(self, node: GraphNode) -> tuple[str, str]:
        if node.coverage in COVERED:
            return self._signs.timed, GREEN
        if node.coverage == EXCLUDED:
            return self._signs.excluded, DIM
        return (self._signs.partly, GREEN) if node.coverage == "partial" else (self._signs.untimed, RED)

    def _aligned(self, lines: Iterable[_Line]) -> Iterator[str]:
        texts = [
            (line, f"{line.lead}{line.mark} {line.name}" + (f"  {line.about}" if line.about else "")) for line in lines
        ]
        wide = min(max((len(text) for _, text in texts), default=0), WIDEST)
        for line, text in texts:
            about = f"  {self._look.paint(BOLD if '[' in line.about else '', line.about)}" if line.about else ""
            drawn = f"{line.lead}{self._look.paint(line.color, line.mark)} {line.name}{about}"
            yield f"{drawn}{' ' * (wide - len(text))}  {self._look.paint(DIM, line.place)}"

    def _legend(self) -> Iterator[str]:
        signs = self._signs
        yield self._look.paint(
            DIM,
            f"{signs.timed} timed on the host or the device, {signs.partly} in part, {signs.untimed} untimed, "
            f"{signs.excluded} not counted; [stage]: it is entered here; {signs.times}: repeated by a loop;",
        )
        yield self._look.paint(
            DIM, "captured: its Python is silent when a graph is replayed; +n: calls that are folded"
        )

    def _place(self, file: str, line: int) -> str:
        return f"{self._look.prefix}{file}:{line}"

    def _name(self, node: GraphNode) -> str:
        """The function, with the class of its object where it runs on those of several."""
        several = len(self._receivers[node.file, node.line]) > 1
        owner = node.function.rpartition(".")[0]
        inside = owner == node.receiver or owner.startswith(f"{node.receiver}.")
        return f"{node.function} on {node.receiver}" if several and node.receiver and not inside else node.function

    # Why is it hot.

    def answer(self, found: Sequence[Chain], aside: Sequence[OffPath]) -> Iterator[str]:
        shown = found if self._look.most is None else found[:MOST_CHAINS]
        for chain in shown:
            yield from [""] if chain is not shown[0] else []
            yield from self._chain(chain)
        if len(shown) < len(found):
            yield f"and {len(found) - len(shown)} more ways, with --all"
        listed = aside if self._look.most is None else aside[:MOST_ASIDE]
        for function in listed:
            place = self._place(function.file, function.line)
            yield f"{place} {function.function} is not on the hot path: {function.reason} ({function.role})"
        if len(listed) < len(aside):
            yield f"and {len(aside) - len(listed)} more that are not, with --all"

    def _chain(self, chain: Chain) -> Iterator[str]:
        node = chain.links[-1].node
        stage = f", stage {node.stage}" if node.stage else ""
        about = f"hot in {node.phase}{stage}, {_word(node)}{', also captured' if node.captured else ''}"
        yield f"{self._place(node.file, node.line)} {self._look.paint(BOLD, self._name(node))}: {about}"
        every = set(chain.workers) >= {launch.worker for launch in self._graph.workers}
        workers = "every worker" if every else ", ".join(chain.workers)
        sure = min((CONFIDENCE[link.call.how] for link in chain.links if link.call), key=LEVELS.index, default="high")
        yield f"  under {workers or 'no worker'}; the shortest way there, confidence {sure}:"
        rows = list(self._rows(chain.links))
        wide = min(max(len(left) for left, _ in rows), WIDEST)
        for left, right in rows:
            yield f"  {left:<{wide}}  {self._look.paint(DIM, right)}"

    def _rows(self, links: Sequence[Link]) -> Iterator[tuple[str, str]]:
        """Each call where it is made; the caller stands in the row above."""
        first = links[0].node
        yield f"{self._place(first.file, first.line)} {self._name(first)}", "entry point"
        for above, link in pairwise(links):
            call, node = link.call, link.node
            if call is not None:
                left = f"{self._place(above.node.file, call.line)} {self._signs.arrow} {self._name(node)}"
                entered = [f"worker {call.worker}"] if call.worker else []
                entered += [f"enters {call.stage}"] if call.stage else []
                yield left, ", ".join([call.how, *entered, *self._repeated((call,))])


def _word(node: GraphNode) -> str:
    if node.coverage in COVERED:
        return "timed"
    return {"partial": "timed in part", EXCLUDED: "not counted"}.get(node.coverage, node.coverage)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
