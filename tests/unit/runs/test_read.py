"""Reading run files: whole, damaged, growing, gone round; and whatever bytes come."""

from __future__ import annotations

import io
import struct
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.unit.runs.written import CYCLE, DRAFT, VERIFY, facts, span, steady, stream, values, window, write
from timing_audit.errors import TimingAuditError
from timing_audit.runs.find import read_run
from timing_audit.runs.join import join
from timing_audit.runs.model import NOT_MEASURED
from timing_audit.runs.read import Damaged, read_run_file
from timing_audit.runtime import ring

WORDS = st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=4, max_size=4)


@given(st.lists(st.lists(WORDS, max_size=20), max_size=6))
@example(chunks=[[[1, 0, -1, (1 << 63) - 1]]])
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, chunks: list[list[list[int]]]) -> None:
    path = tmp_path_factory.mktemp("ring") / "a.tarec"
    made = ring.Ring(str(path), facts(), 4096, 1 << 20)
    for chunk in chunks:
        made.append([word for record in chunk for word in record])
    read = read_run_file("a", path.read_bytes())
    assert list(read.words) == [word for chunk in chunks for record in chunk for word in record]
    assert read.faults == ()
    join(read)  # nonsense is counted, never an error


def test_a_ring_that_went_round_gives_its_newest_records(tmp_path: Path) -> None:
    made = ring.Ring(str(tmp_path / "a.tarec"), facts(), 4096, 0)
    size = made.allocated
    for first in range(0, size + 1000, 500):
        made.append([word for number in range(first, first + 500) for word in (number, 0, 0, 0)])
    read = read_run_file("a", (tmp_path / "a.tarec").read_bytes())
    written = made.committed
    assert read.words[0] == written - size
    assert list(read.words[0::4]) == list(range(written - size, written))
    assert read.counters.overwritten == written - size


@pytest.mark.parametrize("kept", [0, 1, 4, 9])
def test_a_file_that_is_cut_short_is_read_up_to_there(tmp_path: Path, kept: int) -> None:
    path = write(tmp_path / "a.tarec", steady(10))
    data = path.read_bytes()
    base = ring.HEAD_SIZE + 2 * struct.unpack_from("<q", data, 8 * ring.SLOT_SIZE)[0]
    read = read_run_file("a", data[: base + kept * ring.RECORD + 7])
    assert len(read.words) == 4 * kept
    assert read.faults == (f"cut short: {50 - kept} of 50 records are missing",)
    assert len(join(read).cycles.start) == len([at for at in (3, 8, 13) if at <= kept])


def test_a_record_being_overwritten_does_not_count(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tarec", steady(2))
    data = bytearray(path.read_bytes())
    room = struct.unpack_from("<q", data, 8 * ring.ALLOCATED)[0]
    struct.pack_into("<q", data, 8 * ring.RESERVED, room + 3)
    read = read_run_file("a", bytes(data))
    assert read.counters.overwritten == 3
    assert len(read.words) == 4 * (10 - 3)


def test_damaged_facts_fall_back_to_the_older_ones(tmp_path: Path) -> None:
    made = ring.Ring(str(tmp_path / "a.tarec"), facts(worker="Old"), 4096, 0)
    made.tell(facts(worker="New"))
    data = bytearray((tmp_path / "a.tarec").read_bytes())
    assert read_run_file("a", bytes(data)).header.worker == "New"
    place = data.index(b'"New"')
    data[place + 1] ^= 1
    read = read_run_file("a", bytes(data))
    assert read.header.worker == "Old"
    assert read.faults == ("the newest facts are damaged; older ones were taken",)


@given(st.data())
def test_any_damage_is_told_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = write(tmp_path_factory.mktemp("x") / "a.tarec", steady(3))
    content = bytearray(path.read_bytes()[: 3 * ring.HEAD_SIZE])
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(Damaged):
        process = join(read_run_file("a", bytes(content[: data.draw(st.integers(0, len(content)))])))
        assert len(process.cycles.start) <= 3


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "not a run file"), (b"x" * 10_000, "not a run file"), (ring.MAGIC + bytes(9000), "impossible")],
)
def test_a_file_of_another_kind_is_told(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "a.tarec").write_bytes(content)
    with pytest.raises(TimingAuditError, match=why):
        read_run([str(tmp_path)])


