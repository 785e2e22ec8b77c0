"""rules/*.toml -> Packs; every fault of every pack is told at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from timing_audit.config.table import Fault, Table
from timing_audit.config.toml import read_toml
from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.model.pack import CallRule, Example, Pack, Packs, Rule
from timing_audit.packs.schema import read_rule

_PACKAGE = Path(__file__).resolve().parent.parent
_RULE = re.compile(r"^\s*\[\[\s*rule\s*\]\]")
_ID = re.compile(r"""^\s*id\s*=""")


def rules_folder() -> Path:
    """The packs that come with the tool: inside an installed wheel, beside the package in a checkout."""
    installed = _PACKAGE / "_rules"
    return installed if installed.is_dir() else _PACKAGE.parent / "rules"


def load_packs(folder: Path | None = None) -> Packs:
    """The tool's own packs and those of the user's `folder`."""
    files = _pack_files(rules_folder())
    if folder is not None:
        if not folder.is_dir():
            raise TimingAuditError(f"{folder}: no such folder of rules", exit_code=USAGE)
        files += _pack_files(folder)
    return read_packs(tuple((str(path), path.read_bytes()) for path in files))


def read_packs(sources: tuple[tuple[str, bytes], ...]) -> Packs:
    """Packs from (file name, content); raises one error that holds every fault."""
    faults: list[Fault] = []
    packs = tuple(pack for file, content in sources if (pack := _read_pack(file, content, faults)) is not None)
    loaded = Packs(packs)
    faults += _clashes(loaded)
    if faults:
        message = "\n".join(str(fault) for fault in sorted(faults))
        raise TimingAuditError(message, exit_code=USAGE)
    return loaded


def _pack_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.toml"))
    if not files:
        raise TimingAuditError(f"{folder}: no packs (*.toml) in it", exit_code=USAGE)
    return files


def _read_pack(file: str, content: bytes, faults: list[Fault]) -> Pack | None:
    read = read_toml(file, content, faults)
    return None if read is None else _build_pack(file, *read, faults)


def _build_pack(file: str, text: str, document: Mapping[str, object], faults: list[Fault]) -> Pack:
    head = Table(document, file, 1, "")
    name = head.text("pack", required=True)
    tables = head.tables("rule")
    head.refuse_unknown()
    faults += head.faults
    lines = _rule_lines(text)
    rules: list[Rule] = []
    for index, values in enumerate(tables):
        line = lines[index] if index < len(lines) else 1
        table = Table(values, file, line, f"rule {values.get('id', index + 1)}")
        rule = read_rule(table, name, file)
        faults += table.faults
        if rule is not None:
            rules.append(rule)
    return Pack(name, file, tuple(rules))


def _rule_lines(text: str) -> list[int]:
    """The line of each rule's `id =`, or of its `[[rule]]` where it has none; quoted code is passed over."""
    lines: list[int] = []
    open_rule = False
    quoted = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not quoted and _RULE.match(line):
            lines.append(number)
            open_rule = True
        elif not quoted and line.lstrip().startswith("["):
            open_rule = False
        elif not quoted and open_rule and _ID.match(line):
            lines[-1] = number
        quoted = _still_quoted(line, quoted)
    return lines


def _still_quoted(line: str, quoted: str) -> str:
    """The triple quote that is open behind `line`, empty if none."""
    for found in re.findall(r"'''|\"\"\"", line):
        quoted = "" if found == quoted else quoted or found
    return quoted


def _clashes(packs: Packs) -> list[Fault]:
    """Two rules of one id, two rules that name one call, and examples that expect a rule nobody has."""
    ids: dict[str, Rule] = {}
    calls: dict[str, Rule] = {}
    faults: list[Fault] = []
    for rule in packs.rules:
        first = ids.setdefault(rule.id, rule)
        if first is not rule:
            faults.append(Fault(rule.file, rule.line, f"rule {rule.id}: the id is taken, {first.file}:{first.line}"))
        for name in rule.calls if isinstance(rule, CallRule) else ():
            owner = calls.setdefault(name, rule)
            if owner is not rule:
                faults.append(Fault(rule.file, rule.line, f"rule {rule.id}: rule {owner.id} names `{name}` too"))
    faults += [fault for rule in packs.rules for example in rule.examples for fault in _strangers(rule, example, ids)]
    return faults


def _strangers(rule: Rule, example: Example, ids: Mapping[str, Rule]) -> list[Fault]:
    return [
        Fault(rule.file, rule.line, f"rule {rule.id}, example `{example.name}`: no rule is called {expected}")
        for _, expected in example.expected + example.gaps
        if expected not in ids
    ]
