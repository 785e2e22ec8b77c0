"""A baseline as JSON, one line a function so that branches merge; and a scan's JSON read as one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.model.baseline import CLOCK_NAMES, Baseline, FunctionRecord, Identity, OwnTimer, WrapperRecord
from timing_audit.model.report import WORDS
from timing_audit.ratchet.records import merged

VERSION = 1
"""Frozen: docs/baseline.md. A reader that does not know the version refuses the file."""
SCAN_SCHEMA = 1

Row = Mapping[str, object]
Made = TypeVar("Made")


class Malformed(Exception):
    """Where a document is not what it should be."""


def dump(baseline: Baseline) -> str:
    """The file's text, the same for the same baseline."""
    head = f'"baseline": {VERSION}, "package": {_line(baseline.package)}, "version": {_line(baseline.version)}'
    functions = _rows(_function_row(record) for record in baseline.functions)
    wrappers = _rows(_wrapper_row(record) for record in baseline.wrappers)
    return f'{{{head},\n"functions": [{functions}],\n"wrappers": [{wrappers}]}}\n'


def load(text: str, name: str) -> Baseline:
    """The baseline in a text, which may also be the JSON of a scan; every fault is one line that names the file."""
    hint = f"`timing-audit scan --update-baseline --baseline {name}` writes one"
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TimingAuditError(f"{name} is no JSON: {error}", hint=hint, exit_code=USAGE) from None
    if not isinstance(document, dict) or not ("baseline" in document or "schema" in document):
        what = f"{name} is neither a baseline nor the JSON of a scan"
        raise TimingAuditError(what, hint=hint, exit_code=USAGE)
    try:
        return _from_baseline(document) if "baseline" in document else _from_scan(document)
    except Malformed as fault:
        raise TimingAuditError(f"{name}: {fault}", hint=hint, exit_code=USAGE) from None


# Writing.


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rows(rows: Iterable[object]) -> str:
    lines = ",\n".join(_line(row) for row in rows)
    return f"\n{lines}\n" if lines else ""


def _function_row(record: FunctionRecord) -> dict[str, object]:
    row: dict[str, object] = {
        "file": record.identity.file, "qualname": record.identity.qualname, "fingerprint": record.fingerprint,
        "phases": record.phases, "stage": record.stage, "coverage": record.coverage,
        **dict(zip(CLOCK_NAMES, record.words, strict=True)),
    }  # fmt: skip
    return row | ({"timers": [timer._asdict() for timer in record.timers]} if record.timers else {})


def _wrapper_row(record: WrapperRecord) -> dict[str, object]:
    return {
        "file": record.identity.file, "qualname": record.identity.qualname, "clocks": record.clocks,
        "forms": record.forms, "gate": record.gate, "aliases": record.aliases,
        "alone": record.alone,
    }  # fmt: skip


# Reading.


def _from_baseline(document: Row) -> Baseline:
    if document["baseline"] != VERSION:
        raise Malformed(f"baseline version {_line(document['baseline'])} is unknown, this timing-audit reads {VERSION}")
    functions = _each(document, "functions", _function)
    wrappers = _each(document, "wrappers", lambda row: _wrapper(row, _text(row, "qualname"), _texts(row, "clocks")))
    return Baseline(_text(document, "package"), _text(document, "version"), merged(functions), tuple(sorted(wrappers)))


def _from_scan(document: Row) -> Baseline:
    if document["schema"] != SCAN_SCHEMA:
        raise Malformed(f"schema {_line(document['schema'])} is unknown, this timing-audit reads {SCAN_SCHEMA}")
    hot = [row for row in _list(document, "functions") if _row(row, "an entry of `functions`").get("role") == "hot"]
    functions = _each({"functions": hot}, "functions", _scanned)
    used = [
        row
        for row in _list(_map(document, "summary"), "wrappers")
        if _row(row, "an entry of `wrappers`").get("hot_uses")
    ]
    wrappers = _each({"wrappers": used}, "wrappers", _scanned_wrapper)
    target = _map(document, "target")
    labels = _text(target, "package"), _text(target, "version")
    return Baseline(*labels, merged(functions), tuple(sorted(wrappers)), has_timers=False)


def _function(row: Row) -> FunctionRecord:
    timers = _each(row, "timers", _timer) if "timers" in row else []
    return _record(row, row, tuple(timers))


def _scanned(row: Row) -> FunctionRecord:
    record = _record(row, _map(row, "clocks"), ())
    return record._replace(depth=len(_list(row, "via")))


def _record(row: Row, clocks: Row, timers: tuple[OwnTimer, ...]) -> FunctionRecord:
    host, device, trace = (_word(clocks, clock) for clock in CLOCK_NAMES)
    stage = None if row.get("stage") is None else _text(row, "stage")
    fingerprint = _text(row, "fingerprint") if "fingerprint" in row else ""
    identity, phases = Identity(_text(row, "file"), _text(row, "qualname")), _texts(row, "phases")
    return FunctionRecord(identity, fingerprint, phases, stage, _word(row, "coverage"), (host, device, trace), timers)


def _timer(row: Row) -> OwnTimer:
    clock = _text(row, "clock")
    if clock not in CLOCK_NAMES:
        raise Malformed(f"`clock` is {_line(clock)}")
    return OwnTimer(clock, _text(row, "gate"), _text(row, "label"), _texts(row, "calls"))


def _wrapper(row: Row, name: str, clocks: tuple[str, ...]) -> WrapperRecord:
    # Scans of older versions do not tell the forms; most wrappers are contexts.
    forms = _texts(row, "forms") if "forms" in row else ("context", "decorator")
    aliases = _texts(row, "aliases") if "aliases" in row else ()
    identity, alone = Identity(_text(row, "file"), name), row.get("alone") is True
    return WrapperRecord(identity, clocks, forms, _text(row, "gate"), aliases, alone)


def _scanned_wrapper(row: Row) -> WrapperRecord:
    clocks = _texts(row, "clocks") if "clocks" in row else (_text(row, "clock"),)
    return _wrapper(row, _text(row, "name"), clocks)


def _each(document: Row, key: str, make: Callable[[Row], Made]) -> list[Made]:
    return [_made(value, f"{key}, entry {number}", make) for number, value in enumerate(_list(document, key), start=1)]


def _made(value: object, where: str, make: Callable[[Row], Made]) -> Made:
    try:
        return make(_row(value, "it"))
    except Malformed as fault:
        raise Malformed(f"{where}: {fault}") from None


def _row(value: object, key: str) -> Row:
    if not isinstance(value, dict):
        raise Malformed(f"{key} is no object")
    return value


def _get(row: Row, key: str) -> object:
    if key not in row:
        raise Malformed(f"`{key}` is missing")
    return row[key]


def _text(row: Row, key: str) -> str:
    value = _get(row, key)
    if not isinstance(value, str):
        raise Malformed(f"`{key}` is no string")
    return value


def _word(row: Row, key: str) -> str:
    value = _text(row, key)
    if value not in WORDS:
        raise Malformed(f"`{key}` is {_line(value)}, not one of {', '.join(WORDS)}")
    return value


def _list(row: Row, key: str) -> Sequence[object]:
    value = _get(row, key)
    if not isinstance(value, list):
        raise Malformed(f"`{key}` is no list")
    return value


def _texts(row: Row, key: str) -> tuple[str, ...]:
    values = _list(row, key)
    texts = tuple(value for value in values if isinstance(value, str))
    if len(texts) != len(values):
        raise Malformed(f"`{key}` holds something that is no string")
    return texts


def _map(row: Row, key: str) -> Row:
    return _row(_get(row, key), f"`{key}`")