def test_a_format_of_another_version_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tarec", [], format=2)
    with pytest.raises(Damaged, match="its format is 2"):
        read_run_file("a", path.read_bytes())


def test_one_bad_file_among_good_ones_is_listed(tmp_path: Path) -> None:
    write(tmp_path / "a.tarec", steady(1))
    (tmp_path / "b.tarec").write_bytes(b"?")
    run = read_run([str(tmp_path)])
    assert len(run.processes) == 1
    assert [Path(one.name).name for one in run.unread] == ["b.tarec"]


def test_folders_globs_files_and_tars_hold_the_same_run(tmp_path: Path) -> None:
    path = write(tmp_path / "deep" / "er" / "a.tarec", steady(2))
    with tarfile.open(tmp_path / "run.tar.gz", "w:gz") as archive:
        archive.add(path, "a.tarec")
    for place in (tmp_path, tmp_path / "deep", path, tmp_path / "**" / "*.tarec", tmp_path / "run.tar.gz"):
        (process,) = read_run([str(place)]).processes
        assert len(process.cycles.start) == 2


def test_a_tar_comes_on_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.tarec", steady(2))
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.add(path, "run/a.tarec")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stream.getvalue())))
    assert len(read_run(["-"]).processes) == 1


@pytest.mark.parametrize("place", ["nowhere", "no*thing"])
def test_a_place_that_does_not_exist_is_told(tmp_path: Path, place: str) -> None:
    with pytest.raises(TimingAuditError, match="does not exist"):
        read_run([str(tmp_path / place)])


# Joining.


def joined(path: Path, words: list[int]) -> list[tuple[int, int]]:
    cycles = join(read_run_file("a", write(path, words).read_bytes())).cycles
    return list(zip(cycles.start, cycles.stream, strict=True))


def test_stream_spans_are_joined_before_and_after_their_cycle_is_followed_by_another(tmp_path: Path) -> None:
    late = [*span(CYCLE, 10, 20), *span(CYCLE, 30, 40), *span(CYCLE, 50, 60), *stream(CYCLE, 10, 0, 7)]
    soon = [*span(CYCLE, 10, 20), *stream(CYCLE, 10, 0, 7), *span(CYCLE, 30, 40)]
    assert joined(tmp_path / "a.tarec", late) == [(10, 7), (30, NOT_MEASURED), (50, NOT_MEASURED)]
    assert joined(tmp_path / "b.tarec", soon) == [(10, 7), (30, NOT_MEASURED)]


def test_regions_outside_any_cycle_are_counted(tmp_path: Path) -> None:
    words = [
        *span(DRAFT, 1, 2),
        *span(DRAFT, 11, 12),
        *span(CYCLE, 10, 20),
        *span(VERIFY, 30, 31),
        *span(DRAFT, 12, 13, 9),
    ]
    process = join(read_run_file("a", write(tmp_path / "a.tarec", words).read_bytes()))
    assert process.outside == 3
    assert len(process.parts[DRAFT].cycle) == 1


def test_windows_and_modes_go_with_their_cycle(tmp_path: Path) -> None:
    words = [
        *window(1), *span(CYCLE, 10, 20), *values(10, 4, 2), *window(2), *span(CYCLE, 30, 40), *values(30, 0, 3),
        *span(CYCLE, 50, 60), *values(50, 3, 1),
    ]  # fmt: skip
    cycles = join(read_run_file("a", write(tmp_path / "a.tarec", words).read_bytes())).cycles
    assert list(cycles.window) == [1, 2, 2]
    assert list(cycles.phase) == [1, 2, 0]
    assert list(cycles.size) == [4, 0, 3]
