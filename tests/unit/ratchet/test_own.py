"""One file by itself, with other files' wrappers from records: it shows the timers that a whole scan sees."""

from __future__ import annotations

import pytest

from tests.unit.ratchet.engines import mini_baseline
from timing_audit.model.baseline import Identity, OwnTimer, WrapperRecord
from timing_audit.packs.load import load_packs
from timing_audit.ratchet.own import OwnFile

SPAN = WrapperRecord(Identity("engine/spans.py", "span"), ("trace",), ("context", "decorator"), "DEBUG", ("short",))
METHOD = WrapperRecord(Identity("engine/timers.py", "Timer.wrap"), ("device",), ("context", "decorator"), "")
DECORATOR = WrapperRecord(Identity("engine/spans.py", "timed"), ("host",), ("decorator",), "")
CALLER = WrapperRecord(Identity("engine/spans.py", "measure"), ("host",), ("callable",), "")
BOTH = WrapperRecord(Identity("engine/spans.py", "both"), ("host", "device"), ("context", "decorator"), "")
WRAPPERS = (SPAN, METHOD, DECORATOR, CALLER, BOTH)


def timers(body: str) -> list[tuple[str, str, tuple[str, ...]]]:
    own = OwnFile("engine/worker.py", body.encode(), WRAPPERS, load_packs())
    assert own.problem is None
    found = own.timers().get(Identity("engine/worker.py", "step"), ())
    return [(timer.clock, timer.gate, timer.calls) for timer in found]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("from engine.spans import span\ndef step(w):\n    with span('draft'):\n        w.draft()\n    w.verify()\n",
         [("trace", "", ("w.draft",))]),
        ("from engine.spans import short as s\ndef step(w):\n    with s('draft'):\n        w.draft()\n",
         [("trace", "", ("w.draft",))]),
        ("def step(w):\n    with w.timer.wrap('draft'):\n        w.draft()\n", [("device", "", ("w.draft",))]),
        ("from contextlib import nullcontext\ndef step(w):\n    with w.timer.wrap('a') if w.timer else nullcontext():\n"
         "        w.draft()\n", [("device", "w.timer", ("w.draft",))]),
        ("from engine import spans\n@spans.timed('step')\ndef step(w):\n    w.draft()\n", [("host", "", ("w.draft",))]),
        ("from engine.spans import both\ndef step(w):\n    with both():\n        w.draft()\n",
         [("device", "", ("w.draft",)), ("host", "", ("w.draft",))]),
        ("from time import perf_counter as pc\ndef step(w):\n    t = pc()\n    w.draft()\n    return pc() - t\n",
         [("host", "", ("w.draft",))]),
        ("from engine.other import span\ndef step(w):\n    with span('draft'):\n        w.draft()\n", []),
    ],
)  # fmt: skip
def test_timers_of_one_file(body: str, found: list[tuple[str, str, tuple[str, ...]]]) -> None:
    assert timers(body) == found


def test_the_calls_of_a_function_are_counted_as_they_are_written() -> None:
    own = OwnFile("a.py", b"def f(w):\n    w.a(w.b())\n    w.a(1)\n", (), load_packs())

    assert own.calls() == {Identity("a.py", "f"): {"w.a": 2, "w.b": 1}}


def test_a_wrapper_of_the_file_is_read_from_it_and_not_from_the_record() -> None:
    text = b"import contextlib, time\n@contextlib.contextmanager\ndef span(name):\n"
    text += b"    t = time.perf_counter()\n    yield\n    print(time.perf_counter() - t)\n"
    own = OwnFile("engine/spans.py", text, WRAPPERS, load_packs())

    (found,) = own.wrappers().values()
    assert (found.clocks, found.gate) == (("host",), "")


def test_a_file_that_is_no_python_is_a_problem() -> None:
    problem = OwnFile("a.py", b"def f(:\n", (), load_packs()).problem

    assert problem is not None
    assert problem.reason == "syntax error near line 1"


def test_the_baseline_of_the_mini_engine_holds_the_timers_of_its_functions() -> None:
    held = {record.identity.qualname: record.timers for record in mini_baseline().functions if record.timers}

    assert held["Scheduler.run_batch"] == (
        OwnTimer("device", "", "batch", ("self.model_worker.forward_batch_generation",)),
    )
    assert held["EAGLEDraftCudaGraphRunner.replay"] == (OwnTimer("device", "timer", "eagle_draft", ("self._replay",)),)
    assert sorted(held) == [
        "EAGLEDraftCudaGraphRunner.replay", "EAGLEWorkerV2.forward_batch_generation", "Scheduler.run_batch",
        "generate_token_bitmask",
    ]  # fmt: skip
