"""Which part of a call graph to show: a tree that is short and holds what matters, and the way to one function."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.model.graph import CallGraph, Chain, GraphCall, GraphNode, Link, OffPath
from timing_audit.model.pack import matches_qualname
from timing_audit.model.report import CONFIDENCE, EXCLUDED

OUTSIDE_STAGES = 4
"""How much less likely a function is shown that serves no stage."""


class Branch(NamedTuple):
    """A line of the tree: a function, the calls that lead to it from the line above, and how many calls are folded.

    `is_repeat` tells a function whose own calls are shown elsewhere.
    """

    place: int
    calls: tuple[GraphCall, ...]
    branches: tuple[Branch, ...]
    folded: int
    is_repeat: bool


class Outliner:
    """Picks what to show of a graph: the way to the workers and stages first, then what has most below it."""

    def __init__(self, graph: CallGraph) -> None:
        self._nodes = graph.nodes
        self._leads = self._leading()
        self._sizes: dict[int, int] = {}

    def tree(self, root: int, most: int | None) -> Branch:
        """The tree below a root, of at most so many lines (None: all of it)."""
        chosen: dict[int, dict[int, bool]] = {root: {}}
        waiting: list[tuple[tuple[object, ...], int, int, int]] = []
        self._offer(waiting, root, 0)
        lines = 1
        while waiting and (most is None or lines < most):
            _, parent, place, depth = heapq.heappop(waiting)
            is_new = place not in chosen
            if is_new:
                chosen[place] = {}
                self._offer(waiting, place, 0 if self._is_landmark(parent, place) else depth)
            elif most is not None and not self._is_landmark(parent, place):
                continue
            chosen[parent][place] = is_new
            lines += 1
        return self._branch(root, (), chosen, is_repeat=False)

    def _offer(self, waiting: list[tuple[tuple[object, ...], int, int, int]], parent: int, depth: int) -> None:
        for place in dict.fromkeys(call.to for call in self._nodes[parent].calls):
            if place != parent:
                heapq.heappush(waiting, (self._rank(parent, place, depth), parent, place, depth + 1))

    def _rank(self, parent: int, place: int, depth: int) -> tuple[object, ...]:
        if self._is_landmark(parent, place):
            return (0, depth, 0.0, parent, place)
        if place in self._leads:
            return (1, depth, 0.0, parent, place)
        node = self._nodes[place]
        by_name = all(CONFIDENCE[call.how] == "low" for call in self._nodes[parent].calls if call.to == place)
        dull = by_name or node.coverage == EXCLUDED or not (node.stage or node.substage)
        weight = (depth + 1) ** 2 / self._size(place) * (1 if node.stage else OUTSIDE_STAGES)
        return (2, dull, weight, parent, place)

    def _is_landmark(self, parent: int, place: int) -> bool:
        """Whether a worker or a stage is entered."""
        return any(call.worker or call.stage for call in self._nodes[parent].calls if call.to == place)

    def _leading(self) -> set[int]:
        """The nodes that lead to the call of a worker or into a stage."""
        into: dict[int, list[int]] = {}
        for place, node in enumerate(self._nodes):
            for call in node.calls:
                into.setdefault(call.to, []).append(place)
        pending = [p for p, node in enumerate(self._nodes) if any(call.worker or call.stage for call in node.calls)]
        found: set[int] = set()
        while pending:
            place = pending.pop()
            if place not in found:
                found.add(place)
                pending += into.get(place, ())
        return found

    def _size(self, place: int) -> int:
        """How many nodes lie below this one, itself included."""
        if place not in self._sizes:
            self._sizes[place] = len(_below(self._nodes, place))
        return self._sizes[place]

    def _branch(
        self, place: int, calls: tuple[GraphCall, ...], chosen: dict[int, dict[int, bool]], *, is_repeat: bool
    ) -> Branch:
        shown = {} if is_repeat else chosen.get(place, {})
        below = self._nodes[place].calls
        branches = tuple(
            self._branch(to, tuple(call for call in below if call.to == to), chosen, is_repeat=not shown[to])
            for to in dict.fromkeys(call.to for call in below)
            if to in shown
        )
        folded = 0 if is_repeat else len({call.to for call in below} - shown.keys() - {place})
        return Branch(place, calls, branches, folded, is_repeat)


def _below(nodes: Sequence[GraphNode], place: int) -> set[int]:
    found, pending = {place}, [place]
    while pending:
        for call in nodes[pending.pop()].calls:
            if call.to not in found:
                found.add(call.to)
                pending.append(call.to)
    return found


def trunk(graph: CallGraph, phase: str) -> list[int]:
    """The roots of a phase; first the one that leads to most workers, nearest to where they are called."""
    roots = [place for place in graph.roots if graph.nodes[place].phase == phase]
    return sorted(roots, key=lambda root: _weight(graph, root))


def _weight(graph: CallGraph, root: int) -> tuple[int, bool, int, int]:
    below = _below(graph.nodes, root)
    entering = [(place, call.worker) for place in below for call in graph.nodes[place].calls if call.worker]
    files = {graph.nodes[place].file for place, _ in entering}
    return -len({worker for _, worker in entering}), graph.nodes[root].file not in files, -len(below), root


# The way to one function.


def chains(graph: CallGraph, wanted: str) -> list[Chain]:
    """The shortest way to each function of this name, one a phase and stage."""
    parents = _search(graph)
    found: dict[tuple[str, int, str, str], list[int]] = {}
    for place in sorted(parents, key=lambda place: _depth(parents, place)):
        node = graph.nodes[place]
        if is_called(node, wanted):
            found.setdefault((node.file, node.line, node.phase, node.stage), []).append(place)
    return [
        Chain(
            tuple(_links(graph, parents, places[0])),
            tuple(sorted({worker for place in places for worker in graph.nodes[place].workers})),
        )
        for places in found.values()
    ]


def is_called(node: GraphNode, wanted: str) -> bool:
    """Whether a name, or the last names of a qualname, means this function; a method also by the object's class."""
    last = node.function.rpartition(".")[2]
    names = (node.function, f"{node.receiver}.{last}") if node.receiver else (node.function,)
    return any(matches_qualname((wanted,), name) for name in names)


