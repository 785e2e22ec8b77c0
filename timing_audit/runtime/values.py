"""What a cycle was about: from the locals around the root probe, and from its result a cycle late."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

from timing_audit.runtime.ring import KIND_SHIFT, TOKENS, VALUES

MOST_WAITING = 8
# The words of a VALUES record: start, what is packed below, forward count.
MODE_SHIFT, STEPS_SHIFT, GRAPH_SHIFT, SIZE_MASK = 32, 40, 48, (1 << 32) - 1
GRAPH_UNKNOWN, GRAPH_MISS, GRAPH_HIT = range(3)
Keep = Callable[[tuple[int, int, int, int]], None]


class Waiting(NamedTuple):
    """A cycle whose accepted tokens are not known on the host yet."""

    start: int
    result: Any
    """A weak reference: the engine's tensors must not live longer for us."""
    lens: Any
    ready: Any


class Values:
    """Reads the values of cycles; paths are tried in order, and what is not there is left out."""

    def __init__(self, fields: Mapping[str, tuple[str, ...]], keep: Keep) -> None:
        self.paths = {name: [path.split(".") for path in paths] for name, paths in fields.items()}
        self.keep = keep
        self.modes: list[str] = []
        self.waiting: deque[Waiting] = deque()

    def note(self, tag: int, start: int, scope: Mapping[str, Any], may_query: bool) -> None:
        """Keeps what the cycle that ends here was about."""
        if not self.paths:
            return
        size = _count(self._find("batch_size", scope))
        steps, forward = self._find("steps", scope), self._find("forward", scope)
        graph = self._find("graph", scope)
        packed = (size or 0) & SIZE_MASK
        packed |= self._mode(self._find("mode", scope)) << MODE_SHIFT
        packed |= (min(steps, 255) if isinstance(steps, int) and steps > 0 else 0) << STEPS_SHIFT
        packed |= (GRAPH_UNKNOWN if graph is None else GRAPH_HIT if graph else GRAPH_MISS) << GRAPH_SHIFT
        self.keep((tag | VALUES << KIND_SHIFT, start, packed, forward if type(forward) is int else 0))
        self.settle(may_query)
        self._await(start, size or 0, scope)

    def _find(self, name: str, scope: Mapping[str, Any]) -> Any:
        paths = self.paths.get(name, [])
        for path in paths:
            found = scope.get(path[0])
            for attribute in path[1:]:
                found = getattr(found, attribute, None)
            if found is not None:
                if path is not paths[0]:
                    self.paths[name] = [path, *(other for other in paths if other is not path)]
                return found
        return None

    def _mode(self, mode: Any) -> int:
        """The number of a mode, from 1; its name goes to the facts."""
        if mode is None:
            return 0
        name = str(getattr(mode, "name", mode))[:40]
        if name not in self.modes:
            if len(self.modes) >= 255:
                return 0
            self.modes.append(name)
        return self.modes.index(name) + 1

    def _await(self, start: int, requests: int, scope: Mapping[str, Any]) -> None:
        result = self._find("result", scope)
        lens = self._lens(result) if result is not None else None
        if isinstance(lens, (list, tuple)):
            self._tokens(start, sum(lens), len(lens))
            return
        if lens is not None:
            if len(self.waiting) >= MOST_WAITING:
                self.waiting.popleft()
            self.waiting.append(Waiting(start, weakref.ref(result), None, None))
            return
        accepted = self._find("accepted", scope)
        if type(accepted) is int and accepted >= 0:
            self._tokens(start, accepted + requests, requests)

    def _lens(self, result: Any) -> Any:
        for name in self.paths.get("lens", ()):
            found = getattr(result, name[0], None)
            if found is not None:
                return found
        return None

    def settle(self, may_query: bool) -> None:
        """Books the tokens of earlier cycles that have reached the host by now; nothing is waited for."""
        for _ in range(len(self.waiting)):
            one = self.waiting.popleft()
            fetched = one if one.lens is not None else self._fetch(one)
            if fetched is None:
                continue
            # Where the copy may not be asked for, the engine has used it itself another cycle later.
            done = fetched.ready is None or (fetched.ready.query() if may_query else fetched is one)
            if not done:
                self.waiting.append(fetched)
                continue
            counted = fetched.lens.tolist()
            self._tokens(fetched.start, sum(counted), len(counted))

    def _fetch(self, one: Waiting) -> Waiting | None:
        """The cycle with its lengths, which by now the engine has copied to the host; else None."""
        result = one.result()
        lens = self._lens(result) if result is not None else None
        if lens is None or getattr(lens, "is_cuda", True) or not hasattr(lens, "tolist"):
            return None
        return one._replace(result=None, lens=lens, ready=getattr(result, "copy_done", None))

    def _tokens(self, start: int, tokens: int, requests: int) -> None:
        self.keep((TOKENS << KIND_SHIFT, start, tokens, requests))


def _count(value: Any) -> int | None:
    if type(value) is int:
        return value
    return len(value) if hasattr(value, "__len__") else None
