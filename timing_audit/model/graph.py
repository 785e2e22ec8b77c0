"""The hot path as a graph: which function calls which, where, how often, and how sure that is."""

from __future__ import annotations

from typing import NamedTuple

from timing_audit.model.report import Clocks, Target


class Launch(NamedTuple):
    """A worker and the names that choose it."""

    worker: str
    launched_with: tuple[str, ...]


class GraphCall(NamedTuple):
    """A call in the body of a node; `to` is the place of the called node in the list of all nodes.

    `loops` are what the call is repeated by. `worker` is the worker that it enters, `stage` the stage; empty where
    it enters none.
    """

    to: int
    line: int
    column: int
    text: str
    how: str
    kind: str
    loops: tuple[str, ...]
    worker: str
    stage: str


class GraphNode(NamedTuple):
    """A function on the hot path in one phase and stage, on objects of the class `receiver`."""

    file: str
    line: int
    function: str
    receiver: str
    phase: str
    stage: str
    substage: str
    workers: tuple[str, ...]
    captured: bool
    coverage: str
    clocks: Clocks
    calls: tuple[GraphCall, ...]


class OffPath(NamedTuple):
    """A function of the audited files that is not on the hot path, and why."""

    file: str
    line: int
    function: str
    role: str
    reason: str


class CallGraph(NamedTuple):
    """All nodes; `roots` are the places of the entry points."""

    target: Target
    workers: tuple[Launch, ...]
    roots: tuple[int, ...]
    nodes: tuple[GraphNode, ...]
    off_path: tuple[OffPath, ...]
    incomplete: int
    """How many files could not be read."""


class Link(NamedTuple):
    """A step of a chain: the node, and the call that leads to it (none for an entry point)."""

    node: GraphNode
    call: GraphCall | None


class Chain(NamedTuple):
    """The shortest way to a function in one phase; `workers` run it."""

    links: tuple[Link, ...]
    workers: tuple[str, ...]
