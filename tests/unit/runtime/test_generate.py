"""The generated module: what it may be called, that it stands alone, and that it is the parts and nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.unit.runtime.probed import PROBES, write_module
from timing_audit.runtime.generate import PARTS, ProbeSpec, reserved_names, runtime_source

OLDEST_PYTHON = (3, 9)


def test_the_same_probes_give_the_same_text() -> None:
    assert runtime_source(PROBES, "h", "sglang", "1") == runtime_source(PROBES, "h", "sglang", "1")


def test_it_is_python_of_the_oldest_version_and_imports_the_standard_library_only() -> None:
    tree = ast.parse(runtime_source(PROBES, "h", "sglang", "1"), feature_version=OLDEST_PYTHON)
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {(node.module or "").split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= set(sys.stdlib_module_names)


def test_no_two_parts_define_one_name() -> None:
    names: Counter[str] = Counter()
    for part in PARTS:
        source = (Path(runtime_source.__code__.co_filename).parent / f"{part}.py").read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names[node.name] += 1
            elif isinstance(node, ast.Assign):
                targets = {
                    name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
                }
                names.update(targets)
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("attribute", ["Ring", "device", "os", "not a name", "_recorder"])
def test_an_attribute_that_is_taken_is_refused(attribute: str) -> None:
    probe = PROBES[0]._replace(attribute=attribute)
    with pytest.raises(ValueError, match="not fit"):
        runtime_source([probe], "h", "sglang", "1")


def test_ids_and_attributes_differ() -> None:
    with pytest.raises(ValueError, match="ids"):
        runtime_source([PROBES[0], PROBES[1]._replace(id=1)], "h", "e", "1")
    with pytest.raises(ValueError, match="one attribute"):
        runtime_source([PROBES[0], PROBES[1]._replace(attribute="cycle")], "h", "e", "1")
    assert "Ring" in reserved_names() and "cycle" not in reserved_names()


def test_names_with_quotes_and_other_alphabets_survive() -> None:
    probe = ProbeSpec(1, "a'\"\\\nb/Größe", "stage", "decode", "draft", "ü.py", 1, "f", "p1")
    scope: dict[str, object] = {"__name__": "x"}
    table = runtime_source([probe], "h", "sglang", "1").partition("TABLE = Table(")[2].partition("\n)\n")[0]
    exec(f"found = ({table})", scope)
    assert scope["found"][3][0][1] == probe.name  # type: ignore[index]


def test_it_works_without_site_packages(tmp_path: Path) -> None:
    write_module(tmp_path)
    code = "import sys; sys.path.insert(0, '.'); import probed_module as m\nwith m.cycle:\n    with m.draft: pass"
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True,
        env={"TIMING_AUDIT_DIR": str(tmp_path / "run")}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("timing-audit: 4 probes, level off, pid ")
    assert list((tmp_path / "run").iterdir()) == []
