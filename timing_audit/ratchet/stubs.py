"""Wrappers that a baseline knows, as small modules: a file that uses them can be read without their own."""

from __future__ import annotations

from collections.abc import Iterable

from timing_audit.model.baseline import WrapperRecord
from timing_audit.model.pack import CallRule, Pack, Packs
from timing_audit.model.timing import Clock

HOME = "timing_audit_baseline"
"""The module of the stubs' primitives; no engine has one of this name."""

CONTEXT, DECORATOR, CALLABLE = "context", "decorator", "callable"


def with_primitives(packs: Packs) -> Packs:
    """The packs and, for each clock class, a span that the stubs are made of."""
    rules = tuple(
        CallRule(
            f"baseline-{clock.value}", "span", "A wrapper that the baseline knows.", "", (), HOME, HOME, 1,
            calls=(f"{HOME}.{clock.value}",), clock=clock, site="device_timer" if clock is Clock.DEVICE else "",
        )
        for clock in Clock
    )  # fmt: skip
    return Packs((*packs.packs, Pack(HOME, HOME, rules)))


def stubs(wrappers: Iterable[WrapperRecord]) -> dict[str, bytes]:
    """A module for every file that defines wrappers."""
    by_file: dict[str, list[WrapperRecord]] = {}
    for record in wrappers:
        by_file.setdefault(record.identity.file, []).append(record)
    return {file: _module(records).encode() for file, records in by_file.items()}


def _module(records: list[WrapperRecord]) -> str:
    free = [record for record in records if "." not in record.identity.qualname]
    methods: dict[str, list[WrapperRecord]] = {}
    for record in records:
        owner = record.identity.qualname.rpartition(".")[0]
        if owner:
            methods.setdefault(owner.replace(".", "_") if "." in owner else owner, []).append(record)
    head = f"import contextlib\nimport {HOME}\n"
    classes = (f"class {owner}:\n" + _indented("".join(map(_method, found))) for owner, found in methods.items())
    return head + "".join(map(_function, free)) + "".join(classes) + "".join(map(_bindings, free))


def _function(record: WrapperRecord) -> str:
    return _definition(record, "*args, **kwargs")


def _method(record: WrapperRecord) -> str:
    return _definition(record, "self, *args, **kwargs")


def _bindings(record: WrapperRecord) -> str:
    return "".join(f"{alias} = {record.identity.qualname}\n" for alias in record.aliases)


def _definition(record: WrapperRecord, given: str) -> str:
    name = record.identity.qualname.rpartition(".")[2]
    spans = ", ".join(f"{HOME}.{clock}('')" for clock in record.clocks)
    if CONTEXT in record.forms:
        return f"@contextlib.contextmanager\ndef {name}({given}):\n    with {spans}:\n        yield\n"
    if DECORATOR in record.forms:
        return (
            f"def {name}({given}):\n    def decorate(function):\n        def inner(*args, **kwargs):\n"
            f"            with {spans}:\n                return function(*args, **kwargs)\n"
            "        return inner\n    return decorate\n"
        )
    if CALLABLE in record.forms:
        first = given.replace("*args", "function, *args", 1)
        return f"def {name}({first}):\n    with {spans}:\n        return function(*args, **kwargs)\n"
    return ""


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines()) or "    pass\n"
