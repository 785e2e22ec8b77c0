"""What a label says about the stage."""

from __future__ import annotations

import pytest

from timing_audit.evidence.labels import stage_of


@pytest.mark.parametrize(
    ("label", "stage"),
    [
        ("draft", "draft"),
        ("spec.draft_extend", "draft_extend"),
        ("DraftExtend", "draft_extend"),
        ("target_verify", "verify"),
        ("verify/forward", "verify"),
        ("eagle_draft", "draft"),
        ("draft+verify", ""),
        ("verified_tokens", ""),
        ("extend", ""),
        ("forward", ""),
    ],
)
def test_stage_of(label: str, stage: str) -> None:
    assert stage_of(label) == stage
