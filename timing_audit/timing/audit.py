"""The timing layer as the passes above use it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from timing_audit.model.program import ClassValue, Frame, FunctionValue, Value
from timing_audit.model.syntax import Block
from timing_audit.model.timing import BodyTiming, Wrapper
from timing_audit.timing.assemble import run
from timing_audit.timing.body import Body
from timing_audit.timing.decorators import decorated
from timing_audit.timing.gates import gate_text
from timing_audit.timing.names import Names, Vocabulary
from timing_audit.timing.needles import Bindings, Needles, Words, words_of
from timing_audit.timing.bodies import NO_ROLES
from timing_audit.timing.wrappers import Wrappers


class Definition(NamedTuple):
    """A function or class of the target, its name as callers write it, and the bytes of its source."""

    value: FunctionValue | ClassValue
    name: str
    segment: bytes


# Longer functions do work of their own: none of the engine's helpers comes near.
LONGEST_HELPER = 8000


def _may_be_helper(definition: Definition) -> bool:
    """Whether a definition has the looks of a timing helper: a short function, or a class to be entered or stopped."""
    if isinstance(definition.value, ClassValue):
        return b"enter__" in definition.segment or len(definition.segment) < LONGEST_HELPER
    return len(definition.segment) < LONGEST_HELPER


class Timing:
    """Sites, brackets and wrappers of a target. First `learn`, then ask about bodies."""

    def __init__(self, names: Names, vocabulary: Vocabulary) -> None:
        self.names = names
        self.needles = Needles(vocabulary)
        self.wrappers = Wrappers(names, vocabulary, self.needles)
        self._words: dict[bytes, Words] = {}

    def learn(self, sources: Iterable[bytes], definitions: Iterable[Definition]) -> None:
        """Finds the names under which clocks and wrappers go, so that `may_time` knows them.

        Only bodies that mention a known name are looked at; wrappers found make more names known.
        """
        bindings, definitions = Bindings(sources), list(definitions)
        setters = self.needles.add({found.name for found in definitions if self._is_setter(found.value)})
        self.needles.learn_aliases(bindings, self.needles.names | setters)
        helpers = [
            (self.words(definition.segment), definition) for definition in definitions if _may_be_helper(definition)
        ]
        ready = [definition for words, definition in helpers if self.needles.may_wrap(words)]
        while ready:
            found = {definition.name for definition in ready if self.wrappers.is_timer(definition.value)}
            fresh = self.needles.add({name for name in found if not name.startswith("__")})
            fresh |= self.needles.learn_aliases(bindings, fresh)
            news = {name.encode() for name in fresh}
            ready = [definition for words, definition in helpers if not news.isdisjoint(words)]
            self.wrappers.forget([definition.value for definition in ready])

    def _is_setter(self, value: Value) -> bool:
        return isinstance(value, FunctionValue) and self.wrappers.calls.setter(value) is not None

    def words(self, segment: bytes) -> Words:
        """The words of a piece of source, each piece read once."""
        found = self._words.get(segment)
        if found is None:
            found = self._words[segment] = words_of(segment)
        return found

    def may_time(self, words: Words) -> bool:
        """Whether a body can hold a site or a bracket, by the words of its source with its decorators."""
        return self.needles.may_time(words)

    def body(self, frame: Frame, block: Block | None = None, outer: Frame | None = None) -> BodyTiming:
        """The timing of one function body, or with `block` of a module's own statements.

        `outer` is the frame around a nested function, for its decorators.
        """
        if frame.function is None:
            facts, flow = run(frame, None, block or (), self.wrappers.calls, self.wrappers, lambda: NO_ROLES)
            return Body(frame, None, facts, flow, self.wrappers).timing([])
        function = self.names.function(frame.function)
        around = outer or Frame(frame.path, None, None)
        uses = decorated(self.wrappers, around, function, self.names.body(frame.function))
        if not uses and not self.wrappers.bodies.speaks(frame):
            return BodyTiming(frame.path, frame.function)
        return Body(frame, function, *self.wrappers.bodies.ran(frame), self.wrappers).timing(uses)

    def wrapper_of(self, value: Value) -> tuple[Wrapper, ...]:
        """What a function or class times for its callers, one entry a clock; empty for one that is no wrapper."""
        inferred = self.wrappers.wrapper(value)
        if inferred is None or not isinstance(value, (FunctionValue, ClassValue)):
            return ()
        if isinstance(value, FunctionValue):
            line = self.names.function(value.ref).line
        else:
            line = self.names.class_(value.ref).line
        return tuple(
            Wrapper(
                value.ref.path, line, value.ref.qualname, inferred.forms, measure.clock, measure.family, inferred.kind,
                measure.hops, gate_text(measure.gates), inferred.synced,
            )
            for measure in inferred.measures
        )  # fmt: skip
