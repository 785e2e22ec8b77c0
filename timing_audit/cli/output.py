"""Where the output of a command goes: standard output, or a file that is old or new and never half."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from timing_audit.errors import UNAUDITABLE, TimingAuditError


def write(text: str, output: str | None) -> None:
    """Writes the text. Raises TimingAuditError where the file cannot be written."""
    if output is None:
        sys.stdout.write(text)
        return
    write_bytes(text.encode(), output)


def write_bytes(data: bytes, output: str | None) -> None:
    """Writes the bytes. Raises TimingAuditError where the file cannot be written."""
    if output is None:
        sys.stdout.buffer.write(data)
        return
    path = Path(output)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace(path, data)
    except OSError as error:
        raise TimingAuditError(
            f"{output} cannot be written: {error.strerror or error}", exit_code=UNAUDITABLE
        ) from None


def _replace(path: Path, data: bytes) -> None:
    """Old or new, never half; a link stays one."""
    real = Path(os.path.realpath(path))
    part = real.with_name(f".{real.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        if real.exists():
            part.chmod(real.stat().st_mode & 0o7777)
        os.replace(part, real)
    finally:
        part.unlink(missing_ok=True)
