"""`record` and `status` against an engine that lives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.unit.runs.written import steady, write
from tests.unit.runtime.probed import write_module
from timing_audit.cli import cli

ENGINE = """
import sys, time
sys.path.insert(0, {folder!r})
import probed_module as m
def one():
    with m.cycle:
        with m.draft: time.sleep(0.002)
one()
print("up", flush=True)
while True: one()
"""


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Path]:
    """The run folder of an engine that is off and has traffic."""
    write_module(tmp_path)
    folder = tmp_path / "run"
    environment = {**os.environ, "TIMING_AUDIT": "", "TIMING_AUDIT_DIR": str(folder)}
    command = [sys.executable, "-c", ENGINE.format(folder=str(tmp_path))]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as engine:
        assert engine.stdout is not None
        engine.stdout.readline()
        yield folder
        engine.kill()


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False)


def test_record_switches_a_live_engine_on_and_off(live: Path) -> None:
    result = invoke("record", str(live), "--level", "host", "--for", "800ms", "--format", "json")
    assert result.return_value == 0, result.output
    told = json.loads(result.stdout)
    assert (told["processes"], told["recorded"], told["dropped"]) == (1, 1, 0)
    assert 50 < told["cycles"] < 550
    assert (live / "control").read_text() == "off\n"
    status = json.loads(invoke("status", str(live), "--format", "json").stdout)
    (row,) = status["processes"]
    assert (row["state"], row["level"], row["cycles"]) == ("running", "off", told["cycles"])


def test_record_says_when_nothing_came(tmp_path: Path) -> None:
    write(tmp_path / "a.tarec", steady(3))
    result = invoke("record", str(tmp_path), "--for", "10ms")
    assert result.return_value == 3
    assert "nothing came" in result.output


@pytest.mark.parametrize("length", ["soon", "0s", "-1s"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, length: str) -> None:
    result = CliRunner().invoke(cli, ["record", str(tmp_path), "--for", length])
    assert result.exit_code == 2


def test_status_of_an_empty_folder_is_no_pass(tmp_path: Path) -> None:
    result = invoke("status", str(tmp_path))
    assert result.return_value == 3
    assert "no process has written" in result.output
