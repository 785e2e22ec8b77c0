"""Stream time: pooled timing events on the current stream, read once they are done; never waits."""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from types import ModuleType
from typing import Any, Callable, NamedTuple

from timing_audit.runtime.ring import BEGIN_SHIFT, END_SHIFT, KIND_SHIFT, NO_OFFSET, STREAM_SPAN

MOST_EVENTS, MOST_GROUPS, MOST_STREAMS = 16384, 256, 4095


class Mark(NamedTuple):
    """An event that was recorded, and the number of the stream on which."""

    event: Any
    stream: int


class Bracket(NamedTuple):
    """A region's two marks, with its tag and its start on the host's clock, by which it is known."""

    tag: int
    start: int
    begin: Mark
    end: Mark


class Group:
    """The brackets of one cycle; the root's own is the last."""

    __slots__ = ("brackets", "root")

    def __init__(self) -> None:
        self.brackets: list[Bracket] = []
        self.root: Bracket | None = None


class Events:
    """The timing events of this process."""

    def __init__(self, torch: ModuleType, keep: Callable[[tuple[int, int, int, int]], None]) -> None:
        self.torch: Any = torch
        self.keep = keep
        self.lock = threading.Lock()
        self.captures = 0
        self.made = 0
        self.lost = 0
        self.pool: list[Any] = []
        self.streams: dict[object, Mark] = {}
        self.handles: list[str] = []
        self.open: dict[int, list[Group]] = {}
        self.done: deque[Group] = deque()
        self.before: Bracket | None = None
        self.capturing: Callable[[], bool] = self.torch.cuda.is_current_stream_capturing
        inner = getattr(torch, "_C", None)
        self.raw = getattr(inner, "_cuda_getCurrentStream", None)
        self.device = getattr(inner, "_cuda_getDevice", None)
        self._watch_captures()

    def _watch_captures(self) -> None:
        """A query by any thread breaks a capture by any other, so captures have to be known."""
        graph = getattr(self.torch.cuda, "CUDAGraph", None)
        if graph is None:
            return
        begin, end = graph.capture_begin, graph.capture_end

        @functools.wraps(begin)
        def capture_begin(this: Any, *args: Any, **kwargs: Any) -> Any:
            with self.lock:
                self.captures += 1
            try:
                return begin(this, *args, **kwargs)
            except BaseException:
                self.captures -= 1
                raise

        @functools.wraps(end)
        def capture_end(this: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return end(this, *args, **kwargs)
            finally:
                self.captures = max(0, self.captures - 1)

        graph.capture_begin, graph.capture_end = capture_begin, capture_end

    def mark(self) -> Mark | None:
        """Records an event on the current stream; None while a graph is captured."""
        if self.captures or self.capturing():
            return None
        if self.raw is None or self.device is None:
            current = self.torch.cuda.current_stream()
            key: object = current.cuda_stream
        else:
            current, key = None, self.raw(self.device())
        stream, number = self.streams.get(key) or self._stream(key, current)
        try:
            event = self.pool.pop()
        except IndexError:
            if self.made >= MOST_EVENTS:
                self.lost += 1
                return None
            self.made += 1
            event = self.torch.cuda.Event(enable_timing=True)
        event.record(stream)
        return Mark(event, number)

    def _stream(self, key: Any, current: Any) -> Mark:
        if current is None:
            number, index, kind = key
            current = self.torch.cuda.Stream(stream_id=number, device_index=index, device_type=kind)
        if len(self.handles) > MOST_STREAMS:
            raise RuntimeError("more streams than can be told apart")
        found = self.streams[key] = Mark(current, len(self.handles))
        self.handles.append(f"{getattr(current, 'cuda_stream', 0):#x}")
        return found

    def begin_cycle(self, thread: int) -> None:
        """What this thread brackets from here on belongs to a new cycle."""
        self.open.setdefault(thread, []).append(Group())

    def end_cycle(self, thread: int, root: Bracket | None) -> None:
        """The cycle is complete; `root` is None where its own marks could not be set."""
        groups = self.open.get(thread)
        if groups:
            group = groups.pop()
            group.root = root
            self._finish(group)

    def bracket(self, tag: int, start: int, begin: Mark) -> Bracket | None:
        """The bracket that ends here; None where its end could not be marked."""
        end = self.mark()
        if end is None:
            self.pool.append(begin.event)
            return None
        return Bracket(tag, start, begin, end)

    def add(self, thread: int, bracket: Bracket) -> None:
        """A bracket of the thread's cycle, or one that belongs to none."""
        groups = self.open.get(thread)
        if groups:
            groups[-1].brackets.append(bracket)
        else:
            group = Group()
            group.brackets.append(bracket)
            self._finish(group)

    def _finish(self, group: Group) -> None:
        if len(self.done) >= MOST_GROUPS:
            # Never done, as it seems: its events may be broken, so they do not go back to the pool.
            dropped = self.done.popleft()
            count = len(dropped.brackets) + (dropped.root is not None)
            self.lost += count
            self.made -= 2 * count
        self.done.append(group)

    def quiet(self) -> bool:
        """Whether nothing is being captured, as far as this process knows."""
        return not self.captures and not self.capturing()

    def resolve(self) -> None:
        """Reads the groups that the device has finished, oldest first."""
        if not self.done or not self.lock.acquire(blocking=False):
            return
        try:
            while self.done and self.quiet():
                if not _complete(self.done[0]):
                    return
                self._read(self.done.popleft())
        finally:
            self.lock.release()

    def _read(self, group: Group) -> None:
        root = group.root
        for bracket in group.brackets:
            offset = _elapsed(root.begin, bracket.begin) if root is not None else NO_OFFSET
            self._keep(bracket, offset)
            self.pool += (bracket.begin.event, bracket.end.event)
        if root is None:
            return
        before, self.before = self.before, root
        self._keep(root, _elapsed(before.begin, root.begin) if before is not None else NO_OFFSET)
        self.pool.append(root.end.event)
        if before is not None:
            self.pool.append(before.begin.event)

    def _keep(self, bracket: Bracket, offset: int) -> None:
        streams = bracket.begin.stream << BEGIN_SHIFT | bracket.end.stream << END_SHIFT
        tag = bracket.tag | STREAM_SPAN << KIND_SHIFT | streams
        self.keep((tag, bracket.start, offset, _elapsed(bracket.begin, bracket.end)))


def _complete(group: Group) -> bool:
    brackets = group.brackets if group.root is None else [group.root, *group.brackets]
    return all(
        bracket.end.event.query() and (bracket.begin.stream == bracket.end.stream or bracket.begin.event.query())
        for bracket in brackets
    )


def _elapsed(begin: Mark, end: Mark) -> int:
    """Nanoseconds; the device gives float milliseconds."""
    milliseconds: float = begin.event.elapsed_time(end.event)
    return round(milliseconds * 1e6)


def find_events(keep: Callable[[tuple[int, int, int, int]], None]) -> Events | None:
    """Timing events, if this process has a device in use. Neither imports nor initialises anything."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if torch is None or cuda is None or not cuda.is_initialized():
        return None
    return Events(torch, keep)
