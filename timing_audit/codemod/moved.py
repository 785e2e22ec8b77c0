"""What became of an earlier plan: which of its probes stand elsewhere now, and what was asked for and is not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from timing_audit.codemod.calls import under
from timing_audit.codemod.manifest import Manifest
from timing_audit.model.edit import CYCLE, Choice, HotCall, Probe

Key = tuple[str, str, str]


def moved(earlier: Mapping[str, Manifest], probes: Sequence[Probe], choice: Choice) -> Iterator[str]:
    """One line for each probe of an earlier apply that the new plan has on other lines, or not at all."""
    now = _lines(probes)
    for manifest in earlier.values():
        for key, before in _lines(manifest.probes).items():
            name, file, function = key
            after = now.get(key, [])
            if (
                not after
                and manifest.detail == choice.detail
                and not (choice.stages or choice.workers or choice.phases)
            ):
                yield f"{name} is no longer in {function} ({file})"
            elif after and before != after:
                yield f"{name} in {function} moved: {file}:{_written(before)} -> {_written(after)}"


def not_found(calls: Iterable[HotCall], choice: Choice) -> Iterator[str]:
    """One line for each stage that was asked for and that no call enters."""
    there = {
        CYCLE if call.kind == CYCLE else call.stage
        for call in calls
        if under(call.workers, choice.workers) and not (choice.phases and set(choice.phases).isdisjoint(call.phases))
    }
    whom = f" under {', '.join(choice.workers)}" if choice.workers else ""
    for stage in choice.stages:
        if stage not in there:
            yield f"stage {stage} was not found{whom}"


def _lines(probes: Iterable[Probe]) -> dict[Key, list[int]]:
    found: dict[Key, list[int]] = {}
    for probe in probes:
        found.setdefault((probe.name, probe.file, probe.function), []).append(probe.line)
    return {key: sorted(lines) for key, lines in found.items()}


def _written(lines: Iterable[int]) -> str:
    return ",".join(map(str, lines))
