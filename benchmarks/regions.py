"""What one timed region costs: our runtime off, on the host's clock, and with stream time, beside others' ways.

    python benchmarks/regions.py [--rounds N] [--json]

Nanoseconds a region, the loop and the empty body taken off; the quiet tenth of interleaved rounds and the median.
Stream events are stubs: the Python part only. `cold` sweeps 32 MB between two regions, as a 20 ms cycle would.
torch, nvtx and OpenTelemetry are measured where they are installed.

Why off cannot go lower with `with`: the interpreter looks up and calls two methods, and an empty `__enter__` and
`__exit__` are all there is. Why host cannot go much lower: two clock reads are a third of it, the two calls another,
and the rest is what keeps threads and recursion apart (`get_ident`, a dict and a list) and one `extend` of the buffer.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from timing_audit.runtime.generate import ProbeSpec, runtime_source

LOOPS = 200
Loop = Callable[[], int]
now = time.perf_counter_ns


class StubEvent:
    """A timing event without a device."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.timing = enable_timing

    def record(self, stream: object) -> None:
        """Records nothing."""

    def query(self) -> bool:
        """Is done at once."""
        return True

    def elapsed_time(self, other: object) -> float:
        """A millisecond."""
        return 1.0


class Nothing:
    """The shared no-op."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def stub_torch() -> types.ModuleType:
    """As much of torch as the runtime asks for."""
    torch = types.ModuleType("torch")
    stream = types.SimpleNamespace(cuda_stream=1)
    cuda = types.SimpleNamespace(
        Event=StubEvent, is_initialized=lambda: True, is_current_stream_capturing=lambda: False,
        current_stream=lambda: stream, get_device_name=lambda: "stub",
    )  # fmt: skip
    torch.__dict__.update(cuda=cuda, __version__="stub")
    return torch


def region(level: str, folder: Path) -> Any:
    """A probe of a generated module at a level; its buffer is emptied by a cycle around each round."""
    spec = [
        ProbeSpec(1, "cycle", "cycle", "decode", "", "f.py", 1, "f", "cycle"),
        ProbeSpec(2, "stage", "stage", "decode", "draft", "f.py", 2, "f", "stage"),
    ]
    os.environ.update(TIMING_AUDIT=level, TIMING_AUDIT_DIR=str(folder / (level or "off")))
    path = folder / f"probes_{level or 'off'}.py"
    path.write_text(runtime_source(spec, "", "bench", ""), encoding="utf-8")
    found = importlib.util.spec_from_file_location(path.stem, path)
    if found is None or found.loader is None:
        raise SystemExit("the generated module cannot be imported")
    module = importlib.util.module_from_spec(found)
    real = sys.modules.get("torch")
    if level == "device":
        sys.modules["torch"] = stub_torch()
    found.loader.exec_module(module)
    with module.cycle:
        pass
    if real is not None:
        sys.modules["torch"] = real
    elif level == "device":
        del sys.modules["torch"]
    return module


def with_object(context: Any) -> Loop:
    """Times `with` on one shared object."""

    def loop() -> int:
        start = now()
        for _ in range(LOOPS):
            with context:
                pass
        return now() - start

    return loop


def with_call(make: Callable[[], Any]) -> Loop:
    """Times `with` on an object made each time."""

    def loop() -> int:
        start = now()
        for _ in range(LOOPS):
            with make():
                pass
        return now() - start

    return loop


def in_cycle(module: Any) -> Loop:
    """Times the stage's probe inside a cycle, so that its calls are drained outside the measured time."""
    inner = with_object(module.stage)

    def loop() -> int:
        with module.cycle:
            return inner()

    return loop


def empty() -> int:
    """The loop alone."""
    start = now()
    for _ in range(LOOPS):
        pass
    return now() - start


def two_reads() -> int:
    """The floor of any timer."""
    read = now
    start = now()
    for _ in range(LOOPS):
        read()
        read()
    return now() - start


@contextlib.contextmanager
def generator() -> Any:
    """What most people write."""
    start = now()
    yield
    now() - start


def others() -> dict[str, Loop]:
    """The ways of others that are installed here."""
    found: dict[str, Loop] = {"contextlib.contextmanager": with_call(generator)}
    with contextlib.suppress(ImportError):
        profiler = importlib.import_module("torch.profiler")
        found["torch record_function, no profiler"] = with_call(lambda: profiler.record_function("x"))
    with contextlib.suppress(ImportError):
        nvtx = importlib.import_module("nvtx")
        found["nvtx.annotate, no nsys"] = with_call(lambda: nvtx.annotate("x"))
    with contextlib.suppress(ImportError):
        tracer = importlib.import_module("opentelemetry.trace").get_tracer("x")
        found["OpenTelemetry, no SDK"] = with_call(lambda: tracer.start_as_current_span("x"))
    return found


def measure(loops: dict[str, Loop], rounds: int) -> dict[str, tuple[float, float]]:
    """Quiet tenth and median of interleaved rounds, in nanoseconds a region."""
    samples: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(rounds):
        base = min(empty() for _ in range(3))
        for name, loop in loops.items():
            samples[name].append((loop() - base) / LOOPS)
    return {name: (sorted(each)[len(each) // 10], sorted(each)[len(each) // 2]) for name, each in samples.items()}


def cold(module: Any, rounds: int) -> float:
    """One region after the caches were swept: the median of single shots, the clock's own cost in it."""
    sweep, samples = bytearray(32 << 20), []
    for _ in range(min(rounds, 41)):
        for at in range(0, len(sweep), 4096):
            sweep[at] = 1
        with module.cycle:
            start = now()
            with module.stage:
                pass
            samples.append(now() - start)
    return sorted(samples)[len(samples) // 2]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=201)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        modules = {level: region(level, Path(name)) for level in ("", "host", "device")}
        titles = {"": "region, off", "host": "region, host", "device": "region, host and stream (stub events)"}
        loops: dict[str, Loop] = {"two clock reads": two_reads, "shared no-op with": with_object(Nothing())}
        loops |= {titles[level]: in_cycle(module) for level, module in modules.items()}
        found = measure(loops | others(), args.rounds)
        colds = {titles[level]: cold(module, args.rounds) for level, module in modules.items()}
    off = found["region, off"][0] / found["shared no-op with"][0]
    host = found["region, host"][0] / found["two clock reads"][0]
    if args.json:
        rows = {name: {"quiet_ns": quiet, "median_ns": middle} for name, (quiet, middle) in found.items()}
        print(json.dumps({"rows": rows, "cold_ns": colds, "off_by_noop": off, "host_by_two_reads": host}, indent=1))
        return
    print(f"{'ns a region':<42}{'quiet':>9}{'median':>9}{'cold':>9}")
    for title, (quiet, middle) in found.items():
        print(f"{title:<42}{quiet:>9.0f}{middle:>9.0f}{colds.get(title, 0) or '-':>9}")
    print(f"off is {off:.2f} times a shared no-op (limit 1.3); host is {host:.1f} times two clock reads (limit 5)")


if __name__ == "__main__":
    main()
