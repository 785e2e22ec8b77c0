"""The files to parse first, found by bytes: those that may define an entry point or the engine's mode."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from timing_audit.program.engine import Engine

_LITERAL = re.compile(r"^\w*")


def seeds(
    engine: Engine, paths: Sequence[str], raw: Callable[[str], bytes], globs: tuple[str, ...]
) -> tuple[list[str], list[list[str]]]:
    """The files that may define the mode, and those that may define entry points, by kind of entry point.

    `globs` stand for the packs' entry rules where there are any; else schedulers come before workers.
    """
    modes = _pattern([b"class " + engine.modes.enum.encode()] if engine.modes else [])
    kinds = [_pattern(defined_by(wanted)) for wanted in _wanted(engine, globs)]
    others: list[str] = []
    found: list[list[str]] = [[] for _ in kinds]
    for path in paths:
        source = raw(path)
        if modes.search(source):
            others.append(path)
        for place, kind in enumerate(kinds):
            if kind.search(source):
                found[place].append(path)
    return others, found


def _wanted(engine: Engine, globs: tuple[str, ...]) -> list[list[str]]:
    if globs:
        return [list(globs)]
    return [
        [g for rule in engine.entries if rule.role == role for g in rule.functions] for role in ("scheduler", "worker")
    ]


def defined_by(globs: Iterable[str]) -> list[bytes]:
    """`def ` and the literal beginning of the last component of each glob: `def event_loop_`."""
    found = []
    for glob in globs:
        literal = _LITERAL.match(glob.rpartition(".")[2])
        found.append(b"def " + (literal[0].encode() if literal else b""))
    return found


def _pattern(words: list[bytes]) -> re.Pattern[bytes]:
    """Any of the words; without words, nothing."""
    return re.compile(b"|".join(re.escape(word) for word in words) if words else rb"(?!)")
