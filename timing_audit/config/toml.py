"""TOML as bytes -> its text and its values; what is wrong becomes a fault at its line."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib import import_module

from timing_audit.config.table import Fault

_AT_LINE = re.compile(r"at line (\d+)")


def read_toml(file: str, content: bytes, faults: list[Fault]) -> tuple[str, Mapping[str, object]] | None:
    """The text and the document; None and one more fault where it is no TOML in UTF-8."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.append(Fault(file, content.count(b"\n", 0, error.start) + 1, "not UTF-8"))
        return None
    document = _parse(file, text, faults)
    return None if document is None else (text, document)


def _parse(file: str, text: str, faults: list[Fault]) -> Mapping[str, object] | None:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: Mapping[str, object] = toml.loads(text)
    except (ValueError, RecursionError) as error:  # both libraries' TOMLDecodeError is a ValueError
        found = _AT_LINE.search(str(error))
        line = int(found[1]) if found else len(text.splitlines())
        faults.append(Fault(file, line, f"not TOML: {error}"))
        return None
    return document
