"""Measurements held in an attribute: started in one method of a class, ended in another."""

from __future__ import annotations

from collections.abc import Sequence

from timing_audit.model.timing import BodyTiming, Bracket, ClassTiming, Kept, MixedClocks, Unpaired


def class_timing(bodies: Sequence[BodyTiming]) -> ClassTiming:
    """What the methods of one class, its bases' included, measure between them.

    Such a bracket covers nothing, since nothing proves the order of the calls. A start in a private
    attribute that no method reads is unpaired; a public one may be read by anybody.
    """
    starts = [(body, start) for body in bodies for start in body.starts]
    brackets: dict[tuple[object, ...], Bracket] = {}
    mixed: dict[tuple[object, ...], MixedClocks] = {}
    for body in bodies:
        for end in body.ends:
            matching = [(origin, start) for origin, start in starts if start.place == end.place]
            for origin, start in matching:
                key = (body.function, origin.function, start.line, end.line, end.clock)
                if _one_family(start, end):
                    brackets[key] = _bracket(body, start, end)
                else:
                    mixed[key] = _mixed(body, start, end)
    return ClassTiming(tuple(brackets.values()), _unread(bodies), tuple(mixed.values()))


def _one_family(start: Kept, end: Kept) -> bool:
    return start.clock is end.clock and start.family == end.family


def _bracket(body: BodyTiming, start: Kept, end: Kept) -> Bracket:
    hops = start.hops or end.hops
    return Bracket(
        body.file, start.line, end.line, start.clock, body.function, start.place, start.rule, start.family, (),
        hops, "", "methods",
    )  # fmt: skip


def _mixed(body: BodyTiming, start: Kept, end: Kept) -> MixedClocks:
    return MixedClocks(body.file, start.line, end.line, start.family, end.family, body.function)


def _unread(bodies: Sequence[BodyTiming]) -> tuple[Unpaired, ...]:
    read = {place for body in bodies for place in body.loads} | {end.place for body in bodies for end in body.ends}
    return tuple(
        Unpaired(body.file, start.line, "start", body.function, 0, f"nothing reads the start kept in {start.place}")
        for body in bodies
        for start in body.starts
        if not start.hops and start.place not in read and _is_private(start.place)
    )


def _is_private(place: str) -> bool:
    name = place.partition(".")[2]
    return name.startswith("_") and name.isidentifier()
