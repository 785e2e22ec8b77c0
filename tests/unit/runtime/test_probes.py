"""Probes at work: levels, exceptions, recursion, threads, forks, the control file, and the device's clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.unit.runtime.probed import FakeDevice, FakeStream, calls, forget, load, processes, write_module
from timing_audit.runs.model import NOT_MEASURED, Process

Engine = Callable[..., ModuleType]


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def engine(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Imports the generated module under a level, as an engine would."""
    path = write_module(tmp_path)
    monkeypatch.setenv("TIMING_AUDIT_DIR", str(run_dir))
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    def start(level: str = "", device: FakeDevice | None = None) -> ModuleType:
        monkeypatch.setenv("TIMING_AUDIT", level)
        if device is not None:
            monkeypatch.setitem(sys.modules, "torch", device.module())
        return load(path)

    yield start
    forget()


class Scheduler:
    tp_rank = 3
    server_args = SimpleNamespace(
        tp_size=4, speculative_num_steps=5, api_key="sesame", hf_token="x", model_path="m", odd=object()
    )
    forward_ct = 0


def cycle(module: ModuleType, scheduler: Scheduler, draft_ns: int = 0) -> None:
    self = scheduler
    self.forward_ct += 1
    with module.cycle:
        with module.draft:
            spin(draft_ns)
        with module.verify, module.forward:
            pass


def spin(nanoseconds: int) -> None:
    end = time.perf_counter_ns() + nanoseconds
    while time.perf_counter_ns() < end:
        pass


def only(run_dir: Path, module: ModuleType) -> Process:
    module._recorder.drain(time.perf_counter_ns())
    (process,) = processes(run_dir)
    return process


