"""Apply and strip on the mini engine: what it does stays the same, what was written can be taken back at any time."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from timing_audit.cli import run

ENGINE = Path(__file__).parent.parent / "fixtures/mini_sglang"
WAYS = [(detail, layout) for detail in ("stage", "function") for layout in ("lines", "block")]


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ENGINE, tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__")))


def hashes(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def served(engine: Path, worker: str, level: str = "") -> dict[str, object]:
    environment = {**os.environ, "TIMING_AUDIT": level, "TIMING_AUDIT_DIR": str(engine.parent / "run")}
    command = [sys.executable, str(engine / "run.py"), "--worker", worker, "--verify-us", "0", "--requests", "2"]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", env=environment)
    found: dict[str, object] = json.loads(done.stdout)
    return {key: found[key] for key in ("worker", "outputs", "cycles", "slots_in_use")}


@pytest.mark.parametrize(("detail", "layout"), WAYS)
def test_the_engine_gives_the_same_with_probes(engine: Path, detail: str, layout: str) -> None:
    before, files = {worker: served(engine, worker) for worker in ("eagle", "eagle_v2", "ngram")}, hashes(engine)
    command = ["apply", "--codemod", str(engine / "python"), "--detail", detail, "--layout", layout]
    assert run(command) == 0
    assert {worker: served(engine, worker, "host") for worker in before} == before
    written = hashes(engine)
    assert run(command) == 0
    assert hashes(engine) == written
    assert run(["strip", str(engine / "python")]) == 0
    assert hashes(engine) == files


@pytest.mark.parametrize(
    ("backend", "clocks"),
    [("region", ("host", "device")), ("nvtx", ("trace",)), ("record_function", ("trace",)), ("native", ("trace",))],
)
def test_a_scan_finds_the_planned_stages_timed(
    engine: Path, backend: str, clocks: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    run(["apply", "--codemod", str(engine / "python"), "--backend", backend, "--layout", "block"])
    capsys.readouterr()
    run(["scan", str(engine / "python"), "--format", "json"])
    rows = json.loads(capsys.readouterr().out)["summary"]["rows"]
    stages = [stage for row in rows for stage in row["stages"]]
    assert len(stages) > 8
    assert [stage for stage in stages for clock in clocks if not stage["timed"][clock]] == []


def test_a_traceback_names_the_same_lines(engine: Path) -> None:
    worker = engine / "python/sglang/srt/speculative/eagle_worker.py"
    source = worker.read_text().replace(
        "        spec_info.prepare_for_verify(batch)\n", "        raise ValueError(batch.bs_is_no_name)\n"
    )
    worker.write_text(source)

    def lines() -> list[str]:
        done = subprocess.run(
            [sys.executable, str(engine / "run.py")], capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode == 1
        return [line for line in done.stderr.splitlines() if line.startswith(("  File", "AttributeError"))]

    before = lines()
    run(["apply", "--codemod", str(engine / "python")])
    assert lines() == before and len(before) > 3


def test_strip_keeps_what_a_user_edited(engine: Path) -> None:
    worker = engine / "python/sglang/srt/speculative/eagle_worker.py"
    original = worker.read_text()
    for layout in ("lines", "block"):
        run(["apply", "--codemod", str(engine / "python"), "--layout", layout])
        worker.write_text("# mine\n" + worker.read_text().replace("logger = logging", "log = logger = logging"))
        assert run(["strip", str(engine / "python")]) == 0
        assert worker.read_text() == "# mine\n" + original.replace("logger = logging", "log = logger = logging")
        worker.write_text(original)


def test_another_plan_replaces_the_first(engine: Path) -> None:
    files = hashes(engine)
    run(["apply", "--codemod", str(engine / "python"), "--stage", "verify", "--layout", "block"])
    only = hashes(engine)
    run(["apply", "--codemod", str(engine / "python"), "--detail", "function"])
    run(["apply", "--codemod", str(engine / "python"), "--stage", "verify", "--layout", "block"])
    assert hashes(engine) == only
    run(["strip", str(engine / "python")])
    assert hashes(engine) == files


def test_of_two_runs_at_once_the_second_says_so(engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = hashes(engine)
    handle = os.open(engine / "python/sglang", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    assert run(["apply", "--codemod", str(engine / "python")]) == 3
    os.close(handle)
    assert "another timing-audit is writing" in capsys.readouterr().err
    assert hashes(engine) == files


def test_a_full_disk_changes_nothing(
    engine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files, calls, real = hashes(engine), [0], os.fsync

    def full(handle: int) -> None:
        calls[0] += 1
        if calls[0] == 4:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    assert run(["apply", "--codemod", str(engine / "python")]) == 3
    assert capsys.readouterr().err.count("\n") == 1
    assert hashes(engine) == files


def test_what_was_replaced_is_put_back(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, calls, real = hashes(engine), [0], os.replace

    def failing(source: str, target: str) -> None:
        calls[0] += 1
        if calls[0] == 4:
            raise OSError(5, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "replace", failing)
    assert run(["apply", "--codemod", str(engine / "python")]) == 3
    assert calls[0] > 4
    assert hashes(engine) == files


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_read_only_tree_names_the_way_out(engine: Path) -> None:
    # Not below pytest's folder: another session of pytest shuts that to all but its own user.
    with tempfile.TemporaryDirectory() as folder:
        _try_to_write(Path(shutil.copytree(engine, Path(folder, "engine"))))


def _try_to_write(engine: Path) -> None:
    files = hashes(engine)
    target = str(engine / "python")
    program = (
        "import os, sys\nfrom timing_audit.cli import run\nimport timing_audit.codemod.write\n"
        f"run(['apply', {target!r}])\n"  # loads all there is to load, which the other user may not read
        f"os.chdir('/')\nos.setuid(65534)\nsys.exit(run(['apply', '--codemod', {target!r}]))\n"
    )
    for folder in (engine, *engine.parents):
        if folder.stat().st_uid == os.geteuid() and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
    assert "--into DIR" in done.stderr
    assert hashes(engine) == files


def test_into_writes_only_the_copy(engine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = hashes(engine)
    assert run(["apply", "--codemod", str(engine / "python"), "--into", str(tmp_path / "copy")]) == 0
    assert f"PYTHONPATH={tmp_path / 'copy'} python -m sglang.launch_server" in capsys.readouterr().out
    assert hashes(engine) == files
    assert (tmp_path / "copy/sglang/_timing_audit.py").is_file()


def test_a_patch_does_what_apply_does(engine: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    other = Path(shutil.copytree(engine, tmp_path / "other"))
    assert run(["apply", "--codemod", "--dry-run", str(engine), "--layout", "block"]) == 0
    patch = capfdbinary.readouterr().out
    subprocess.run(["git", "apply", "-p1"], input=patch, cwd=engine, check=True)
    run(["apply", "--codemod", str(other), "--layout", "block"])
    assert hashes(engine) == hashes(other)


@pytest.mark.parametrize("command", [["apply", "--codemod"], ["strip"]])
def test_a_kill_leaves_files_old_or_new(engine: Path, command: list[str]) -> None:
    target = engine / "python"
    clean = hashes(engine)
    run(["apply", "--codemod", str(target), "--detail", "function"])
    probed = hashes(engine)
    more = ["--detail", "function"] if command[0] == "apply" else []
    if command[0] == "apply":
        run(["strip", str(target)])
    chance = random.Random(command[0])
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-m", "timing_audit", *command, str(target), *more, "-q"], stdout=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0.3, 2.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = hashes(engine)
        assert all(found[name] in (clean.get(name), probed.get(name)) for name in clean)
        assert run(["strip", str(target)]) == 0
        assert hashes(engine) == clean
        if command[0] == "strip":
            run(["apply", "--codemod", str(target), "--detail", "function"])


def test_a_permanent_change_is_what_a_maintainer_would_write(engine: Path) -> None:
    worker = engine / "python/sglang/srt/speculative/eagle_worker.py"
    original = worker.read_text()
    more = ["--backend", "native", "--permanent", "--stage", "verify", "--worker", "EAGLEWorker"]
    assert run(["apply", "--codemod", str(engine / "python"), *more]) == 0
    expected = original.replace(
        "import draft_tp_context, generate_token_bitmask, select_top_k_tokens\n",
        "import (\n    draft_tp_context,\n    generate_token_bitmask,\n    select_top_k_tokens,\n"
        "    spec_stage_span,\n)\n",
    ).replace(
        "            result = self.verify(batch, spec_info)\n",
        '            with spec_stage_span("verify"):\n                result = self.verify(batch, spec_info)\n',
    )
    assert worker.read_text() == expected
    assert not (engine / "python/sglang/_timing_audit.json").exists()
