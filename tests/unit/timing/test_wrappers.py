"""Inferring what times its caller's code: forms, clocks, hops, gates."""

from __future__ import annotations

from textwrap import dedent

from tests.unit.timing.harness import Audit, lines_of, pairs, timing_sites
from timing_audit.model.timing import Clock, Wrapper

HEAD = """
import contextlib
import functools
import os
import time

import torch
from contextlib import contextmanager, nullcontext, ExitStack
from torch.profiler import record_function
"""


def audit(source: str) -> Audit:
    return Audit(HEAD + dedent(source))


def forms(found: tuple[Wrapper, ...]) -> set[str]:
    return {form for wrapper in found for form in wrapper.forms}


def names(hops: tuple[str, ...]) -> list[str]:
    return [hop.partition(" ")[2] for hop in hops]


def test_a_generator_with_reads_around_its_yield() -> None:
    (wrapper,) = audit("""
        @contextmanager
        def timer(name):
            torch.cuda.synchronize()
            t = time.perf_counter()
            try:
                yield
            finally:
                torch.cuda.synchronize()
                print(name, time.perf_counter() - t)
    """).wrapper("timer")

    assert (wrapper.clock, wrapper.family, wrapper.kind) == (Clock.HOST, "performance", "wrapper_use")
    assert "context" in wrapper.forms
    assert wrapper.synced == (True, True)
    assert names(wrapper.hops) == ["timer", "time.perf_counter"]


def test_a_generator_that_times_its_own_work_is_no_wrapper() -> None:
    found = audit("""
        @contextmanager
        def scope(w):
            t = time.perf_counter()
            w.build()
            print(time.perf_counter() - t)
            yield w
    """).wrapper("scope")

    assert found == ()


def test_a_function_that_times_its_own_work_is_no_wrapper() -> None:
    found = audit("""
        def load(w):
            with record_function("load"):
                return w.load()
    """).wrapper("load")

    assert found == ()


def test_a_profiler_span_through_three_functions_with_its_gate() -> None:
    target = audit("""
        @contextmanager
        def _impl(name, record, nvtx_enabled):
            with ExitStack() as stack:
                if record:
                    stack.enter_context(torch.profiler.record_function(name))
                if nvtx_enabled:
                    stack.enter_context(torch.cuda.nvtx.range(name))
                yield

        def span(name, *, nvtx_enabled=False):
            record = torch.autograd._profiler_enabled()
            if not record and not nvtx_enabled:
                return nullcontext()
            return _impl(name, record, nvtx_enabled)

        def stage(name):
            return span(name)

        def step(w):
            with stage("draft"):
                w.draft()
            with span("verify", nvtx_enabled=True):
                w.verify()
    """)
    (stage,) = target.wrapper("stage")
    draft, verify = target.body("step").brackets

    assert stage.clock is Clock.TRACE
    assert stage.gate == "only while a torch profiler runs"
    assert names(stage.hops) == ["stage", "span", "_impl", "torch.profiler.record_function"]
    assert (draft.label, draft.gate) == ("draft", "only while a torch profiler runs")
    assert (verify.label, verify.gate) == ("verify", "")


def test_a_device_timer_three_calls_away() -> None:
    target = audit("""
        def timer_ctx(timer, category):
            if timer is None:
                return nullcontext()
            return timer.wrap(metadata={"category": category})

        class Timer:
            def __init__(self):
                self.intervals = []

            @contextmanager
            def wrap(self, metadata):
                interval = Interval.create()
                self.intervals.append(interval)
                try:
                    yield
                finally:
                    interval.end(metadata)

        class GapTimer(Timer):
            @contextmanager
            def wrap(self, metadata):
                self.pending.end(metadata)
                try:
                    yield
                finally:
                    self.pending = Interval.create()

        class Interval:
            def __init__(self, start_event):
                self.start_event = start_event
                self.end_event = None

            @staticmethod
            def create():
                start_event = torch.cuda.Event(enable_timing=True)
                start_event.record()
                return Interval(start_event=start_event)

            def end(self, metadata):
                end_event = torch.cuda.Event(enable_timing=True)
                end_event.record()
                self.end_event = end_event

            def elapsed(self):
                return self.start_event.elapsed_time(self.end_event)

        class Runner:
            def __init__(self):
                self.timer = Timer()

            def replay(self):
                ctx = self.timer.wrap(metadata={"category": "eagle_draft"}) if self.timer else nullcontext()
                with ctx:
                    self.graph.replay()

            def other(self):
                with timer_ctx(self.timer, "verify"):
                    self.graph.replay()
    """)
    (wrapper,) = target.wrapper("Timer.wrap")
    replay, other = target.body("Runner.replay"), target.body("Runner.other")

    assert (wrapper.clock, wrapper.kind) == (Clock.DEVICE, "device_timer")
    assert target.wrapper("GapTimer.wrap") == ()
    assert [kind for _, kind in timing_sites(replay)] == ["device_timer", "device_timer"]
    (bracket,) = replay.brackets
    assert bracket.start_line == replay.sites[1].line
    assert (bracket.label, bracket.gate, bracket.clock) == ("eagle_draft", "self.timer", Clock.DEVICE)
    assert names(bracket.hops) == ["Timer.wrap", "Interval.create", "event record"]
    assert other.brackets[0].gate == "self.timer is not None"
    assert other.brackets[0].label == "verify"


