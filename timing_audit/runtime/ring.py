"""The run file: a head, two places for the facts, a ring of records; readable after a kill at any instant."""

from __future__ import annotations

import errno
import json
import mmap
import os
import struct
import zlib
from array import array

MAGIC = b"TAREC\x00\x00\x01"
WORDS = 4
RECORD = 8 * WORDS
HEAD_SIZE = 4096
SEGMENT = 1 << 17
"""Records by which the file grows: 4 MiB."""

# The words of the head, by position; word 0 is the magic.
SLOT_SIZE, ALLOCATED, RESERVED, COMMITTED, SLOT, PERF_NS, WALL_NS, LEVEL, LOST, ERRORS = range(1, 11)
OWN_NS, CYCLES, EVENT_NS, EVENT_PAIRS, WRAPPED = range(11, 16)
HEAD_WORDS = 16

# What a record is: the kind lies in the bits 16-23 of its first word, the probe's id below.
SPAN, STREAM_SPAN, ANCHOR, WINDOW, VALUES, TOKENS = range(6)
KIND_SHIFT, RAISED, BEGIN_SHIFT, END_SHIFT = 16, 1 << 24, 32, 44
NO_OFFSET = -(1 << 62)
"""The offset of a stream span that belongs to no cycle."""
WORD_MASK = (1 << 63) - 1


class Ring:
    """The file of one process. Payload first, then the number of committed records."""

    def __init__(self, path: str, facts: dict[str, object], room: int, most: int) -> None:
        self.path = path
        self.most = max(most, SEGMENT)
        self.allocated = 0
        self.committed = 0
        self.wrapped = False
        self.slot_size = -(-(len(json.dumps(facts)) + room) // 4096) * 4096
        self.base = HEAD_SIZE + 2 * self.slot_size
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            self._allocate(0, self.base + SEGMENT * RECORD)
        except BaseException:
            os.close(self.file)
            os.unlink(path)
            raise
        self._head()
        self._slot = 1
        self.tell(facts)
        # The magic comes last: a file without it was never finished.
        self.map[0:8] = MAGIC

    def _head(self) -> None:
        self.map = mmap.mmap(self.file, self.base + SEGMENT * RECORD)
        self.allocated = SEGMENT
        self.set(SLOT_SIZE, self.slot_size)
        self.set(ALLOCATED, self.allocated)

    def set(self, word: int, value: int) -> None:
        """Stores one word of the head."""
        struct.pack_into("<q", self.map, 8 * word, value & WORD_MASK)

    def tell(self, facts: dict[str, object]) -> None:
        """Stores the facts in the place that is not in use, then says which one is."""
        text = json.dumps(facts, separators=(",", ":")).encode()
        if len(text) > self.slot_size - 16:
            text = json.dumps({key: facts[key] for key in KEPT if key in facts}, separators=(",", ":")).encode()
        if len(text) > self.slot_size - 16:
            raise ValueError("the facts have outgrown their place")
        slot = 1 - self._slot
        start = HEAD_SIZE + slot * self.slot_size
        struct.pack_into("<qq", self.map, start, len(text), zlib.crc32(text))
        self.map[start + 16 : start + 16 + len(text)] = text
        self.set(SLOT, slot)
        self._slot = slot

    def append(self, words: list[int]) -> None:
        """Adds records, four words each; the oldest are overwritten where the ring is full."""
        count = len(words) // WORDS
        self._grow(count)
        skipped = max(0, count - self.allocated)
        data = array("q", words[WORDS * skipped :]).tobytes()
        first = self.committed + skipped
        self.set(RESERVED, self.committed + count)
        place = first % self.allocated
        head = min(len(data), (self.allocated - place) * RECORD)
        start = self.base + place * RECORD
        self.map[start : start + head] = data[:head]
        self.map[self.base : self.base + len(data) - head] = data[head:]
        self.committed += count
        self.set(COMMITTED, self.committed)

    def _grow(self, count: int) -> None:
        while not self.wrapped and self.committed + count > self.allocated:
            size = self.base + (self.allocated + SEGMENT) * RECORD
            if self.allocated + SEGMENT > self.most or not self._extend(size):
                # Full, or no room on the disk: from here on the ring goes round.
                self.wrapped = True
                self.set(WRAPPED, 1)
                return
            self.allocated += SEGMENT
            self.set(ALLOCATED, self.allocated)

    def _extend(self, size: int) -> bool:
        try:
            self._allocate(self.base + self.allocated * RECORD, size)
            self.map = mmap.mmap(self.file, size)
        except (OSError, ValueError):
            return False
        return True

    def _allocate(self, start: int, end: int) -> None:
        """Takes the disk's blocks now: a store into a hole of a full disk would kill the process."""
        try:
            os.posix_fallocate(self.file, start, end - start)
            return
        except AttributeError:
            pass  # not on this system
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise
        os.lseek(self.file, start, os.SEEK_SET)
        left = end - start
        while left > 0:
            left -= os.write(self.file, bytes(min(left, 1 << 20)))


KEPT = ("format", "probes", "manifest", "engine", "pid", "host", "role", "ranks", "streams", "modes")
"""The facts without which a file cannot be read; the others go where the place is too small."""