def test_off_writes_nothing_and_says_so_once(engine: Engine, run_dir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    module = engine()
    for _ in range(3):
        cycle(module, Scheduler())
    told = capfd.readouterr().err
    assert told == f"timing-audit: 4 probes, level off, pid {os.getpid()}, TP3, control {run_dir}/control\n"
    assert list(run_dir.iterdir()) == []


def test_host_level_keeps_every_cycle_with_its_parts(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    for _ in range(50):
        cycle(module, Scheduler(), draft_ns=50_000)
    process = only(run_dir, module)
    assert len(process.cycles.host) == 50
    assert calls(process) == {"decode/draft": 50, "decode/verify": 50, "decode/verify/forward": 50}
    draft, verify, forward = (process.parts[number] for number in (2, 3, 4))
    assert min(draft.host) >= 50_000
    assert (draft.parent, verify.parent, forward.parent) == (0, 0, 3)
    assert all(whole >= part for whole, part in zip(process.cycles.host, draft.host, strict=True))
    assert process.counters.errors == process.counters.lost == 0


def test_the_header_holds_arguments_by_allowlist_and_no_secret(
    engine: Engine, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    monkeypatch.setenv("SGLANG_API_TOKEN", "sesame")
    monkeypatch.setenv("HOME_ALONE", "1")
    module = engine("host")
    cycle(module, Scheduler())
    header = only(run_dir, module).header
    assert header.server == {"model_path": "m", "speculative_num_steps": 5, "tp_size": 4}
    assert header.environment["NCCL_ALGO"] == "Ring"
    assert not {"SGLANG_API_TOKEN", "HOME_ALONE"} & set(header.environment)
    assert (header.role, dict(header.ranks)) == ("scheduler", {"tp": 3})
    file = next(run_dir.glob("*.tarec"))
    assert file.name.endswith(f"-scheduler-tp3-{os.getpid()}.tarec")
    assert b"sesame" not in file.read_bytes()


def test_an_exception_passes_and_is_counted(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    error = KeyError("x")
    for _ in range(2):
        with pytest.raises(KeyError) as caught, module.cycle, module.draft:
            raise error
        assert caught.value is error
    process = only(run_dir, module)
    assert (process.cycles.raised, process.parts[2].raised) == (2, 2)


def test_recursion_pairs_the_innermost_first(engine: Engine, run_dir: Path) -> None:
    module = engine("host")

    def deeper(depth: int) -> None:
        with module.draft:
            if depth:
                deeper(depth - 1)

    with module.cycle:
        deeper(3)
    part = only(run_dir, module).parts[2]
    assert len(part.host) == 4
    assert list(part.host) == sorted(part.host, reverse=True)  # by start, outermost first
    assert part.parent == 0


def test_a_cycle_inside_a_cycle_is_a_part_of_it(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    for _ in range(3):
        with module.cycle, module.draft, module.cycle, module.verify:
            pass
    process = only(run_dir, module)
    assert len(process.cycles.host) == 3
    assert calls(process) == {"decode/draft": 3, "decode/cycle": 3, "decode/verify": 3}


def test_a_generator_left_open_disturbs_no_other_region(engine: Engine, run_dir: Path) -> None:
    module = engine("host")

    def numbers() -> Iterator[int]:
        with module.forward:
            yield 1
            yield 2

    with module.cycle:
        with module.verify:
            running = numbers()
            next(running)
        with module.draft:
            next(running, None)
            assert list(running) == []
    process = only(run_dir, module)
    assert calls(process) == {"decode/verify": 1, "decode/verify/forward": 1, "decode/draft": 1}
    assert process.counters.errors == process.counters.lost == 0


def test_threads_do_not_mix(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    cycle(module, Scheduler())
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for _ in range(200):
            with module.cycle, module.draft:
                time.sleep(0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process = only(run_dir, module)
    assert len(process.cycles.host) == 801
    assert calls(process)["decode/draft"] == 801
    assert process.counters.lost == 0


def test_a_region_that_ends_in_another_thread_is_lost_and_harmless(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    cycle(module, Scheduler())
    module.draft.__enter__()
    thread = threading.Thread(target=module.draft.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert only(run_dir, module).counters.lost == 1


def test_the_control_file_switches_on_and_off_again(engine: Engine, run_dir: Path) -> None:
    module = engine()
    scheduler = Scheduler()
    cycle(module, scheduler)
    (run_dir / "control").write_text("host 300ms\n")
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        cycle(module, scheduler)
        time.sleep(0.005)
    assert module._recorder.level == 0
    process = only(run_dir, module)
    assert 20 <= len(process.cycles.host) <= 110  # 300 ms of 5 ms cycles, seen a quarter of a second late at either end
    assert set(process.cycles.window) == {1}


@pytest.mark.parametrize("text", ["", "on", "device for ever", "host -3s", "\0\xff", "host 5 parsecs"])
def test_an_unclear_order_changes_nothing(engine: Engine, run_dir: Path, text: str) -> None:
    module = engine("host")
    cycle(module, Scheduler())
    (run_dir / "control").write_text(text, encoding="utf-8")
    module._recorder.poll_at = 0
    cycle(module, Scheduler())
    assert (module._recorder.level, module._recorder.errors) == (1, 0)


def test_an_order_from_before_the_start_counts_from_when_it_was_written(engine: Engine, run_dir: Path) -> None:
    run_dir.mkdir()
    control = run_dir / "control"
    control.write_text("host 30s")
    os.utime(control, (time.time() - 40, time.time() - 40))
    module = engine()
    cycle(module, Scheduler())
    assert module._recorder.level == 0
    os.utime(control, (time.time() - 10, time.time() - 10))
    later = engine()
    cycle(later, Scheduler())
    assert later._recorder.level == 1
    assert 15e9 < later._recorder.until - time.perf_counter_ns() < 21e9


def test_an_error_of_ours_never_reaches_the_engine(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    cycle(module, Scheduler())

    def broken(*_: object) -> None:
        raise OSError("disk on fire")

    module._recorder.drain = broken
    module._recorder.drain_at = 0
    for _ in range(150):
        cycle(module, Scheduler())
    assert module._recorder.errors == 100  # then it gave up
    assert type(module.draft) is module.Region


def test_a_full_disk_makes_the_ring_go_round(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    cycle(module, Scheduler())
    module._recorder.drain(time.perf_counter_ns())
    ring = module._recorder.ring

    def full(start: int, end: int) -> None:
        raise OSError(28, "No space left on device")

    ring._allocate = full
    ring.append([2, 0, 5, 6] * 200_000)
    process = only(run_dir, module)
    assert ring.wrapped and ring.committed >= 200_000
    assert process.counters.overwritten == ring.committed - ring.allocated


FORKING = """
import os, sys
sys.path.insert(0, {folder!r})
import probed_module as m
def cycles(count):
    for _ in range(count):
        with m.cycle:
            with m.draft: pass
cycles(10)
m._recorder.drain(0)
with m.cycle:
    pid = os.fork()
if pid == 0:
    cycles(7)
    m._recorder.drain(0)
    os._exit(0)
os.waitpid(pid, 0)
"""


def test_a_forked_child_has_its_own_file(tmp_path: Path, run_dir: Path) -> None:
    write_module(tmp_path)
    environment = {**os.environ, "TIMING_AUDIT": "host", "TIMING_AUDIT_DIR": str(run_dir)}
    code = FORKING.format(folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr.count("timing-audit: 4 probes, level host") == 2
    assert sorted(len(process.cycles.host) for process in processes(run_dir)) == [7, 11]
    assert all(process.counters.errors == 0 for process in processes(run_dir))


KILLED = """
import sys, time
sys.path.insert(0, {folder!r})
import probed_module as m
def spin(s):
    end = time.perf_counter() + s
    while time.perf_counter() < end: pass
for number in range(10**6):
    with m.cycle:
        with m.draft: spin(0.001)
    sys.stdout.write("%d\\n" % (number + 1)); sys.stdout.flush()
"""


def test_a_killed_process_leaves_all_but_the_last_cycles(tmp_path: Path, run_dir: Path) -> None:
    write_module(tmp_path)
    environment = {**os.environ, "TIMING_AUDIT": "host", "TIMING_AUDIT_DIR": str(run_dir)}
    command = [sys.executable, "-c", KILLED.format(folder=str(tmp_path))]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 300:
                process.send_signal(signal.SIGKILL)
                break
        finished = 300 + len(process.stdout.read().split())
    (read,) = processes(run_dir)
    assert finished - 8 <= len(read.cycles.host) <= finished + 1
    assert read.faults == ()


# The device's clock.


def stream_cycle(module: ModuleType, device: FakeDevice, draft: float, verify: float) -> None:
    with module.cycle:
        device.now += 0.5
        with module.draft:
            device.now += draft
        device.now += 0.25
        with module.verify:
            device.now += verify
        device.now += 0.125


def test_stream_time_is_read_late_and_exactly(engine: Engine, run_dir: Path) -> None:
    device = FakeDevice()
    module = engine("device", device)
    for number in range(20):
        stream_cycle(module, device, draft=1.0, verify=8.0 + number)
        device.done = device.now - 30  # the device is behind the host
    device.done = device.now
    module._recorder.events.resolve()
    process = only(run_dir, module)
    assert list(process.parts[2].stream) == [1_000_000] * 20
    assert list(process.parts[3].stream) == [round((8 + number) * 1e6) for number in range(20)]
    assert list(process.parts[2].offset) == [500_000] * 20
    assert list(process.parts[3].offset) == [1_750_000] * 20
    assert list(process.cycles.stream) == [round((9.875 + number) * 1e6) for number in range(20)]
    # From root to root: each cycle begins where the one before has ended.
    assert list(process.cycles.step)[1:] == list(process.cycles.stream)[:-1]
    assert process.counters.errors == process.counters.lost == 0


def test_events_are_pooled(engine: Engine) -> None:
    device = FakeDevice()
    module = engine("device", device)
    for _ in range(200):
        stream_cycle(module, device, 1, 1)
        device.done = device.now
    assert device.made <= 14  # two cycles of three pairs, and the root of the one before


def test_a_device_that_never_answers_costs_bounded_memory(engine: Engine, run_dir: Path) -> None:
    device = FakeDevice()
    device.done = -1.0
    module = engine("device", device)
    for _ in range(1000):
        stream_cycle(module, device, 1, 1)
    assert len(module._recorder.events.done) == 256
    process = only(run_dir, module)
    assert set(process.cycles.stream) == {NOT_MEASURED}
    assert process.counters.lost == 3 * (1000 - 256)


def test_nothing_is_recorded_or_asked_during_a_capture(engine: Engine, run_dir: Path) -> None:
    device = FakeDevice()
    module = engine("device", device)
    stream_cycle(module, device, 1, 1)
    device.done = device.now
    graph = sys.modules["torch"].cuda.CUDAGraph()
    before = device.queries
    graph.capture_begin()
    for _ in range(5):
        stream_cycle(module, device, 1, 1)  # the fake device asserts that nobody touches it
    # Another thread's stream is not capturing: only the count of captures knows.
    device.capturing = False
    stream_cycle(module, device, 1, 1)
    assert device.queries == before
    graph.capture_end()
    stream_cycle(module, device, 1, 1)
    device.done = device.now
    module._recorder.events.resolve()
    process = only(run_dir, module)
    assert [value != NOT_MEASURED for value in process.cycles.stream] == [True, *[False] * 6, True]
    assert process.counters.errors == 0


def test_a_region_whose_ends_lie_on_two_streams_has_no_stream_time(engine: Engine, run_dir: Path) -> None:
    device = FakeDevice()
    module = engine("device", device)
    for _ in range(3):
        with module.cycle:
            with module.draft:
                device.now += 1
                device.stream = FakeStream(9)
            device.stream = FakeStream(7)
    device.done = device.now
    module._recorder.events.resolve()
    part = only(run_dir, module).parts[2]
    assert list(part.stream) == [NOT_MEASURED] * 3
    assert part.across == 3


def test_a_device_error_is_counted_and_host_times_stay(engine: Engine, run_dir: Path) -> None:
    device = FakeDevice()
    module = engine("device", device)
    stream_cycle(module, device, 1, 1)

    def refuse(self: object, stream: object) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    sys.modules["torch"].cuda.Event.record = refuse
    stream_cycle(module, device, 1, 1)
    process = only(run_dir, module)
    assert len(process.cycles.host) == 2
    assert module._recorder.errors > 0


def test_device_level_without_a_device_is_host_level(engine: Engine, run_dir: Path) -> None:
    module = engine("device")
    cycle(module, Scheduler())
    process = only(run_dir, module)
    assert len(process.cycles.host) == 1
    assert type(module.draft) is module.HostRegion


# What a cycle was about.


class Result:
    def __init__(self, lens: object) -> None:
        self.accept_lens = lens
        self.can_run_cuda_graph = True
        self.copy_done: object = None


class Tensor:
    def __init__(self, values: list[int], is_cuda: bool) -> None:
        self.values = values
        self.is_cuda = is_cuda

    def tolist(self) -> list[int]:
        assert not self.is_cuda, "this would wait for the device"
        return self.values


def run_batch(module: ModuleType, scheduler: Scheduler, result: Result, requests: int, mode: str) -> Result:
    self = scheduler
    self.forward_ct += 1
    batch = SimpleNamespace(reqs=[None] * requests, forward_mode=SimpleNamespace(name=mode))
    with module.cycle:
        batch_result = result
    assert batch.reqs is not None
    return batch_result


def test_values_of_a_cycle_are_kept(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    scheduler = Scheduler()
    run_batch(module, scheduler, Result([3, 2]), 2, "DECODE")
    run_batch(module, scheduler, Result(None), 4, "EXTEND")
    run_batch(module, scheduler, Result(None), 0, "IDLE")
    cycles = only(run_dir, module).cycles
    assert list(cycles.size) == [2, 4, 0]
    assert list(cycles.phase) == [0, 1, 2]
    assert list(cycles.forward) == [1, 2, 3]
    assert list(cycles.graph) == [2, 2, 2]
    assert list(zip(cycles.tokens, cycles.requests, strict=True)) == [(5, 2), (NOT_MEASURED, 0), (NOT_MEASURED, 0)]


def test_accepted_tokens_are_joined_a_cycle_late_without_waiting(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    scheduler = Scheduler()
    kept = []
    for number in range(6):
        result = Result(Tensor([number, 1], is_cuda=True))
        kept.append(run_batch(module, scheduler, result, 2, "DECODE"))
        result.accept_lens = Tensor([number, 1], is_cuda=False)  # the engine copies it after the cycle
    cycles = only(run_dir, module).cycles
    assert list(cycles.tokens)[:5] == [1, 2, 3, 4, 5]
    assert cycles.tokens[5] == NOT_MEASURED


def test_results_are_not_kept_alive(engine: Engine, run_dir: Path) -> None:
    module = engine("host")
    for _ in range(5):
        run_batch(module, Scheduler(), Result(Tensor([1], is_cuda=True)), 1, "DECODE")
    cycles = only(run_dir, module).cycles
    assert set(cycles.tokens) == {NOT_MEASURED}
