"""A copy of the audited package, for trees that one may not write."""

from __future__ import annotations

import shutil
from pathlib import Path

from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.source.tree import Tree


def copy_package(tree: Tree, into: Path) -> Path:
    """Copies the package into the folder and gives where it lies now."""
    if tree.root is None or not tree.package:
        hint = "name a package on disk, or print a patch with --dry-run"
        raise TimingAuditError(f"{tree.label} is no package that can be copied", hint=hint, exit_code=USAGE)
    there = into / tree.package
    if there.exists():
        raise TimingAuditError(f"{there} is there already", hint="name another folder", exit_code=USAGE)
    try:
        shutil.copytree(tree.root / tree.package, there, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    except (OSError, shutil.Error) as error:
        raise TimingAuditError(f"{tree.package} cannot be copied into {into}: {error}") from None
    return there
