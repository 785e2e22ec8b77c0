"""Differences of two files by lines: to take an edit back to the byte, and to show it as a patch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from timing_audit.model.edit import Edit, FileChange

CONTEXT = 3
Block = tuple[int, int, int, int]


def split(data: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends a line."""
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def differing(old: Sequence[bytes], new: Sequence[bytes]) -> list[Block]:
    """The ranges of lines that differ, in order."""
    if len(old) == len(new):
        return list(_runs(old, new))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]


def _runs(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Block]:
    start = None
    for place in range(len(old) + 1):
        differs = place < len(old) and old[place] != new[place]
        if differs and start is None:
            start = place
        elif not differs and start is not None:
            yield start, place, start, place
            start = None


def edits(old: bytes, new: bytes) -> tuple[Edit, ...]:
    """What it takes to get from `new` back to `old`."""
    before, after = split(old), split(new)
    return tuple(
        Edit(j1 + 1, b"".join(after[j1:j2]), b"".join(before[i1:i2])) for i1, i2, j1, j2 in differing(before, after)
    )


def undo(data: bytes, undone: Sequence[Edit]) -> bytes:
    """The file without its edits, where nobody changed it since."""
    lines = split(data)
    for edit in reversed(undone):
        start = edit.line - 1
        lines[start : start + len(split(edit.new))] = [edit.old]
    return b"".join(lines)


def undo_moved(data: bytes, undone: Sequence[Edit]) -> bytes | None:
    """The same where others edited the file too; None where the edits' lines are not all there once and in order."""
    lines = split(data)
    found: list[tuple[int, Edit]] = []
    start = 0
    for edit in undone:
        wanted = split(edit.new)
        if not wanted:
            return None
        places = [
            place
            for place in range(start, len(lines) - len(wanted) + 1)
            if lines[place] == wanted[0] and lines[place : place + len(wanted)] == wanted
        ]
        if len(places) != 1:
            return None
        found.append((places[0], edit))
        start = places[0] + len(wanted)
    for place, edit in reversed(found):
        lines[place : place + len(split(edit.new))] = [edit.old]
    return b"".join(lines)


def patch(changes: Sequence[FileChange]) -> bytes:
    """A unified diff for `git apply` and `patch -p1`."""
    return b"".join(b"".join(_file(change)) for change in sorted(changes) if change.before != change.after)


def _file(change: FileChange) -> Iterator[bytes]:
    name = change.path.encode("utf-8", "surrogateescape")
    yield b"diff --git a/%b b/%b\n" % (name, name)
    if change.before is None:
        yield b"new file mode 100644\n"
    elif change.after is None:
        yield b"deleted file mode 100644\n"
    old, new = split(change.before or b""), split(change.after or b"")
    yield b"--- a/%b\n" % name if change.before is not None else b"--- /dev/null\n"
    yield b"+++ b/%b\n" % name if change.after is not None else b"+++ /dev/null\n"
    for group in _groups(differing(old, new)):
        yield from _hunk(old, new, group)


def _groups(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    group: list[Block] = []
    for block in blocks:
        if group and block[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _hunk(old: Sequence[bytes], new: Sequence[bytes], group: Sequence[Block]) -> Iterator[bytes]:
    first, last = group[0], group[-1]
    lead = min(CONTEXT, first[0])
    tail = min(CONTEXT, len(old) - last[1])
    ranges = (
        _range(first[0] - lead, last[1] + tail - first[0] + lead),
        _range(first[2] - lead, last[3] + tail - first[2] + lead),
    )
    yield b"@@ -%b +%b @@\n" % ranges
    at = first[0] - lead
    for i1, i2, j1, j2 in group:
        yield from (_line(b" ", line) for line in old[at:i1])
        yield from (_line(b"-", line) for line in old[i1:i2])
        yield from (_line(b"+", line) for line in new[j1:j2])
        at = i2
    yield from (_line(b" ", line) for line in old[at : at + tail])


def _range(start: int, count: int) -> bytes:
    return b"%d,%d" % (start + 1 if count else start, count)


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n\\ No newline at end of file\n"
