"""Small trees and archives for the tests of the source layer."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = {
    "python/pyproject.toml": b'[project]\nname = "sglang"\nversion = "1.2.3"\n',
    "python/sglang/__init__.py": b"",
    "python/sglang/srt/managers/scheduler.py": b"import time\n",
    "python/sglang/srt/speculative/worker.py": b"x = 1\n",
    "sgl-kernel/setup.py": b"raise SystemExit\n",
    "test/test_x.py": b"assert True\n",
}
PACKAGE_PATHS = ("sglang/__init__.py", "sglang/srt/managers/scheduler.py", "sglang/srt/speculative/worker.py")


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write files below a folder and return it."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def tar_bytes(files: Mapping[str, bytes], mode: str = "w", extra: tuple[tarfile.TarInfo, ...] = ()) -> bytes:
    """A tar archive of files, then of bare headers such as links."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
        for name, data in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            tar.addfile(header, io.BytesIO(data))
        for header in extra:
            tar.addfile(header)
    return buffer.getvalue()


def link_header(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """The header of a link in a tar."""
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, target
    return header


def zip_file(path: Path, files: Mapping[str, bytes]) -> Path:
    """A compressed zip archive of files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path
