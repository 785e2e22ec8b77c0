"""What a breaker did to trees with timers in them: nothing is lost, and nothing is left that cannot run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from timing_audit.cli import run

WORKER = """import os


class Worker:
    def forward_batch_generation(self, b):
        out = self.draft(b)
        return out

    def draft(self, b):
        return b
"""
APPLY = ("apply", "--codemod", "--entry", "*forward_batch_generation", "--detail", "function")
OWN = "_timing_audit.py"


def package(folder: Path, *names: str) -> Path:
    made = folder / "pkg"
    made.mkdir()
    (made / "__init__.py").write_text("", encoding="utf-8")
    for name in names:
        (made / name).write_text(WORKER, encoding="utf-8")
    return made


def change(file: Path, old: str, new: str) -> str:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    return file.read_text(encoding="utf-8")


def test_strip_of_a_part_leaves_the_rest_able_to_run(tmp_path: Path) -> None:
    made = package(tmp_path, "one.py", "two.py")
    assert run([*APPLY, str(made)]) == 0
    assert run(["strip", str(made / "one.py")]) == 0
    assert (made / "one.py").read_text(encoding="utf-8") == WORKER
    code = "import pkg.two; assert pkg.two.Worker().forward_batch_generation(1) == 1"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert run(["strip", str(made)]) == 0
    assert sorted(path.name for path in made.glob("*.*")) == ["__init__.py", "one.py", "two.py"]


EDITS = {
    "an item behind the probe": ("out = self.draft(b)  #", "pass  #"),
    "a statement on the line of the import": ("_timing  # timing: probe 0", "_timing; MINE = 1  # timing: probe 0"),
    "a comment behind the mark": ("# timing: probe 1", "# timing: probe 1  # noqa"),
    "the mark of the import taken out": ("  # timing: probe 0", ""),
    "all marks taken out": ("# timing: probe", "# probe"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_kept_or_the_file_is_left_alone(edit: str, tmp_path: Path) -> None:
    """Either the probes are out and the edit is there, or nothing of the file has changed and it still runs."""
    made = package(tmp_path, "one.py")
    assert run([*APPLY, str(made)]) == 0
    file = made / "one.py"
    before = change(file, *EDITS[edit])
    code = run(["strip", str(made)])
    after = file.read_text(encoding="utf-8")
    if code == 3:
        assert after == before
        assert (made / OWN).exists()
    else:
        assert code == 0
        assert "_timing" not in after
    assert ("MINE = 1" in before) == ("MINE = 1" in after)
    subprocess.run([sys.executable, "-c", "import pkg.one; pkg.one.Worker().forward_batch_generation(1)"], cwd=tmp_path,
                   check="pass" not in EDITS[edit][1])  # fmt: skip


def test_a_check_does_not_pass_over_what_is_stuck(tmp_path: Path) -> None:
    made = package(tmp_path, "one.py")
    assert run([*APPLY, str(made)]) == 0
    change(made / "one.py", "    def draft(self, b):", "    def draft(self, b:")
    assert run(["strip", "--check", str(made)]) == 3
    assert run(["strip", str(made)]) == 3


def test_a_module_of_the_users_is_not_overwritten(tmp_path: Path) -> None:
    made = package(tmp_path, "one.py")
    (made / OWN).write_text('MY = "precious"\n', encoding="utf-8")
    assert run([*APPLY, str(made)]) == 3
    assert run(["strip", str(made)]) == 0
    assert (made / OWN).read_text(encoding="utf-8") == 'MY = "precious"\n'
    assert (made / "one.py").read_text(encoding="utf-8") == WORKER


def test_the_import_comes_before_anything_that_it_times_can_run(tmp_path: Path) -> None:
    file = tmp_path / "worker.py"
    functions = (
        "\n\ndef draft(b):\n    return b\n\n\ndef forward_batch_generation(b):\n    out = draft(b)\n    return out\n"
    )
    file.write_text(f"import os  # noqa\n{functions}\n\nforward_batch_generation(1)\nimport sys\n", encoding="utf-8")
    assert run([*APPLY, str(file)]) == 0
    assert "# timing: probe 1" in file.read_text(encoding="utf-8")
    subprocess.run([sys.executable, str(file)], check=True)


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_nothing_is_written_through_a_link_that_somebody_planted(tmp_path: Path) -> None:
    made, victim = package(tmp_path, "one.py"), tmp_path / "victim"
    victim.write_text("keep", encoding="utf-8")
    for number in range(6):
        (made / f".one.py{number}.timing-audit.part").symlink_to(victim)
    run([*APPLY, str(made)])
    assert victim.read_text(encoding="utf-8") == "keep"
    assert not (made / "one.py").is_symlink()


def test_brackets_without_end_are_refused(tmp_path: Path) -> None:
    made = package(tmp_path, "one.py")
    file = made / "one.py"
    change(file, "self.draft(b)", f"self.draft({'(' * 3000}b{')' * 3000})")
    before = file.read_text(encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "timing_audit", *APPLY, str(made)], check=False,
                          env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])})  # fmt: skip
    assert done.returncode in (0, 3)
    assert file.read_text(encoding="utf-8") == before


def test_a_file_that_is_gone_since_is_no_error(tmp_path: Path) -> None:
    made = package(tmp_path, "one.py", "two.py")
    assert run([*APPLY, str(made)]) == 0
    (made / "two.py").unlink()
    assert run([*APPLY, str(made)]) == 0
    assert run(["strip", str(made)]) == 0


def test_a_part_of_a_package_with_timers_elsewhere_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = package(tmp_path, "one.py", "two.py")
    assert run([*APPLY, str(made)]) == 0
    before = (made / "two.py").read_text(encoding="utf-8")
    assert run([*APPLY, str(made / "one.py")]) == 2
    assert "holds timers and is no part of the target" in capsys.readouterr().err
    assert (made / "two.py").read_text(encoding="utf-8") == before


def test_a_broken_file_among_good_ones_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = package(tmp_path, "one.py", "two.py")
    (made / "two.py").write_text(WORKER + "def x(:\n", encoding="utf-8")
    assert run([*APPLY, str(made)]) == 3
    assert "pkg/two.py: skipped, no timer in it: syntax error near line 11" in capsys.readouterr().err
    assert "# timing: probe 1" in (made / "one.py").read_text(encoding="utf-8")
