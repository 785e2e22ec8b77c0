"""The manifest: which files hold probes, in which state, and how to get the old bytes back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from timing_audit.errors import TimingAuditError
from timing_audit.model.edit import Choice, Edit, Probe

MANIFEST = "_timing_audit.json"
RUNTIME = "_timing_audit.py"
SCHEMA = 1
HEAD = ("detail", "backend", "layout", "engine", "version", "runtime")


class Version(NamedTuple):
    """One state in which apply may have left a file."""

    sha256: str
    edits: tuple[Edit, ...]


class Entry(NamedTuple):
    """A changed file: the hash of what it was, and every state that it may be in now, the newest first."""

    original: str
    versions: tuple[Version, ...]


class Manifest(NamedTuple):
    """What apply did to one package, or to one folder; files are named from where the manifest lies."""

    detail: str
    backend: str
    layout: str
    engine: str
    version: str
    runtime: str
    probes: tuple[Probe, ...]
    files: Mapping[str, Entry]


def digest(data: bytes) -> str:
    """The hash by which a file is known again."""
    return hashlib.sha256(data).hexdigest()


def plan_hash(choice: Choice, probes: tuple[Probe, ...]) -> str:
    """What tells one set of probes from another: it stands in every run file."""
    return digest(json.dumps([choice.detail, choice.backend, choice.layout, probes]).encode())[:16]


def dump(manifest: Manifest) -> bytes:
    """As JSON."""
    files = {
        path: {
            "original_sha256": entry.original,
            "versions": [
                {"sha256": version.sha256, "edits": [_plain(edit) for edit in version.edits]}
                for version in entry.versions
            ],
        }
        for path, entry in sorted(manifest.files.items())
    }  # fmt: skip
    head = {name: getattr(manifest, name) for name in HEAD}
    probes = [probe._asdict() for probe in manifest.probes]
    document = {"schema": SCHEMA, "kind": "manifest", **head, "probes": probes, "files": files}
    return (json.dumps(document, indent=1) + "\n").encode("ascii")


def _plain(edit: Edit) -> list[int | str]:
    return [edit.line, edit.new.decode("latin-1"), edit.old.decode("latin-1")]


def parse(data: bytes, name: str) -> Manifest:
    """From JSON. Raises TimingAuditError where it is none of ours."""
    try:
        document: dict[str, Any] = json.loads(data)
        if document["schema"] != SCHEMA:
            raise TimingAuditError(f"{name} was written by another version of timing-audit")
        files = {path: _entry(entry) for path, entry in document["files"].items()}
        probes = tuple(Probe(**probe) for probe in document["probes"])
        detail, backend, layout, engine, version, runtime = (str(document[key]) for key in HEAD)
        return Manifest(detail, backend, layout, engine, version, runtime, probes, files)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "remove it: strip then goes by the marks in the files"
        raise TimingAuditError(f"{name} is no manifest of timing-audit ({error})", hint=hint) from None


def _entry(entry: Mapping[str, Any]) -> Entry:
    versions = (
        Version(
            str(version["sha256"]),
            tuple(Edit(int(line), new.encode("latin-1"), old.encode("latin-1")) for line, new, old in version["edits"]),
        )
        for version in entry["versions"]
    )
    return Entry(str(entry["original_sha256"]), tuple(versions))
