"""The hot path against what really ran: function entries recorded while an engine served.

The recordings are not part of the repository: `TIMING_AUDIT_TRUTH` names the folder that holds them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tracing import room_to_recurse, trace_release
from timing_audit.source.target import open_target

VERSION = "0.5.15"
WORKER = "EAGLEWorkerV2"
RECALL = 0.97
TRUTH = os.environ.get("TIMING_AUDIT_TRUTH", "")
# Behind the hot path's boundary, and what wraps functions at run time.
BEHIND = ("layers/", "models/", "hardware_backend/", "plugins/hook_registry.py")
# The files that one EAGLE cycle passes through: the recordings show all of their hot functions that this
# configuration has, so what else we say of them can be looked at.
CYCLE = ("speculative/eagle_", "speculative/base_spec_worker.py", "managers/scheduler.py", "managers/tp_worker.py")
# Why functions of those files may be hot and yet not run: EAGLE-3 with three steps and top-k 1, graphs on, one GPU,
# a few requests of one length. Anything else that is said hot and did not run is a fault.
CONFIGURATION = {
    "Scheduler.*hisparse*": "no sparse attention over host memory",
    "*._forward_batch_generation_dllm": "no diffusion model",
    "*.forward_batch_embedding": "no embedding model",
    "*._get_dsa_*": "no model with sparse attention",
    "Scheduler.abort_request": "no request was aborted",
    "Scheduler.stash_chunked_request": "no prompt came in chunks",
    "TpModelWorker.forward_batch_generation.sample_batch_func": "no grammar, which delays sampling",
    "*WorkerV2.apply_runtime_state": "steps do not adapt",
    "*._build_trivial_verify_input": "steps do not adapt down to none",
    "*._stub_skipped_draft_extend": "steps do not adapt down to none",
    "*_tree_path": "top-k 1",
    "*._compact_accept_to_front": "top-k 1",
    "duplicate_prefix_tail_to_draft_branches": "top-k 1",
    "organize_draft_results": "top-k 1",
    "sgl_build_tree_kernel_triton": "the kernel of another device",
    "verify_tree_greedy_triton": "the kernel of another device",
    "*._postprocess_output_to_raw_bs": "no batch was smaller than its graph",
    "*.generate_attn_arg_prefill": "attention inside a graph does not ask",
    "*.get_spec_adjust_token_coefficient": "one GPU: no data parallel attention",
    "EagleDraftInput.create_idle_input": "one GPU: no idle batch",
    "EagleDraftInput.filter_batch": "no request ended before the others",
    "EagleDraftInput.merge_batch": "no request joined a running batch",
    "BaseTpWorker.war_fastpath_runner": "that of another worker",
    "BaseSpecWorker.*": "that of another worker",
}


class Ran(NamedTuple):
    """A function by file and qualname, `<locals>` removed."""

    file: str
    qualname: str


@cache
def recordings() -> tuple[Path, ...]:
    folder = Path(TRUTH) / VERSION / "ran"
    return tuple(sorted(folder.glob("*.json"))) if TRUTH else ()


def ran_in_decode(recording: Path) -> set[Ran]:
    """The functions that ran at least every other decode cycle."""
    data = json.loads(recording.read_text())
    rows = [row for phase in ("decode", "loop") for row in data[phase]]
    return {
        Ran(file, plain(qualname)) for file, qualname, _, count in rows
        if count >= data["decode_cycles"] / 2 and is_in_scope(file) and is_function(qualname)
    }  # fmt: skip


def ever_ran(recording: Path) -> set[Ran]:
    """Whatever ran at any time: the event loops are entered once, and captured code before the first batch."""
    data = json.loads(recording.read_text())
    rows = [row for phase in ("startup", "prefill", "decode", "loop", "other") for row in data[phase]]
    return {Ran(file, plain(qualname)) for file, qualname, *_ in rows}


def plain(qualname: str) -> str:
    return qualname.replace(".<locals>", "")


def is_in_scope(file: str) -> bool:
    inside = file.removeprefix("sglang/srt/")
    return inside != file and not inside.startswith(BEHIND)


def is_function(qualname: str) -> bool:
    """Whether a row is of a `def`: modules, lambdas, comprehensions and class bodies run too."""
    last = qualname.rpartition(".")[2]
    return not last.startswith("<") and not (last[:1].isupper() and "_" not in last)


def listed(title: str, functions: Iterable[Ran]) -> str:
    return "\n".join([title, *(f"  {file}: {qualname}" for file, qualname in sorted(functions))])


@pytest.mark.long
@pytest.mark.network
@pytest.mark.skipif(not recordings(), reason="TIMING_AUDIT_TRUTH names no folder with recordings")
def test_what_ran_in_every_decode_cycle_is_said_to_be_hot(release: Callable[[str], Path]) -> None:
    with room_to_recurse():
        path = trace_release(open_target(str(release(VERSION))))
    under: dict[Ran, set[str]] = {}
    for state in path.steps:
        if state.frame.function is not None and state.phase.name == "decode":
            function = Ran(state.frame.path, state.frame.function.qualname)
            under.setdefault(function, set()).update(path.workers[state])
    hot = {function for function, workers in under.items() if not workers.isdisjoint(("", WORKER))}
    ran = set[Ran]().union(*map(ran_in_decode, recordings()))
    ever = set[Ran]().union(*map(ever_ran, recordings()))
    missed, found = ran - hot, ran & hot
    of_cycle = {function for function in hot if function.file.removeprefix("sglang/srt/").startswith(CYCLE)}
    idle = of_cycle - ever
    unexplained = {f for f in idle if not any(fnmatchcase(f.qualname, glob) for glob in CONFIGURATION)}
    print(listed(f"missed {len(missed)} of {len(ran)}, recall {len(found) / len(ran):.3f}", missed))  # noqa: T201 the figures are what one runs this test for
    share = len(of_cycle - idle) / len(of_cycle)
    print(listed(f"of {len(of_cycle)} in the cycle's files {len(idle)} did not run, precision {share:.3f}", idle))  # noqa: T201 the figures are what one runs this test for
    assert len(found) / len(ran) >= RECALL, listed("missed:", missed)
    assert not unexplained, listed("said hot, did not run, and no configuration explains it:", unexplained)
