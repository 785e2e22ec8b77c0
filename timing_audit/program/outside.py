"""Things outside the target: how far their names are followed.

A name matters only as long as it may lead to one that a pack knows (`torch.cuda.Event().record`).
What any other call gives is one and the same value, so that sets of values stay small.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from timing_audit.model.program import External, Leaf

ANYTHING = External("()")
LONGEST = 120


class Outside:
    """Names what attributes and calls of outside things give, as far as packs may know it."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """`vocabulary` are the canonical names that packs know, `*` for any segment."""
        heads = {name[: at + 2] for name in vocabulary for at in range(len(name)) if name.startswith("()", at)}
        self._exact = frozenset(head for head in heads if "*" not in head)
        self._globs = tuple(sorted(head for head in heads if "*" in head))
        self._answers: dict[str, bool] = {}

    def attribute(self, value: External | Leaf, name: str) -> External | Leaf:
        """What its attribute of this name is."""
        full = f"{value.name}.{name}"
        return value if value is ANYTHING or value == ANYTHING or len(full) > LONGEST else type(value)(full)

    def call(self, value: External | Leaf) -> External | Leaf:
        """What calling it gives."""
        given = f"{value.name}()"
        return type(value)(given) if self._leads_on(given) else ANYTHING

    def _leads_on(self, name: str) -> bool:
        answer = self._answers.get(name)
        if answer is None:
            answer = name in self._exact or any(fnmatchcase(name, glob) for glob in self._globs)
            self._answers[name] = answer
        return answer
