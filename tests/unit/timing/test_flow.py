"""Pairing clock reads by data flow inside one body."""

from __future__ import annotations

from textwrap import dedent

from tests.unit.timing.harness import Audit, lines_of, pairs
from timing_audit.model.timing import BodyTiming


def body_of(source: str) -> BodyTiming:
    """The timing of the function `f`, whose file starts with `import time` on line 1."""
    return Audit("import time\n" + dedent(source).lstrip()).body("f")


def faults(body: BodyTiming) -> list[tuple[int, str]]:
    return [(fault.line, fault.kind) for fault in body.unpaired]


def test_both_names_bound_to_reads() -> None:
    body = body_of("""
        def f(w):
            t = time.time()
            w.go()
            now = time.time()
            w.log(now - t)
    """)

    assert pairs(body) == [(3, 5)]
    assert body.brackets[0].covers == ((4, 4),)


def test_a_start_in_a_dict_is_found_by_its_key() -> None:
    body = body_of("""
        def f(w):
            starts = {}
            starts["a"] = time.time()
            starts["b"] = time.time()
            w.go()
            return time.time() - starts["a"], time.time() - starts["b"]
    """)

    assert pairs(body) == [(4, 7), (5, 7)]


def test_a_start_in_a_dict_display() -> None:
    body = body_of("""
        def f(w):
            starts = {"a": time.time(), "b": 0}
            w.go()
            return time.time() - starts["a"]
    """)

    assert pairs(body) == [(3, 5)]


def test_starts_appended_to_a_list_and_popped() -> None:
    body = body_of("""
        def f(w, xs):
            stack = []
            for x in xs:
                stack.append(time.perf_counter())
                w.go(x)
                w.log(time.perf_counter() - stack.pop())
    """)

    assert pairs(body) == [(5, 7)]
    assert body.brackets[0].covers == ((6, 6),)


def test_starts_in_tuples() -> None:
    body = body_of("""
        def f(w):
            a, b = time.time(), 7
            w.go()
            pair = (time.time(), "x")
            w.go()
            c, name = pair
            return time.time() - a, time.time() - c
    """)

    assert pairs(body) == [(3, 8), (5, 8)]


def test_a_start_in_an_attribute_of_the_same_body() -> None:
    body = body_of("""
        def f(w):
            w.t0 = time.time()
            w.go()
            w.spent = time.time() - w.t0
    """)

    assert pairs(body) == [(3, 5)]


def test_try_finally_closes_every_way_out() -> None:
    body = body_of("""
        def f(w):
            t = time.time()
            try:
                if w.empty:
                    return None
                return w.go()
            finally:
                w.log(time.time() - t)
    """)

    assert pairs(body) == [(3, 9)]
    assert body.brackets[0].covers == ((5, 7),)
    assert faults(body) == []


def test_an_exit_that_ends_the_measurement_itself_skips_nothing() -> None:
    body = body_of("""
        def f(w):
            t = time.time()
            if w.empty:
                w.log(time.time() - t)
                return None
            w.go()
            w.log(time.time() - t)
    """)

    assert pairs(body) == [(3, 8), (3, 5)]
    assert faults(body) == []


def test_a_raise_that_is_caught_here_skips_nothing() -> None:
    body = body_of("""
        def f(w):
            t = time.time()
            try:
                raise ValueError
            except ValueError:
                w.go()
            w.log(time.time() - t)
    """)

    assert faults(body) == []


def test_a_break_skips_the_end_of_what_the_loop_started() -> None:
    body = body_of("""
        def f(w):
            for x in w.xs:
                t = time.time()
                if w.go(x):
                    break
                w.log(time.time() - t)
    """)

    assert pairs(body) == [(4, 7)]
    assert faults(body) == [(6, "exit")]


def test_a_break_does_not_skip_what_started_before_the_loop() -> None:
    body = body_of("""
        def f(w):
            t = time.time()
            for x in w.xs:
                if w.go(x):
                    break
            w.log(time.time() - t)
    """)

    assert faults(body) == []


