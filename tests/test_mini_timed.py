"""The mini engine with probes put in by hand, in four processes of which one is killed: what the report then says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from timing_audit.cli import cli
from timing_audit.runs.control import look
from timing_audit.runs.find import read_run
from timing_audit.runs.model import DECODE, PREFILL
from timing_audit.runtime.generate import ProbeSpec, runtime_source

MINI = Path(__file__).resolve().parents[1] / "fixtures" / "mini_sglang"
WORKER = "speculative/eagle_worker.py"
PROBES = (
    ProbeSpec(1, "cycle", "cycle", "decode", "", "srt/managers/scheduler.py", 107, "Scheduler.run_batch", "cycle"),
    ProbeSpec(2, "decode/draft", "stage", "decode", "draft", WORKER, 70, "EAGLEWorker", "draft"),
    ProbeSpec(3, "decode/verify", "stage", "decode", "verify", WORKER, 72, "EAGLEWorker", "verify"),
    ProbeSpec(4, "decode/extend", "stage", "decode", "draft_extend", WORKER, 75, "EAGLEWorker", "extend"),
    ProbeSpec(5, "prefill/target", "stage", "prefill", "target_extend", WORKER, 64, "EAGLEWorker", "target_extend"),
)
IMPORT = "from sglang import _probes"
EDITS = {
    "managers/scheduler.py": {
        "            with self.record_forward_metrics(batch):\n                result = self.model_worker.forward_batch_generation(batch)\n": (  # noqa: E501
            "            with self.record_forward_metrics(batch), _probes.cycle:\n"
            "                result = self.model_worker.forward_batch_generation(batch)\n"
        ),
    },
    WORKER: {
        "            result = self.forward_target_extend(batch)\n": (
            "            with _probes.target_extend: result = self.forward_target_extend(batch)\n"
        ),
        "                spec_info = self.draft(batch)\n": (
            "                with _probes.draft: spec_info = self.draft(batch)\n"
        ),
        "            result = self.verify(batch, spec_info)\n": (
            "            with _probes.verify: result = self.verify(batch, spec_info)\n"
        ),
        "                    self.forward_draft_extend_after_decode(batch)\n": (
            "                    with _probes.extend: self.forward_draft_extend_after_decode(batch)\n"
        ),
    },
}
Timed = tuple[Path, list[dict[str, object]], int]
LOAD = ["--worker", "eagle", "--requests", "4", "--steps", "3"]
# Long enough that the Python around the toy models is less than a percent.
TIMES = ["--draft-us", "800", "--verify-us", "38400", "--extend-us", "800"]


@pytest.fixture(scope="module")
def timed_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the engine's package with five probes in it."""
    root = tmp_path_factory.mktemp("engine") / "python"
    shutil.copytree(MINI / "python", root, ignore=shutil.ignore_patterns("__pycache__"))
    for name, edits in EDITS.items():
        path = root / "sglang" / "srt" / name
        text = path.read_text()
        for old, new in edits.items():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path.write_text(
            text.replace("from __future__ import annotations\n", f"from __future__ import annotations\n{IMPORT}\n", 1)
        )
    source = runtime_source(PROBES, "by hand", "sglang", "mini")
    (root / "sglang" / "_probes.py").write_text(source)
    return root


def start(root: Path, run_dir: Path, arguments: Sequence[str]) -> subprocess.Popen[str]:
    command = [sys.executable, str(MINI / "run.py"), "--package-root", str(root), *LOAD, *TIMES, *arguments]
    environment = {**os.environ, "TIMING_AUDIT": "host", "TIMING_AUDIT_DIR": str(run_dir), "TIMING_AUDIT_LAUNCH": "one"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[dict[str, dict[str, dict[str, dict[str, float]]]], str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out), err


@pytest.fixture(scope="module")
def run(timed_engine: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]], int]:
    """Three engines to their end, one after the other so that they do not share processors; one killed on its way."""
    run_dir = tmp_path_factory.mktemp("run")
    results: list[dict[str, object]] = []
    for seed in range(3):
        result, told = finish(start(timed_engine, run_dir, ["--tokens", "64", "--seed", str(seed)]))
        assert "timing-audit: 5 probes, level host" in told
        results.append(result)  # type: ignore[arg-type]
    with start(timed_engine, run_dir, ["--tokens", "100000"]) as killed:
        while not any(live.pid == killed.pid and live.cycles >= 20 for live in look(str(run_dir))):
            assert killed.poll() is None
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    return run_dir, results, killed.pid


def test_each_process_has_its_file_and_the_killed_one_its_cycles(
    run: Timed,
) -> None:
    run_dir, results, killed = run
    by_pid = {process.header.pid: process for process in read_run([str(run_dir)]).processes}
    assert len(by_pid) == 4
    assert by_pid[killed].faults == ()
    assert len(by_pid[killed].cycles.start) >= 20
    ended = sorted(list(one.cycles.phase).count(DECODE) for pid, one in by_pid.items() if pid != killed)
    assert ended == sorted(int(str(result["cycles"])) for result in results)
    assert all(list(one.cycles.phase).count(PREFILL) == 1 for one in by_pid.values())
    assert all(one.counters.errors == one.counters.lost == 0 for one in by_pid.values())


def test_shares_agree_with_the_engines_own_ledger(run: Timed) -> None:
    run_dir, results, killed = run
    processes = read_run([str(run_dir)]).processes
    timed = dict.fromkeys(("draft", "verify", "draft_extend"), 0)
    booked = dict.fromkeys(timed, 0.0)
    for process in processes:
        if process.header.pid == killed:
            continue
        for part in process.parts.values():
            if part.probe.stage in timed:
                timed[part.probe.stage] += sum(part.host)
    for result in results:
        for stage in booked:
            booked[stage] += result["ledger"]["decode"][stage]["measured_s"]  # type: ignore[index]
    for stage, seconds in booked.items():
        assert timed[stage] / sum(timed.values()) == pytest.approx(seconds / sum(booked.values()), abs=0.01), stage


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exception is None, result.output
    return result.stdout


def test_the_verdict_tells_the_story(run: Timed) -> None:
    report = json.loads(invoke("report", str(run[0]), "--format", "json"))
    rows = {row["name"]: row for row in report["rows"]}
    # 38.4 of 38.4 + 2 * 0.8 + 0.8 milliseconds is 94 %, less what the engine itself and a busy machine need.
    assert 0.8 < rows["target verify"]["host_share"]["value"] < 0.95
    assert report["verdict"].startswith("target verify is ")
    assert report["tokens_per_cycle"] > 1.5
    assert report["worker"] == "EAGLEWorker"
    outer = [row["host_share"]["value"] for row in report["rows"] if row["depth"] == 1]
    assert sum(outer) == pytest.approx(1, abs=1e-4)
    text = invoke("report", str(run[0]))
    assert "Verdict: target verify is " in text
    assert len(text.splitlines()) < 40


def test_the_engine_decodes_the_same_with_probes(timed_engine: Path, tmp_path: Path) -> None:
    plain, _ = finish(start(MINI / "python", tmp_path, ["--tokens", "12"]))
    timed, _ = finish(start(timed_engine, tmp_path, ["--tokens", "12"]))
    assert plain["outputs"] == timed["outputs"]
