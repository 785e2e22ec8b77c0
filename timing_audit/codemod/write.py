"""Writing a plan: everything beside the files first, then one replacement after the other, and back if one fails.

At any instant each file is old or new, and the manifest that tells how to undo either lies there before the first
file changes and until the last one is restored.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from timing_audit.codemod.manifest import MANIFEST, RUNTIME, Entry, dump, parse
from timing_audit.errors import UNAUDITABLE, TimingAuditError
from timing_audit.model.edit import FileChange

PART = ".timing-audit.part"


class Written(NamedTuple):
    """What was done: `changed` names files that others changed meanwhile, `cut` those that had hard links."""

    files: tuple[str, ...]
    changed: tuple[str, ...]
    cut: tuple[str, ...]


class _Step(NamedTuple):
    name: str
    path: Path
    before: bytes | None
    after: bytes | None


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Holds the tree against another run that writes; it has no lock file that could be left behind."""
    try:
        handle = os.open(root, os.O_RDONLY)
    except OSError as error:
        raise TimingAuditError(f"{root} cannot be opened: {error.strerror}", exit_code=UNAUDITABLE) from None
    try:
        # A file system without locks has nothing to hold; what changed meanwhile is refused anyway.
        with suppress(OSError):
            _lock(handle, root)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, root: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        message = f"another timing-audit is writing to {root.name}"
        raise TimingAuditError(message, hint="run this again when it is done", exit_code=UNAUDITABLE) from None


def write(root: Path, changes: Sequence[FileChange]) -> Written:
    """Writes all changes below the root. Raises TimingAuditError, with everything as it was, where one cannot be."""
    changed = tuple(change.path for change in changes if _now(_real(root, change.path)) != change.before)
    wanted = [change for change in changes if change.path not in changed]
    if changed:
        wanted = [_without(change, changed) if change.path.endswith(MANIFEST) else change for change in wanted]
    steps = list(_steps(root, [change for change in wanted if change.before != change.after]))
    cut = tuple(step.name for step in steps if step.before is not None and step.path.stat().st_nlink > 1)
    _stage(root, steps)
    _replace(steps)
    for step in {step.path.parent: step for step in steps}.values():
        _sync_folder(step.path.parent)
    own = (MANIFEST, RUNTIME)
    return Written(tuple(dict.fromkeys(s.name for s in steps if not s.name.endswith(own))), changed, cut)


def _without(change: FileChange, names: Sequence[str]) -> FileChange:
    """The manifest without files that are not written."""
    if change.after is None:
        return change
    home = change.path.removesuffix(MANIFEST)
    manifest = parse(change.after, change.path)
    kept = {path: entry for path, entry in manifest.files.items() if f"{home}{path}" not in names}
    return change._replace(after=dump(manifest._replace(files=kept)))


def _steps(root: Path, changes: Sequence[FileChange]) -> Iterator[_Step]:
    """The order in which to write: what undoes comes first and goes last."""
    own = [c for c in changes if c.path.endswith((MANIFEST, RUNTIME))]
    manifests = [c for c in own if c.path.endswith(MANIFEST)]
    for c in manifests:
        if c.after is not None:
            yield _Step(c.path, _real(root, c.path), c.before, _transitional(c))
    yield from (_step(root, c) for c in own if c.path.endswith(RUNTIME) and c.after is not None)
    yield from (_step(root, c) for c in changes if c not in own)
    yield from (_step(root, c) for c in own if c.path.endswith(RUNTIME) and c.after is None)
    for c in manifests:
        between = None if c.after is None else _transitional(c)
        if c.after is None or between != c.after:
            yield _Step(c.path, _real(root, c.path), c.before if c.after is None else between, c.after)


def _step(root: Path, change: FileChange) -> _Step:
    return _Step(change.path, _real(root, change.path), change.before, change.after)


def _transitional(change: FileChange) -> bytes | None:
    """The new manifest, with the states of the old one: files may be in either while they are written."""
    if change.before is None or change.after is None:
        return change.after
    old, new = parse(change.before, change.path), parse(change.after, change.path)
    files = dict(new.files)
    for path, entry in old.files.items():
        known = files.get(path, Entry(entry.original, ()))
        files[path] = known._replace(versions=tuple(dict.fromkeys((*known.versions, *entry.versions))))
    return dump(new._replace(files=files))


def _real(root: Path, name: str) -> Path:
    """The file itself, where a link inside the tree names it."""
    path = root / name
    real = Path(os.path.realpath(path))
    if path.is_symlink() and not real.is_relative_to(os.path.realpath(root)):
        raise TimingAuditError(f"{name} is a symbolic link out of the tree", exit_code=UNAUDITABLE)
    return real


def _now(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def part_of(path: Path, number: int = 0) -> Path:
    """Where new bytes wait beside a file."""
    return path.with_name(f".{path.name}{number or ''}{PART}")


def _stage(root: Path, steps: Sequence[_Step]) -> None:
    try:
        for number, step in enumerate(steps):
            if step.after is not None:
                _prepare(step, part_of(step.path, number))
    except OSError as error:
        _forget(steps)
        raise _unwritten(step.name, root, error) from None
    except BaseException:
        _forget(steps)
        raise


def _unwritten(name: str, root: Path, error: OSError) -> TimingAuditError:
    hint = "nothing was changed; apply --into DIR writes to a copy"
    return TimingAuditError(f"{name} below {root} cannot be written: {error.strerror or error}", hint=hint)


def _forget(steps: Sequence[_Step]) -> None:
    for number, step in enumerate(steps):
        with suppress(OSError):
            part_of(step.path, number).unlink(missing_ok=True)


def _prepare(step: _Step, part: Path) -> None:
    """The new bytes beside the file, on the disk, with its mode and owner."""
    part.unlink(missing_ok=True)
    # Whatever else stands at this name, a link above all, is never written through.
    made = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(made, "wb") as stream:
        stream.write(step.after or b"")
        stream.flush()
        os.fsync(stream.fileno())
    if step.before is not None and step.path.exists():
        was, now = step.path.stat(), part.stat()
        if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
            os.chown(part, was.st_uid, was.st_gid)
        os.chmod(part, was.st_mode & 0o7777)


def _replace(steps: Sequence[_Step]) -> None:
    done: list[_Step] = []
    try:
        for number, step in enumerate(steps):
            if step.after is None:
                step.path.unlink(missing_ok=True)
            else:
                os.replace(part_of(step.path, number), step.path)
            done.append(step)
    except OSError as error:
        lost = _put_back(done)
        _forget(steps)
        told = f"; these could not be put back: {', '.join(lost)}" if lost else "; everything was put back"
        raise TimingAuditError(f"{step.name} cannot be written: {error.strerror or error}{told}") from None


def _put_back(done: Sequence[_Step]) -> list[str]:
    return [step.name for step in reversed(done) if not _is_put_back(step)]


def _is_put_back(step: _Step) -> bool:
    try:
        if step.before is None:
            step.path.unlink(missing_ok=True)
        else:
            _prepare(step._replace(after=step.before), part_of(step.path))
            os.replace(part_of(step.path), step.path)
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def leftovers(root: Path, folders: Sequence[str]) -> list[Path]:
    """What a run that was killed left beside the files."""
    return sorted(part for folder in folders if (root / folder).is_dir() for part in (root / folder).glob(f".*{PART}"))