def test_decorators_and_their_factories() -> None:
    target = audit("""
        def timed(func):
            @functools.wraps(func)
            def wrapper(*args, **kwargs):
                t = time.time()
                try:
                    return func(*args, **kwargs)
                finally:
                    print(time.time() - t)
            return wrapper

        def spanned(name):
            def decorator(func):
                @functools.wraps(func)
                def wrapper(*args, **kwargs):
                    with record_function(name):
                        return func(*args, **kwargs)
                return wrapper
            return decorator

        bound = functools.partial(spanned, "bound")

        @timed
        def f(w):
            return w.go()

        @spanned("g")
        def g(w):
            return w.go()

        @bound()
        def h(w):
            return w.go()

        @spanned("numbers")
        def numbers(w):
            yield w.go()
    """)
    f, g, h, numbers = (target.body(name).brackets for name in ("f", "g", "h", "numbers"))

    assert forms(target.wrapper("timed")) == forms(target.wrapper("spanned")) == {"decorator"}
    assert (f[0].clock, g[0].clock, h[0].clock) == (Clock.HOST, Clock.TRACE, Clock.TRACE)
    assert (f[0].how, g[0].label) == ("decorator", "g")
    assert len(lines_of(f[0])) == 1
    assert lines_of(f[0]) == {f[0].end_line}
    assert numbers[0].covers == ()


def test_a_function_that_calls_its_argument() -> None:
    target = audit("""
        def measure(fn, *args):
            t = time.time()
            out = fn(*args)
            print(time.time() - t)
            return out

        def step(w):
            return measure(w.draft, 1)
    """)
    (bracket,) = target.body("step").brackets

    assert forms(target.wrapper("measure")) == {"callable"}
    assert bracket.covers == ((bracket.start_line, bracket.end_line),)
    assert bracket.how == "callable"


def test_start_and_stop_methods_are_told_apart_by_their_receivers() -> None:
    target = audit("""
        class Stopwatch:
            def __init__(self):
                self.begun = None
                self.total = 0.0

            def start(self):
                torch.cuda.synchronize()
                self.begun = time.time()

            def stop(self):
                torch.cuda.synchronize()
                self.total += time.time() - self.begun

        def step(w):
            outer, inner = Stopwatch(), Stopwatch()
            outer.start()
            w.a()
            inner.start()
            w.b()
            inner.stop()
            w.c()
            outer.stop()
    """)
    body = target.body("step")
    outer, inner = body.brackets

    assert len(lines_of(outer)) == 5
    assert len(lines_of(inner)) == 1
    assert lines_of(inner) < lines_of(outer)
    assert [kind for _, kind in timing_sites(body)] == ["wrapper_use"] * 4
    assert names(inner.hops) == ["Stopwatch.start", "time.time"]
    assert body.unpaired == ()


def test_a_method_that_works_and_notes_the_time_is_no_start() -> None:
    body = audit("""
        class Queue:
            def push(self, item):
                self.last = time.time()
                self.store.send(item)

            def age(self):
                return time.time() - self.last

        def step(q, w):
            queue = Queue()
            queue.push(1)
            w.go()
    """).body("step")

    assert body.sites == ()
    assert body.brackets == ()


def test_the_clock_may_be_read_by_the_caller_and_handed_on() -> None:
    target = audit("""
        class Recorder:
            def _sample(self, now):
                self.spent[self.stage] += now - self.last
                self.last = now

            def enter(self, stage):
                self._sample(time.monotonic_ns())
                self.stage = stage

            def exit(self):
                self._sample(time.monotonic_ns())

            @contextmanager
            def record(self, stage):
                self.enter(stage)
                try:
                    yield
                finally:
                    self.exit()
    """)
    (wrapper,) = target.wrapper("Recorder.record")

    assert (wrapper.clock, wrapper.family) == (Clock.HOST, "monotonic-ns")


