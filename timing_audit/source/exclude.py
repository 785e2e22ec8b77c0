"""Which paths the user's exclude patterns take out."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence


def keep(paths: Iterable[str], patterns: Sequence[str]) -> tuple[str, ...]:
    """The paths that no pattern matches, by themselves or by a folder above them.

    A pattern with a slash is matched from the import root, one without it against each single name.
    """
    if not patterns:
        return tuple(paths)
    excluder = _Excluder(tuple(pattern.rstrip("/") for pattern in patterns))
    return tuple(path for path in paths if not excluder.takes(path))


class _Excluder:
    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._rooted = tuple(pattern.lstrip("/") for pattern in patterns if "/" in pattern)
        self._names = tuple(pattern for pattern in patterns if "/" not in pattern)
        self._folders: dict[str, bool] = {"": False}

    def takes(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        taken = self._folders.get(folder)
        if taken is None:
            taken = self._folders[folder] = self.takes(folder)
        return taken or self._matches(path, name)

    def _matches(self, path: str, name: str) -> bool:
        by_name = any(fnmatch.fnmatchcase(name, pattern) for pattern in self._names)
        return by_name or any(fnmatch.fnmatchcase(path, pattern) for pattern in self._rooted)