def aside(graph: CallGraph, wanted: str) -> list[OffPath]:
    """The functions of this name that are not on the hot path. Raises TimingAuditError where no function has it."""
    found = [function for function in graph.off_path if matches_qualname((wanted,), function.function)]
    if not found and not any(is_called(node, wanted) for node in graph.nodes):
        near = ", ".join(near_matches(graph, wanted)) or "none that is like it"
        raise TimingAuditError(
            f"no function {wanted} in the files of the hot path", hint=f"near: {near}", exit_code=USAGE
        )
    return found


def near_matches(graph: CallGraph, wanted: str) -> list[str]:
    """The qualnames that are most like a name."""
    qualnames = sorted({node.function for node in graph.nodes} | {function.function for function in graph.off_path})
    by_last: dict[str, list[str]] = {}
    for qualname in qualnames:
        by_last.setdefault(qualname.rpartition(".")[2], []).append(qualname)
    last = get_close_matches(wanted.rpartition(".")[2], by_last, n=3)
    found = [*get_close_matches(wanted, qualnames, n=3), *(qualname for name in last for qualname in by_last[name])]
    return list(dict.fromkeys(found))[:4]


Parents = dict[int, "tuple[int, GraphCall] | None"]


def _search(graph: CallGraph) -> Parents:
    """How every node is reached first, breadth first."""
    roots = [root for phase in sorted({node.phase for node in graph.nodes}) for root in trunk(graph, phase)]
    parents: Parents = dict.fromkeys(roots)
    queue = deque(roots)
    while queue:
        place = queue.popleft()
        for call in graph.nodes[place].calls:
            if call.to not in parents:
                parents[call.to] = (place, call)
                queue.append(call.to)
    return parents


def _steps(parents: Parents, place: int) -> Iterator[tuple[int, GraphCall | None]]:
    """From a node back to its root."""
    step = parents[place]
    while step is not None:
        yield place, step[1]
        place = step[0]
        step = parents[place]
    yield place, None


def _depth(parents: Parents, place: int) -> int:
    return sum(1 for _ in _steps(parents, place))


def _links(graph: CallGraph, parents: Parents, place: int) -> Iterable[Link]:
    return [Link(graph.nodes[at], call) for at, call in reversed(list(_steps(parents, place)))]