def test_a_context_class_whose_methods_call_a_timer() -> None:
    target = audit("""
        class Watch:
            def start(self):
                self.t = time.time()

            def stop(self):
                print(time.time() - self.t)

        class Region:
            def __init__(self):
                self.watch = Watch()

            def __enter__(self):
                self.watch.start()

            def __exit__(self, *exc):
                self.watch.stop()

        def step(w):
            with Region():
                w.go()
    """)
    (wrapper,) = target.wrapper_class("Region")
    (bracket,) = target.body("step").brackets

    assert names(wrapper.hops) == ["Region", "Watch.start", "time.time"]
    assert len(lines_of(bracket)) == 1


def test_a_context_class_of_device_events() -> None:
    (wrapper,) = audit("""
        class Region:
            def __enter__(self):
                self.a = torch.cuda.Event(enable_timing=True)
                self.a.record()

            def __exit__(self, *exc):
                self.b = torch.cuda.Event(enable_timing=True)
                self.b.record()
    """).wrapper_class("Region")

    assert (wrapper.clock, wrapper.kind) == (Clock.DEVICE, "device_timer")


def test_wrappers_that_call_each_other_end() -> None:
    target = audit("""
        def a(name):
            return b(name) if name else record_function("x")

        def b(name):
            return a(name)
    """)

    assert forms(target.wrapper("a")) >= {"context"}


def test_a_gate_that_is_an_environment_flag() -> None:
    target = audit("""
        ENABLED = os.environ.get("TRACE") == "1"

        def span(name):
            if ENABLED:
                return record_function(name)
            return nullcontext()

        def step(w):
            with span("x"):
                w.go()
    """)
    body = target.body("step")

    assert body.brackets[0].gate == "ENABLED"
    assert body.sites[0].gate == "ENABLED"


def test_wrappers_across_files_and_under_another_name() -> None:
    target = Audit(
        {
            "pkg/clock.py": "from time import perf_counter as now\n",
            "pkg/timers.py": dedent("""
                from contextlib import contextmanager
                from pkg.clock import now

                @contextmanager
                def timer(name):
                    t = now()
                    yield
                    print(now() - t)
            """),
            "pkg/use.py": dedent("""
                from pkg.timers import timer as region

                def step(w):
                    with region("x"):
                        w.go()
            """),
        }
    )
    (bracket,) = target.body("step", "pkg/use.py").brackets

    assert bracket.label == "x"
    assert bracket.hops == ("pkg/timers.py:6 timer", "pkg/timers.py:7 time.perf_counter")


def test_a_walrus_context_and_one_entered_by_hand() -> None:
    body = audit("""
        def step(w):
            with (span := record_function("a")) as entered:
                w.go()
            other = record_function("b")
            other.__enter__()
            w.go()
            other.__exit__(None, None, None)
    """).body("step")

    assert [bracket.label for bracket in body.brackets] == ["a", "b"]
    assert [len(lines_of(bracket)) for bracket in body.brackets] == [1, 1]


def test_a_context_kept_in_an_attribute() -> None:
    body = audit("""
        class Worker:
            def __init__(self):
                self.span = record_function("kept")

            def step(self):
                with self.span:
                    self.go()
    """).body("Worker.step")

    (bracket,) = body.brackets
    assert bracket.clock is Clock.TRACE
    assert pairs(body) == [(bracket.start_line, bracket.end_line)]


def test_a_span_that_runs_in_one_branch_only_while_a_profiler_runs() -> None:
    (bracket,) = (
        audit("""
        def replay(self):
            if torch.autograd._profiler_enabled():
                with record_function("replay"):
                    return self.graph.replay()
            return self.graph.replay()
    """)
        .body("replay")
        .brackets
    )

    assert bracket.gate == "only while a torch profiler runs"


def test_setters_are_sites_and_pair_by_their_names() -> None:
    body = Audit(
        {
            "sglang/srt/observability/req_time_stats.py": dedent("""
                import time

                def set_time_batch(reqs, set_func, trace_only=False):
                    ts = time.perf_counter()
                    for req in reqs:
                        getattr(req.time_stats, set_func)(ts)
            """),
            "m.py": dedent("""
                from sglang.srt.observability.req_time_stats import set_time_batch

                def step(reqs, w):
                    set_time_batch(reqs, "set_spec_draft_start_time")
                    w.draft()
                    set_time_batch(reqs, "set_spec_draft_end_time")
            """),
        }
    ).body("step")

    assert timing_sites(body) == [(5, "trace_span"), (7, "trace_span")]
    assert [(b.start_line, b.end_line, b.covers, b.label) for b in body.brackets] == [(5, 7, ((6, 6),), "spec_draft")]
