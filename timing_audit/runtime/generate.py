"""The module that goes into the audited package: the parts of the runtime as one text, with the table of its probes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PARTS = ("ring", "control", "facts", "events", "values", "recorder", "probes")
BEGIN, END = "# The table:", "# The table ends."
HEAD = '''"""Timers put in by timing-audit; `timing-audit strip` takes them out, and this file with them."""

# Generated. Standard library only; off until TIMING_AUDIT=host|device is set, or its control file says so.
# fmt: off
# ruff: noqa
# mypy: ignore-errors

from __future__ import annotations

'''

SGLANG_FIELDS: Mapping[str, tuple[str, ...]] = {
    "mode": ("batch.forward_mode",),
    "batch_size": ("batch.reqs", "model_worker_batch.seq_lens"),
    "forward": ("self.forward_ct", "self.decode_ct"),
    "steps": ("self.draft_worker.speculative_num_steps", "self.model_worker.speculative_num_steps"),
    "graph": ("batch_result.can_run_cuda_graph", "result.can_run_cuda_graph", "can_run_cuda_graph"),
    "result": ("batch_result", "result", "ret"),
    "lens": ("accept_lens",),
    "accepted": (
        "batch_result.num_accepted_tokens", "batch_result.num_correct_drafts", "result.num_accepted_tokens",
        "result.num_correct_drafts", "num_accepted_tokens",
    ),
}  # fmt: skip
"""Where SGLang keeps what a cycle was about, seen from the caller of the worker; the first that exists counts."""


class ProbeSpec(NamedTuple):
    """One probe of the generated module; `attribute` is the name of its object there."""

    id: int
    name: str
    kind: str
    phase: str
    stage: str
    file: str
    line: int
    function: str
    attribute: str


def runtime_source(
    probes: Sequence[ProbeSpec],
    manifest_hash: str,
    engine: str,
    engine_version: str,
    fields: Mapping[str, tuple[str, ...]] = SGLANG_FIELDS,
) -> str:
    """The text of the generated module. Raises ValueError for ids or attributes that cannot be told apart."""
    parts = [_part(name) for name in PARTS]
    _check(probes, _names("".join(parts)))
    entries = "".join(f"        {tuple(probe[:8])!r},\n" for probe in probes)
    table = f"TABLE = Table(\n    {manifest_hash!r}, {engine!r}, {engine_version!r},\n    (\n{entries}    ),\n"
    table += (
        "    {\n" + "".join(f"        {name!r}: {paths!r},\n" for name, paths in sorted(fields.items())) + "    },\n)\n"
    )
    before, _, rest = parts[-1].partition(BEGIN)
    parts[-1] = f"{before}{table}{rest.partition(END)[2]}"
    objects = "".join(f"{probe.attribute} = _recorder.probe({probe.id})\n" for probe in probes)
    return HEAD + "\n\n".join(part.strip("\n") + "\n" for part in parts) + objects


def reserved_names() -> frozenset[str]:
    """The names that no probe's attribute may have."""
    return _names("".join(_part(name) for name in PARTS))


def _part(name: str) -> str:
    """One part without its docstring and without imports of the other parts."""
    text = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body[::-1]:
        if _is_dropped(node):
            del lines[node.lineno - 1 : node.end_lineno]
    return "".join(lines).replace("  # fmt: skip\n", "\n")


def _is_dropped(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or (node.module or "").startswith("timing_audit.")
    return isinstance(node, ast.Expr) and node.lineno == 1


def _names(text: str) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name for alias in node.names)
        else:
            found.update(name.id for name in ast.walk(node) if isinstance(name, ast.Name) and _is_stored(name))
    return frozenset(found)


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _check(probes: Sequence[ProbeSpec], taken: frozenset[str]) -> None:
    ids = [probe.id for probe in probes]
    attributes = [probe.attribute for probe in probes]
    if len(set(ids)) != len(ids) or any(not 0 < number < 1 << 16 for number in ids):
        raise ValueError("the ids of probes are different numbers from 1 to 65535")
    if len(set(attributes)) != len(attributes):
        raise ValueError("two probes have one attribute")
    unfit = [name for name in attributes if name in taken or not name.isidentifier()]
    if unfit:
        raise ValueError(f"not fit as a probe's attribute: {', '.join(unfit)}")
