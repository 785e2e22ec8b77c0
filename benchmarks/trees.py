"""Unpacks releases of SGLang into the tool's cache, once each, and prints where they lie."""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

from timing_audit.source.cache import cache_root
from timing_audit.source.pypi import fetch_wheel


def tree(version: str) -> Path:
    """The package folder of a release."""
    folder = cache_root() / "bench" / version
    if not folder.is_dir():
        wheel = fetch_wheel(f"sglang=={version}", lambda line: print(line, file=sys.stderr))
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as staging, zipfile.ZipFile(wheel) as archive:
            unpacked = Path(staging, version)
            archive.extractall(unpacked)
            unpacked.rename(folder)
    return folder / "sglang"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(tree(name))
