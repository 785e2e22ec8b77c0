"""What a target may cost: far above any real tree, far below what would hurt the machine."""

from __future__ import annotations

MIB = 1024 * 1024

MAX_FILE_BYTES = 16 * MIB
"""A larger Python file is skipped; the largest of SGLang has 0.4 MiB."""

MAX_TOTAL_BYTES = 512 * MIB
"""All Python files of one archive; a tar's are held in memory. SGLang's come to 60 MiB."""

MAX_UNPACKED_BYTES = 32 * 1024 * MIB
"""Everything in one archive, as its headers say: a tar of a whole environment fits, a bomb does not."""

MAX_MEMBERS = 500_000
"""Entries of one archive; a whole environment with torch has about 100,000."""

MAX_RATIO = 200
"""Unpacked size over packed size of one compressed file; source code stays below 20."""

RATIO_MATTERS_FROM = MIB
"""Smaller files may pack as well as they like: a file of blank lines is no bomb."""


def too_large(size: int) -> str:
    """The reason why a file of this size is skipped."""
    return f"too large: {size // MIB} MiB, where {MAX_FILE_BYTES // MIB} MiB are read"
