"""Round trips over whole releases."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

OWN = {"region": ("host", "device"), "nvtx": ("trace",), "record_function": ("trace",), "native": ("trace",)}
NATIVE = ("0.5.15",)
WAYS = [
    (version, detail, layout, backend)
    for version in ("0.4.3", "0.5.9", "0.5.15")
    for detail in ("stage", "function")
    for layout in ("lines", "block")
    for backend in OWN
    if backend != "native" or version in NATIVE
] + [
    (version, "stage", "lines", "region")
    for version in ("0.4.6.post5", "0.5.3", "0.5.5", "0.5.8.post1", "0.5.12", "0.5.19", "0.5.23")
]


def command(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "timing_audit", *arguments], capture_output=True, check=True, encoding="utf-8"
    )
    return done.stdout


def hashes(folder: Path) -> dict[str, str]:
    found = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in found}


@pytest.mark.long
@pytest.mark.network
@pytest.mark.parametrize(("version", "detail", "layout", "backend"), WAYS)
def test_there_and_back(
    release: Callable[[str], Path], tmp_path: Path, version: str, detail: str, layout: str, backend: str
) -> None:
    with zipfile.ZipFile(release(version)) as wheel:
        wheel.extractall(tmp_path, [name for name in wheel.namelist() if name.startswith("sglang/")])
    package = tmp_path / "sglang"
    before = hashes(package)
    way = ("--detail", detail, "--layout", layout, "--backend", backend, "--format", "json")
    plan: dict[str, Any] = json.loads(command("apply", "--codemod", str(package), *way))
    assert plan["probes"]
    for name in plan["written"]:
        data = (tmp_path / name).read_bytes()
        compile(data, name, "exec")
    written = hashes(package)
    assert json.loads(command("apply", "--codemod", str(package), *way))["written"] == []
    assert hashes(package) == written
    report: dict[str, Any] = json.loads(command("scan", str(package), "--format", "json"))
    refused = {(r["file"], r["stage"]) for r in plan["refused"] if r["kind"] == "stage"}
    untimed = [
        (row["worker"], stage["stage"], stage["file"], stage["line"])
        for row in report["summary"]["rows"]
        for stage in row["stages"]
        if not all(stage["timed"][clock] for clock in OWN[backend]) and (stage["file"], stage["stage"]) not in refused
    ]
    assert untimed == []
    command("strip", str(package))
    assert hashes(package) == before
