"""`timing-audit.toml`, or `[tool.timing-audit]` of pyproject.toml -> Config; every fault is told at once."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from timing_audit.config.table import Fault, Table
from timing_audit.config.toml import read_toml
from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.model.config import BACKENDS, DETAILS, LAYOUTS, PROBES, STAGES, ApplyConfig, ChecksConfig, Config

TABLE = "tool.timing-audit"
_HEADER = re.compile(r"^\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""^\s*["']?([\w-]+)["']?\s*=""")


def read_config(file: str, content: bytes, *, shared: bool, must: bool = False) -> Config:
    """The configuration in a file; `shared` for one whose other tables are not ours.

    Without a table of ours the defaults, unless there `must` be one.
    """
    faults: list[Fault] = []
    read = read_toml(file, content, faults)
    if read is None:
        raise _error(faults)
    text, document = read
    values = _ours(document) if shared else document
    if values is None:
        if must:
            raise TimingAuditError(f"{file} has no table [{TABLE}]", exit_code=USAGE)
        return Config()
    config = _Reader(file, text, TABLE if shared else "", faults).config(values)
    if faults:
        raise _error(faults)
    return config


def _ours(document: Mapping[str, object]) -> Mapping[str, object] | None:
    tool = document.get("tool")
    found = tool.get("timing-audit") if isinstance(tool, dict) else None
    return found if isinstance(found, dict) else None


def _error(faults: list[Fault]) -> TimingAuditError:
    return TimingAuditError("\n".join(str(fault) for fault in sorted(faults)), exit_code=USAGE)


class _Reader:
    """One file; its faults go into the list that was given."""

    def __init__(self, file: str, text: str, prefix: str, faults: list[Fault]) -> None:
        self._file = file
        self._prefix = prefix
        self._lines = _lines(text)
        self._faults = faults

    def config(self, values: Mapping[str, object]) -> Config:
        top = self._table(values, "")
        found = Config(
            file=self._file,
            folder=os.path.dirname(self._file),
            targets=top.texts("targets"),
            excludes=top.texts("excludes"),
            entries=top.texts("entries"),
            baseline=top.text("baseline"),
            probes=top.text("probes", choices=PROBES),
            checks=self._checks(self._table(top.table("checks"), "checks")),
            apply=self._apply(self._table(top.table("apply"), "apply")),
        )
        self._close(top)
        return found

    def _checks(self, table: Table) -> ChecksConfig:
        found = ChecksConfig(table.texts("select"), table.texts("ignore"))
        self._close(table)
        return found

    def _apply(self, table: Table) -> ApplyConfig:
        found = ApplyConfig(
            table.texts("workers"), table.texts("stages", choices=STAGES), table.text("detail", choices=DETAILS),
            table.text("backend", choices=BACKENDS), table.text("layout", choices=LAYOUTS),
        )  # fmt: skip
        self._close(table)
        return found

    def _table(self, values: Mapping[str, object], name: str) -> Table:
        where = ".".join(part for part in (self._prefix, name) if part)
        lines = {key: line for (table, key), line in self._lines.items() if table == where}
        lines |= {
            table.rpartition(".")[2]: line
            for (table, key), line in self._lines.items()
            if not key and table.rpartition(".")[0] == where
        }
        return Table(values, self._file, lines.get("", 1), where, lines)

    def _close(self, table: Table) -> None:
        table.refuse_unknown()
        self._faults += table.faults


def _lines(text: str) -> dict[tuple[str, str], int]:
    """Where each key stands, by table and key; a table's own line is under the empty key."""
    found: dict[tuple[str, str], int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = header[1].replace('"', "").replace("'", "").replace(" ", "")
            found.setdefault((table, ""), number)
        elif key:
            found.setdefault((table, key[1]), number)
    return found
