"""Whatever a baseline's file or a configuration holds: it is read, or refused in one way."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import mini_report
from tests.unit.ratchet.engines import mini_baseline
from timing_audit.config.read import read_config
from timing_audit.errors import TimingAuditError
from timing_audit.model.baseline import Baseline, FunctionRecord
from timing_audit.ratchet.compare import compare
from timing_audit.ratchet.document import dump, load
from timing_audit.render.json import document

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
KEYS = ("targets", "excludes", "entries", "baseline", "probes", "checks", "apply", "select", "stages", "other")


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document, few entries of each list."""
    inner = node.items() if isinstance(node, dict) else list(enumerate(node))[:2] if isinstance(node, list) else ()
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def replaced(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with one place changed."""
    if not path:
        return value
    copy = dict(node) if isinstance(node, dict) else list(node)
    copy[path[0]] = replaced(node[path[0]], path[1:], value)
    return copy


BASELINE = json.loads(dump(mini_baseline()._replace(functions=mini_baseline().functions[-12:])))
WHOLE = document(mini_report())
SCAN = {key: WHOLE[key] for key in ("schema", "target", "functions", "summary")}


@given(st.data(), ANYTHING)
def test_a_baseline_with_anything_in_any_place(data: st.DataObject, value: object) -> None:
    text = json.dumps(replaced(BASELINE, data.draw(st.sampled_from(places(BASELINE))), value))

    with suppress(TimingAuditError):
        compare(load(text, "b.json"), mini_baseline())


@given(st.data(), ANYTHING)
def test_a_scan_with_anything_in_any_place(data: st.DataObject, value: object) -> None:
    text = json.dumps(replaced(SCAN, data.draw(st.sampled_from(places(SCAN))), value))

    with suppress(TimingAuditError):
        compare(load(text, "b.json"), mini_baseline())


@given(st.dictionaries(st.sampled_from(KEYS), SCALARS | st.lists(SCALARS, max_size=2), max_size=4), st.booleans())
def test_a_configuration_with_anything_under_any_key(values: dict[str, object], shared: bool) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]
    text = "\n".join(["[tool.timing-audit]", *lines] if shared else lines)

    with suppress(TimingAuditError):
        read_config("t.toml", text.encode("utf-8", "replace"), shared=shared)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_branches_that_change_different_functions_merge(tmp_path: Path) -> None:
    functions = mini_baseline().functions
    first, last = functions[3]._replace(coverage="direct"), functions[-3]._replace(coverage="direct")

    def write(name: str, *changed: FunctionRecord) -> Baseline:
        by_name = {record.identity: record for record in changed}
        kept = mini_baseline()._replace(functions=tuple(by_name.get(r.identity, r) for r in functions))
        (tmp_path / name).write_text(dump(kept), encoding="utf-8")
        return kept

    write("base")
    write("ours", first)
    write("theirs", last)
    both = write("both", first, last)
    merged = subprocess.run(
        ["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout

    assert merged == dump(both)
