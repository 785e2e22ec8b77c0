"""Generated runtime modules for tests, and a device that is not there."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from types import ModuleType
from typing import Any

from timing_audit.runs.find import read_run
from timing_audit.runs.model import Process
from timing_audit.runtime.generate import SGLANG_FIELDS, ProbeSpec, runtime_source

PROBES = (
    ProbeSpec(1, "decode/cycle", "cycle", "decode", "", "srt/scheduler.py", 10, "Scheduler.run_batch", "cycle"),
    ProbeSpec(2, "decode/draft", "stage", "decode", "draft", "srt/worker.py", 20, "Worker.forward", "draft"),
    ProbeSpec(3, "decode/verify", "stage", "decode", "verify", "srt/worker.py", 30, "Worker.forward", "verify"),
    ProbeSpec(4, "decode/verify/forward", "function", "decode", "verify", "srt/worker.py", 40, "Worker.v", "forward"),
)


def write_module(folder: Path, probes: tuple[ProbeSpec, ...] = PROBES, name: str = "probed_module") -> Path:
    """The generated module as a file."""
    path = folder / f"{name}.py"
    path.write_text(runtime_source(probes, "hash", "sglang", "0.5.9", SGLANG_FIELDS), encoding="utf-8")
    return path


def load(path: Path, name: str = "probed_module") -> ModuleType:
    """The module, imported afresh."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def processes(folder: Path) -> tuple[Process, ...]:
    """What the run folder holds; the file of this process is brought up to date before."""
    return read_run([str(folder)]).processes


def calls(process: Process) -> dict[str, int]:
    """How often each probe was called inside cycles."""
    return {part.probe.name: len(part.cycle) for part in process.parts.values()}


class FakeStream:
    """A stream: what is recorded on it happens when the device gets there."""

    def __init__(self, number: int) -> None:
        self.cuda_stream = number


class FakeDevice:
    """Time on the device, in milliseconds, moved by hand; `done` is how far it has come."""

    def __init__(self) -> None:
        self.now = 0.0
        self.done = 0.0
        self.stream = FakeStream(7)
        self.capturing = False
        self.queries = 0
        self.made = 0

    def module(self) -> ModuleType:
        """A torch module in front of this device."""
        device = self

        class Event:
            def __init__(self, enable_timing: bool = False) -> None:
                assert enable_timing
                device.made += 1
                self.at: float | None = None

            def record(self, stream: FakeStream) -> None:
                assert not device.capturing
                self.at = device.now

            def query(self) -> bool:
                assert not device.capturing
                device.queries += 1
                return self.at is not None and self.at <= device.done

            def elapsed_time(self, other: Any) -> float:
                assert self.at is not None and other.at is not None and max(self.at, other.at) <= device.done
                return float(other.at - self.at)

        class CUDAGraph:
            def capture_begin(self) -> None:
                device.capturing = True

            def capture_end(self) -> None:
                device.capturing = False

        torch = types.ModuleType("torch")
        torch.__dict__.update(__version__="9.9", version=types.SimpleNamespace(cuda="13.0"))
        cuda = types.SimpleNamespace(
            Event=Event, CUDAGraph=CUDAGraph, is_initialized=lambda: True, current_stream=lambda: device.stream,
            is_current_stream_capturing=lambda: device.capturing, get_device_name=lambda: "Fake 100",
        )  # fmt: skip
        torch.__dict__["cuda"] = cuda
        return torch


def forget(name: str = "probed_module") -> None:
    """Takes a module out of the table of modules."""
    sys.modules.pop(name, None)