def test_either_branch_may_have_started() -> None:
    body = body_of("""
        def f(w):
            if w.warm:
                t = time.time()
            else:
                w.warm_up()
                t = time.time()
            w.go()
            return time.time() - t
    """)

    assert pairs(body) == [(4, 9), (7, 9)]
    assert [bracket.covers for bracket in body.brackets] == [((8, 8),), ((8, 8),)]
    assert [bracket.gate for bracket in body.brackets] == ["w.warm", ""]


def test_a_start_that_nothing_uses() -> None:
    body = body_of("""
        def f(w):
            t = time.time()
            w.go()
    """)

    assert pairs(body) == []
    assert faults(body) == [(3, "start")]


def test_instants_that_go_elsewhere_are_no_starts() -> None:
    body = body_of("""
        def f(w, req):
            now = time.time()
            w.log(now)
            req.received = time.time()
            w.seed(int(time.time()))
            stamp = time.time()
            return stamp
    """)

    assert [site.line for site in body.sites] == [3, 5, 6, 7]
    assert pairs(body) == []
    assert faults(body) == []


def test_what_is_left_of_a_deadline_is_no_duration() -> None:
    body = body_of("""
        def f(w):
            deadline = time.monotonic() + 5
            while w.busy():
                w.wait(deadline - time.monotonic())
    """)

    assert pairs(body) == []
    assert faults(body) == []


def test_a_difference_that_is_only_compared_is_a_deadline() -> None:
    body = body_of("""
        def f(w):
            start = time.monotonic()
            while time.monotonic() - start < 5:
                w.go()
    """)

    assert pairs(body) == []
    assert faults(body) == []


def test_a_compared_difference_that_is_kept_is_a_duration() -> None:
    body = body_of("""
        def f(w):
            start = time.monotonic()
            w.go()
            if (spent := time.monotonic() - start) > 5:
                w.log(spent)
    """)

    assert pairs(body) == [(3, 5)]


def test_two_clocks_in_one_difference() -> None:
    body = body_of("""
        def f(w):
            t = time.time()
            w.go()
            return time.perf_counter() - t
    """)

    (mixed,) = body.mixed
    assert (mixed.start_line, mixed.start_family, mixed.end_line, mixed.end_family) == (3, "wall", 5, "performance")
    assert pairs(body) == []


def test_a_clock_handed_in_as_a_default_and_kept_in_an_attribute() -> None:
    target = Audit(
        dedent("""
        import time

        class Meter:
            def __init__(self, clock=time.monotonic):
                self._clock = clock

            def f(self, w):
                t = self._clock()
                w.go()
                return self._clock() - t
        """)
    )

    body = target.body("Meter.f")
    assert pairs(body) == [(9, 11)]
    assert body.brackets[0].family == "monotonic"


def test_a_parameter_named_like_the_module_is_not_the_module() -> None:
    body = body_of("""
        def f(w, time):
            t = time.time()
            w.go()
            return time.time() - t
    """)

    assert body.sites == ()


def test_a_start_used_by_a_nested_function_is_not_lonely() -> None:
    body = body_of("""
        def f(w):
            t = time.time()

            def done():
                return time.time() - t

            w.later(done)
    """)

    assert faults(body) == []


def test_nested_loops_and_reuse_of_a_name() -> None:
    body = body_of("""
        def f(w):
            for x in w.xs:
                t = time.time()
                for y in x:
                    w.go(y)
                w.log(time.time() - t)
                t = time.time()
                w.flush()
                w.log(time.time() - t)
    """)

    assert pairs(body) == [(4, 7), (8, 10)]
    assert lines_of(body.brackets[0]) == {5, 6}


def test_a_conditional_sync_closes_a_timer_too() -> None:
    body = Audit(
        dedent("""
        import time
        import torch

        def f(w):
            t = time.time()
            w.go()
            if w.cuda:
                torch.cuda.synchronize()
            return time.time() - t
        """)
    ).body("f")

    assert body.brackets[0].covers == ((7, 7),)
    assert body.brackets[0].synced == (False, True)


def test_a_module_is_a_body_too() -> None:
    target = Audit("import time\nt = time.time()\nimport heavy\nprint(time.time() - t)\n")
    unit = target.library.unit("m.py")
    assert unit is not None
    body = target.timing.body(target.module_frame("m.py"), unit.outline.body)

    assert pairs(body) == [(2, 4)]
