"""The command line: exit codes, what goes to which stream, where the report goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden import MINI
from timing_audit.cli import run

WORKER = """\
class EAGLEWorker:
    def forward_batch_generation(self, batch):
        return self.draft(batch)

    def draft(self, batch):
        return batch.run()
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of one worker, which calls a helper."""
    root = tmp_path_factory.mktemp("tree")
    folder = root / "sglang" / "srt" / "speculative"
    folder.mkdir(parents=True)
    (root / "sglang" / "__init__.py").write_text("")
    (folder / "eagle_worker.py").write_text(WORKER)
    return root


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(MINI.parents[1])}
    line = [sys.executable, "-m", "timing_audit", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=cwd, env=environment)


def test_the_report_goes_to_stdout_and_nothing_else(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scan", str(package), "-v"]) == 0
    out, err = capsys.readouterr()
    assert "EAGLEWorker decode: 0 of 1 stage timed; no timer in eagle_worker.py" in out
    assert err == "timing-audit: read 1 of 2 files (50.0 %), 6 lines\n"


def test_without_verbose_stderr_is_silent(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scan", str(package), "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["schema"] == 1
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["scan", "no/such/folder"], 3, "no/such/folder: no such file or folder"),
        (["scan", "--bad"], 2, "No such option"),
        (["scan", "--phase", "sleep"], 2, "decode"),
        (["scan", "--all", "--top", "3"], 2, "contradict"),
        (["nothing"], 2, "nothing"),
        (["--rules", "no/such/rules", "rules", "list"], 2, "no/such/rules: no such folder of rules"),
        (["rules", "show", "perf-couter"], 2, "no rule is called perf-couter"),
    ],
)
def test_one_line_for_what_goes_wrong(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.startswith("timing-audit: ")
    assert err.count("\n") == 1


def test_an_empty_folder_cannot_be_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scan", str(tmp_path)]) == 3
    assert capsys.readouterr().out == ""


def test_a_tree_without_entry_point_is_never_a_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    assert run(["scan", str(tmp_path)]) == 3
    assert "no entry point" in capsys.readouterr().err
    assert run(["scan", str(tmp_path), "--entry", "f"]) == 0
    capsys.readouterr()
    assert run(["scan", str(tmp_path), "--entry", "g"]) == 3


def test_an_unknown_worker_is_a_usage_error(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scan", str(package), "--worker", "NOPE"]) == 2
    assert (
        capsys.readouterr().err
        == "timing-audit: no worker NOPE in this target; it has EAGLEWorker, EAGLE, EAGLE3, NEXTN\n"
    )


def test_a_broken_file_is_skipped_and_the_rest_reported(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "sglang" / "srt" / "speculative"
    folder.mkdir(parents=True)
    (tmp_path / "sglang" / "__init__.py").write_text("")
    (folder / "eagle_worker.py").write_text("from sglang.srt.speculative.broken import help_out\n" + WORKER)
    (folder / "broken.py").write_text("def help_out(:\n")
    (folder / "eagle_worker.py").write_text(
        (folder / "eagle_worker.py").read_text().replace("batch.run()", "help_out(batch)")
    )
    assert run(["scan", str(tmp_path), "--format", "json", "--fail-under", "100"]) == 3, "3 goes before 1"
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert [entry["file"] for entry in report["skipped"]] == ["sglang/srt/speculative/broken.py"]
    assert report["skipped"][0]["reason"] == "syntax error near line 1"
    assert [row["worker"] for row in report["summary"]["rows"]] == ["EAGLEWorker", "EAGLEWorker"]
    assert err == "timing-audit: the audit is incomplete: 1 skipped\n"


def test_a_gate_fails_with_1(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scan", str(package), "--fail-under", "0"]) == 0
    capsys.readouterr()
    assert run(["scan", str(package), "--fail-under", "50"]) == 1
    assert capsys.readouterr().err == "timing-audit: 0 of 2 hot functions timed (0 %), less than 50 %\n"


def test_output_to_a_file_leaves_stdout_empty(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    report.chmod(0o640)
    assert run(["scan", str(package), "--format", "json", "-o", str(report)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(report.read_text())["schema"] == 1
    assert report.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["report.json"]


def test_output_to_what_is_no_file_goes_straight_to_it(package: Path) -> None:
    assert run(["scan", str(package), "-o", os.devnull]) == 0
    assert not Path(os.devnull).is_file()


def test_output_that_cannot_be_written(package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scan", str(package), "-o", str(tmp_path / "no" / "report")]) == 3
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


def test_colours_only_where_asked_for(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["scan", str(package)])
    assert "\033[" not in capsys.readouterr().out
    run(["--color", "scan", str(package)])
    assert "\033[1m" in capsys.readouterr().out


def test_common_options_stand_before_or_after_the_command(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["-v", "scan", str(package)], ["scan", str(package), "-v"]):
        assert run(arguments) == 0
        assert "read 1 of 2 files" in capsys.readouterr().err


def test_places_lead_from_the_current_folder(
    package: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(package.parent)
    run(["scan", package.name])
    assert f"{package.name}/sglang/srt/speculative/eagle_worker.py:3" in capsys.readouterr().out


def test_rules_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "list"]) == 0
    assert "\nverify-stage" in capsys.readouterr().out
    assert run(["rules", "list", "--format", "json"]) == 0
    assert "verify-stage" in {rule["id"] for rule in json.loads(capsys.readouterr().out)["rules"]}
    assert run(["rules", "show", "verify-stage"]) == 0
    assert "It is nearly the whole cycle on a large model." in capsys.readouterr().out


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("timing-audit 0.")
    assert run(["--help"]) == 0
    assert "scan" in capsys.readouterr().out


def test_help_imports_no_pass() -> None:
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "timing_audit", "--help"],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(MINI.parents[1])},
    ).stderr  # fmt: skip
    for heavy in ("tree_sitter", "libcst", "jinja2", "timing_audit.pipeline", "timing_audit.packs", "json"):
        assert f"| {heavy}\n" not in shown.replace("|   ", "| ").replace("  ", " "), heavy


def test_a_reader_who_has_had_enough_is_no_error(package: Path) -> None:
    scan = subprocess.Popen(
        [sys.executable, "-m", "timing_audit", "scan", str(MINI), "--format", "json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(MINI.parents[1])},
    )  # fmt: skip
    assert scan.stdout is not None
    assert scan.stderr is not None
    scan.stdout.read(1)
    scan.stdout.close()
    assert scan.stderr.read() == b""
    scan.stderr.close()
    assert scan.wait() == 0


def test_the_module_runs(package: Path) -> None:
    done = command("scan", str(package), "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.rstrip().endswith(f"next: timing-audit scan {package} --worker EAGLEWorker --phase decode --all")


def test_graph_draws_the_path_and_says_why_a_function_is_hot(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["graph", str(package), "--phase", "decode"]) == 0
    out, err = capsys.readouterr()
    assert "└─ ○ EAGLEWorker.draft  [draft]" in out
    assert err == ""
    assert run(["graph", str(package), "--to", "draft", "--phase", "decode"]) == 0
    assert "eagle_worker.py:3 → EAGLEWorker.draft" in capsys.readouterr().out


def test_graph_has_no_function_that_the_path_files_do_not_define(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["graph", str(package), "--to", "EAGLEWorker.drafd"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("timing-audit: no function EAGLEWorker.drafd in the files of the hot path")
    assert "EAGLEWorker.draft" in err


def test_graph_writes_a_file_in_any_format(package: Path, tmp_path: Path) -> None:
    for form, begins in (("json", "{"), ("mermaid", "flowchart LR"), ("text", "sglang")):
        path = tmp_path / form
        assert run(["graph", str(package), "--format", form, "-o", str(path)]) == 0
        assert path.read_text(encoding="utf-8").startswith(begins)


def test_the_frontier_is_listed_for_the_chosen_phase(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "sglang" / "srt" / "speculative"
    folder.mkdir(parents=True)
    (tmp_path / "sglang" / "__init__.py").write_text("")
    other = "\nclass Other:\n    def draft(self):\n        return 1\n"
    (folder / "eagle_worker.py").write_text(WORKER.replace("batch.run()", "self.unknown.draft()") + other)

    assert run(["scan", str(tmp_path), "--format", "json", "--phase", "decode"]) == 0
    report = json.loads(capsys.readouterr().out)

    (call,) = report["summary"]["frontier"]
    assert (call["line"], call["function"], call["text"]) == (6, "EAGLEWorker.draft", "self.unknown.draft")
    assert call["reason"] == "the receiver `self.unknown` is unknown"
    (row,) = report["summary"]["rows"]
    assert (row["resolved"], row["external"], row["frontier"]) == (1, 0, 1)
