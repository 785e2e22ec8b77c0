"""The tree's own way to time a named stage: a context manager that takes the stage's name."""

from __future__ import annotations

from collections.abc import Sequence

from timing_audit.model.edit import Helper
from timing_audit.model.pack import Packs, StageRule
from timing_audit.model.program import FunctionRef
from timing_audit.program.library import Unit
from timing_audit.timing.describe import Facts

CONTEXT = "context"


def find_helper(facts: Facts, files: Sequence[Unit], packs: Packs) -> Helper | None:
    """The wrapper that times most stages by their names, or whose docstring names them; None where there is none."""
    stages = {rule.stage for rule in packs.select(StageRule, "stage")}
    uses: dict[str, int] = {}
    for brackets in facts.brackets.values():
        for bracket in brackets:
            if bracket.label in stages and bracket.hops:
                uses[bracket.hops[0]] = uses.get(bracket.hops[0], 0) + 1
    found = []
    for unit in files:
        for wrapper in facts.survey.inferred(unit.path):
            ref = wrapper.ref
            if isinstance(ref, FunctionRef) and "." not in ref.qualname and _takes_a_name(facts, ref):
                named = sum(stage in wrapper.docstring for stage in stages)
                used = uses.get(f"{ref.path}:{ref.line} {ref.qualname}", 0)
                contexts = [m for m in wrapper.measures if CONTEXT in m.forms]
                if contexts and (used or named > 1):
                    found.append((-used, -named, ref, contexts[0].clock.value))
    if not found:
        return None
    _, _, ref, clock = min(found)
    return Helper(ref.path.removesuffix(".py").removesuffix("/__init__").replace("/", "."), ref.qualname, clock)


def _takes_a_name(facts: Facts, ref: FunctionRef) -> bool:
    params = facts.library.function(ref).params
    required = [param for param in params if param.default is None and not param.kind]
    return len(required) == 1 and required[0] == params[0]
