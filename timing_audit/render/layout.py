"""A JSON document with one line a record: it can be read and compared by line, and the fast encoder writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping

OBJECTS = 2
"""How deep objects are spread over lines: the document, and the groups of its records."""
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


def laid_out(document: Mapping[str, object]) -> str:
    """The text of a document, the same for the same data; it ends with a line end."""
    return _value(document, OBJECTS, "") + "\n"


def _value(value: object, objects: int, margin: str) -> str:
    inner = margin + " "
    if objects and isinstance(value, Mapping) and value:
        fields = [f"{_ENCODE(name)}: {_value(field, objects - 1, inner)}" for name, field in value.items()]
        return _group("{}", fields, inner)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return _group("[]", list(map(_ENCODE, value)), inner)
    return _ENCODE(value)


def _group(around: str, lines: list[str], inner: str) -> str:
    between = f",\n{inner}"
    return f"{around[0]}\n{inner}{between.join(lines)}\n{inner[1:]}{around[1]}"
