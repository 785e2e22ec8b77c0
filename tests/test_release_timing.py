"""The timing layer on released sources of the engine: to the line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.unit.timing.harness import Audit, pairs, timing_sites

pytestmark = pytest.mark.network
SPECULATIVE = "sglang/srt/speculative/"


def audit(wheel: Path, *paths: str) -> Audit:
    with ZipFile(wheel) as archive:
        return Audit({path: archive.read(path).decode() for path in paths})


def test_the_two_timers_of_the_story(release: Callable[[str], Path]) -> None:
    path = SPECULATIVE + "eagle_worker.py"
    target = audit(release("0.5.9"), path)

    timed = [body for body in target.bodies(path) if body.brackets]

    assert [(body.function and body.function.qualname, pairs(body)) for body in timed] == [
        ("EAGLEWorker.init_cuda_graphs", [(246, 256), (261, 271)])
    ]
    assert timing_sites(target.body("EAGLEWorker.forward_batch_generation", path)) == []


def test_the_grammar_mask(release: Callable[[str], Path]) -> None:
    path = SPECULATIVE + "spec_utils.py"
    body = audit(release("0.5.9"), path).body("generate_token_bitmask", path)

    assert pairs(body) == [(668, 679)]
    assert body.brackets[0].covers == ((669, 678),)


def test_the_stage_span_down_to_its_primitive(release: Callable[[str], Path]) -> None:
    spec, worker = SPECULATIVE + "spec_utils.py", SPECULATIVE + "eagle_worker_v2.py"
    target = audit(release("0.5.15"), spec, worker, "sglang/srt/utils/nvtx_utils.py")
    (wrapper,) = target.wrapper("spec_stage_span", spec)
    spans = target.body("EAGLEWorkerV2.forward_batch_generation", worker).brackets

    assert wrapper.gate == "only while a torch profiler runs"
    assert [hop.partition(" ")[2] for hop in wrapper.hops] == [
        "spec_stage_span", "profile_range", "_profile_range_impl", "torch.profiler.record_function",
    ]  # fmt: skip
    assert [(span.start_line, span.label) for span in spans] == [
        (1197, "draft_extend"), (1239, "draft"), (1260, "draft_extend"),
    ]  # fmt: skip


def test_the_device_timer_around_a_replay(release: Callable[[str], Path]) -> None:
    runner = SPECULATIVE + "eagle_draft_cuda_graph_runner.py"
    target = audit(release("0.5.15"), runner, "sglang/srt/utils/device_timer.py")
    body = target.body("EAGLEDraftCudaGraphRunner.execute", runner)

    assert timing_sites(body) == [(641, "device_timer"), (645, "device_timer")]
    assert [(bracket.label, bracket.covers) for bracket in body.brackets] == [("eagle_draft", ((646, 646),))]
    assert target.wrapper("GapTimer.wrap", "sglang/srt/utils/device_timer.py") == ()
