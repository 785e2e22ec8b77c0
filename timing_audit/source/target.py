"""Opens whatever kind of target the user named; nothing above this module knows which kind it was."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Sequence
from typing import BinaryIO

from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.model.source import Skipped
from timing_audit.source import disk, exclude
from timing_audit.source import layout as layouts
from timing_audit.source.archives import Archive, is_escaping
from timing_audit.source.decode import Unreadable
from timing_audit.source.tree import Tree, label_of
from timing_audit.source.version import find_version

STDIN = "-"

_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_USTAR, _USTAR_AT = b"ustar", 257
_ZIP_SUFFIXES = (".whl", ".zip")
_TAR_SUFFIXES = (".tar", ".gz", ".tgz", ".bz2", ".tbz2", ".xz", ".txz")
_HEAD_BYTES = 512


def open_target(
    spec: str | None,
    *,
    python: str | None = None,
    excludes: Sequence[str] = (),
    say: Callable[[str], None] = lambda message: None,
    stdin: BinaryIO | None = None,
) -> Tree:
    """Open a target by its name on the command line; `say` hears of network use, `stdin` is what `-` reads."""
    tree = _open(spec, python, say, stdin)
    kept = exclude.keep(tree.paths, excludes)
    if not kept:
        raise TimingAuditError(f"every Python file of {tree.label} is excluded", hint="check `excludes`")
    skipped = tuple(entry for entry in tree.skipped if exclude.keep([entry.file], excludes))
    return dataclasses.replace(tree, paths=kept, skipped=skipped)


def _open(spec: str | None, python: str | None, say: Callable[[str], None], stdin: BinaryIO | None) -> Tree:
    if python is not None:
        return _open_interpreter(spec, python)
    if spec is None:
        from timing_audit.source.installed import installed_package

        return disk.open_folder(installed_package() or os.curdir)
    if spec == STDIN:
        return _open_stdin(stdin or sys.stdin.buffer)
    if spec.startswith("pypi:"):
        from timing_audit.source.pypi import fetch_wheel

        return _open_path(str(fetch_wheel(spec.removeprefix("pypi:"), say)))
    return _open_path(spec)


def _open_interpreter(spec: str | None, python: str) -> Tree:
    if spec is not None:
        hint = "leave one of the two out"
        raise TimingAuditError("--python and a TARGET both name what to audit", hint=hint, exit_code=USAGE)
    from timing_audit.source.installed import package_of_interpreter

    return disk.open_folder(package_of_interpreter(python))


def _open_path(path: str) -> Tree:
    if not path:
        raise TimingAuditError("the TARGET is an empty string", exit_code=USAGE)
    if os.path.isdir(path):
        return disk.open_folder(path)
    if not os.path.lexists(path):
        hint = f"did you mean pypi:{path}?" if "==" in path else ""
        raise TimingAuditError(f"{path}: no such file or folder", hint=hint)
    if path.endswith(".py"):
        return disk.open_file(path)
    return _open_archive(path)


def _open_archive(path: str) -> Tree:
    name = os.path.basename(path)
    try:
        with open(path, "rb") as stream:
            head = stream.read(_HEAD_BYTES)
            stream.seek(0)
            if head.startswith(_ZIP_MAGIC) or name.endswith(_ZIP_SUFFIXES):
                from timing_audit.source.zips import read_zip

                archive = read_zip(name, os.path.abspath(path))
                return _tree(archive, name, "wheel" if name.endswith(".whl") else "zip")
            _require_tar(name, head)
            from timing_audit.source.tars import read_tar

            return _tree(read_tar(name, stream, os.fstat(stream.fileno()).st_size), name, "tar")
    except OSError as error:
        raise TimingAuditError(f"{path} cannot be read: {error.strerror or error}") from None


def _require_tar(name: str, head: bytes) -> None:
    if head.startswith(_ZSTD_MAGIC):
        hint = f"unpack it on the way: zstd -dc {name} | timing-audit scan -"
        raise TimingAuditError(f"{name}: zstd archives are not supported", hint=hint)
    is_tar = head.startswith(_TAR_MAGIC) or head[_USTAR_AT:].startswith(_USTAR) or name.endswith(_TAR_SUFFIXES)
    if not is_tar:
        kinds = "name a folder, a .py file, a wheel, a zip or a tar"
        raise TimingAuditError(f"{name} is no kind of target that can be audited", hint=kinds)


def _open_stdin(stream: BinaryIO) -> Tree:
    if stream.isatty():
        hint = "pipe a tar into it: ssh HOST tar -C /root/sglang -c python | timing-audit scan -"
        raise TimingAuditError("standard input is a terminal, not a tar stream", hint=hint, exit_code=USAGE)
    from timing_audit.source.tars import read_tar

    return _tree(read_tar("standard input", stream), "standard input", "tar stream")


def _tree(archive: Archive, name: str, kind: str) -> Tree:
    layout = layouts.in_archive(archive.members)
    paths = tuple(sorted(layout.path(member) for member in layout.select(archive.members)))
    if not paths:
        raise TimingAuditError(f"no Python files in {name}", hint="it should hold the package, as a wheel does")
    told = [entry for entry in archive.skipped if entry.file.startswith(layout.only) or is_escaping(entry.file)]
    skipped = tuple(Skipped(layout.path(file), reason) for file, reason in told)
    package = layouts.package_of(paths, layout)
    version = _version(archive, layout, package) if package else ""
    label = label_of(package, version, name=name, kind=kind)
    return Tree(label, package, version, paths, skipped, layout, archive.reader)


def _version(archive: Archive, layout: layouts.Layout, package: str) -> str:
    known = {*archive.members, *archive.metadata}

    def read(path: str) -> str:
        member = layout.member(path)
        try:
            return archive.reader(member).decode("utf-8", "replace") if member in known else ""
        except Unreadable:
            return ""

    return find_version(read, package, [layout.path(m) for m in archive.metadata if m.startswith(layout.strip)])
