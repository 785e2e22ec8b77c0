"""Archives: the same paths as the tree they were made of, and no trust in what they say."""

from __future__ import annotations

import io
import os
import pickle
import random
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.unit.source.source_trees import CHECKOUT, PACKAGE_PATHS, link_header, tar_bytes, write, zip_file
from timing_audit.errors import TimingAuditError
from timing_audit.model.source import Skipped
from timing_audit.source import limits
from timing_audit.source.decode import Unreadable
from timing_audit.source.target import open_target
from timing_audit.source.tree import Tree

SDIST = {f"sglang-1.2.3/{name}": data for name, data in CHECKOUT.items()}
BARE = {"./" + name.removeprefix("python/sglang/"): b"" for name in CHECKOUT if name.startswith("python/sglang/")}
WHEEL = {
    **{name.removeprefix("python/"): data for name, data in CHECKOUT.items() if name.startswith("python/sglang")},
    "sglang-1.2.4.dist-info/METADATA": b"Name: sglang\nVersion: 1.2.4\n\nVersion: 9\n",
    "tools/release.py": b"",
}


def from_stdin(data: bytes) -> Tree:
    """Open a tar as it comes through a pipe."""
    return open_target("-", stdin=io.BytesIO(data))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize(("files", "prefix"), [(CHECKOUT, "python/"), (SDIST, "sglang-1.2.3/python/")])
def test_tar_of_a_checkout(tmp_path: Path, mode: str, files: dict[str, bytes], prefix: str) -> None:
    """Only the package counts, whatever lies around and above it; its bytes and its name in the tar are kept."""
    (tmp_path / "sglang.tar").write_bytes(tar_bytes(files, mode))

    tree = open_target(str(tmp_path / "sglang.tar"))

    assert (tree.label, tree.package, tree.paths) == ("sglang 1.2.3 (tar)", "sglang", PACKAGE_PATHS)
    assert tree.raw("sglang/srt/managers/scheduler.py") == b"import time\n"
    assert tree.origin(PACKAGE_PATHS[0]) == f"{prefix}sglang/__init__.py"
    assert tree.root is None and tree.disk_path(PACKAGE_PATHS[0]) is None


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("files", [CHECKOUT, BARE])
def test_tar_on_standard_input(files: dict[str, bytes], mode: str) -> None:
    """A stream is read once, front to back; a package without its name is the engine."""
    tree = from_stdin(tar_bytes(files, mode))

    assert tree.paths == PACKAGE_PATHS
    assert tree.label.startswith("sglang") and tree.label.endswith("(tar stream)")


def test_wheel(tmp_path: Path) -> None:
    """The version comes from the metadata's header; what else the wheel installs is not audited."""
    tree = open_target(str(zip_file(tmp_path / "sglang-1.2.4-py3-none-any.whl", WHEEL)))

    assert (tree.label, tree.paths) == ("sglang 1.2.4 (wheel)", PACKAGE_PATHS)
    assert tree.read("sglang/srt/speculative/worker.py").text == "x = 1\n"


def test_archive_of_no_package(tmp_path: Path) -> None:
    """Without the engine all sources count, below a top folder that could not be imported."""
    files = {"x-main/a.py": b"", "x-main/b/c.py": b"", "x-main/.git/h.py": b"", "x-main/build/d.py": b""}
    tree = open_target(str(zip_file(tmp_path / "x.zip", files)))

    assert (tree.label, tree.package, tree.paths) == ("x.zip", "", ("a.py", "b/c.py"))


def test_zip_survives_pickling_and_forking(tmp_path: Path) -> None:
    """A worker process reads through a file position of its own."""
    tree = open_target(str(zip_file(tmp_path / "w.whl", WHEEL)))
    copy = pickle.loads(pickle.dumps(tree))
    child = os.fork()
    if child == 0:
        os._exit(0 if tree.raw("sglang/srt/speculative/worker.py") == b"x = 1\n" else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert copy.raw("sglang/srt/speculative/worker.py") == b"x = 1\n"


def test_damaged_member_is_unreadable(tmp_path: Path) -> None:
    """A checksum that does not fit costs one file, not the run."""
    path = tmp_path / "w.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.py", b"value = 1\n")
        archive.writestr("b.py", b"value = 2\n")
    path.write_bytes(path.read_bytes().replace(b"value = 1", b"value = 7"))

    tree = open_target(str(path))

    assert tree.raw("b.py") == b"value = 2\n"
    with pytest.raises(Unreadable, match="damaged in the archive: Bad CRC-32"):
        tree.raw("a.py")


NOISE = random.Random(0).randbytes(30_000)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_truncated_tar_is_refused(mode: str) -> None:
    """Half a tree is no tree: whatever was cut off may have been the hot path."""
    whole = tar_bytes({"a.py": b"", "noise.bin": NOISE, "z.py": b""}, mode)

    with pytest.raises(TimingAuditError, match="standard input is truncated or damaged") as caught:
        from_stdin(whole[: len(whole) // 2])
    assert caught.value.exit_code == 3


def test_tar_cut_between_members_is_refused() -> None:
    """tarfile takes such an end for the end of the archive; the missing end mark tells."""
    block = tarfile.BLOCKSIZE
    whole = tar_bytes({"a.py": b"x", "b.py": b"y"})

    with pytest.raises(TimingAuditError, match="no end-of-archive mark"):
        from_stdin(whole[: 2 * block])
    with pytest.raises(TimingAuditError, match="no end-of-archive mark"):
        from_stdin(whole[: 2 * block] + b"garbage".ljust(block, b"\1") + whole[2 * block :])


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("cut.whl", b"PK\x03\x04 no index", "cut.whl is truncated or damaged"),
        ("none.tar", b"", "none.tar is empty"),
        ("text.tar.gz", b"hello\n", "text.tar.gz is no tar archive"),
        ("x.tar.zst", b"\x28\xb5\x2f\xfd" + bytes(600), "zstd archives are not supported"),
        ("x.rar", b"Rar!", "x.rar is no kind of target that can be audited"),
        ("x.tar", tar_bytes({"README": b"no Python here"}), "no Python files in x.tar"),
    ],
)
def test_what_is_no_archive_is_said_in_one_line(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    """Exit code 3: the target could not be audited."""
    (tmp_path / name).write_bytes(data)

    with pytest.raises(TimingAuditError, match=message) as caught:
        open_target(str(tmp_path / name))
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value) and str(tmp_path) not in str(caught.value)


def test_empty_and_terminal_standard_input() -> None:
    """A failed ssh gives an empty pipe; a terminal would wait for ever."""

    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    with pytest.raises(TimingAuditError, match="standard input is empty") as empty:
        from_stdin(b"")
    with pytest.raises(TimingAuditError, match="is a terminal") as terminal:
        open_target("-", stdin=Terminal())
    assert (empty.value.exit_code, terminal.value.exit_code) == (3, 2)


ESCAPES = {"/etc/a.py": b"", "../up.py": b"", "x/../../up2.py": b"", "C:\\b.py": b"", "ok.py": b""}
ESCAPES_TOLD = ("../up.py", "/etc/a.py", "C:\\b.py", "x/../../up2.py")


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_names_that_lead_out_are_refused(tmp_path: Path, kind: str) -> None:
    """Nothing is unpacked, but a name from outside must not stand for a file of the tree."""
    path = zip_file(tmp_path / "x.zip", ESCAPES) if kind == "zip" else tmp_path / "x.tar"
    if kind == "tar":
        path.write_bytes(tar_bytes(ESCAPES))

    tree = open_target(str(path))

    assert tree.paths == ("ok.py",)
    assert tree.skipped == tuple(Skipped(name, "its name leads out of the archive") for name in ESCAPES_TOLD)


def test_links_in_a_tar() -> None:
    """A symbolic link adds nothing or is skipped; a hard link is a file of its own."""
    links = (
        link_header("pkg/inside.py", "../a.py"),
        link_header("pkg/chain.py", "inside.py"),
        link_header("pkg/out.py", "../../x.py"),
        link_header("abs.py", "/etc/x.py"),
        link_header("dangling.py", "nowhere.py"),
        link_header("l1.py", "l2.py"),
        link_header("l2.py", "l1.py"),
        link_header("hard.py", "./a.py", tarfile.LNKTYPE),
        link_header("lost.py", "elsewhere.py", tarfile.LNKTYPE),
        link_header("data.bin", "/etc/passwd"),
    )

    tree = from_stdin(tar_bytes({"a.py": b"A"}, extra=links))

    assert tree.paths == ("a.py", "hard.py")
    assert tree.raw("hard.py") == b"A"
    assert {entry.file: entry.reason for entry in tree.skipped} == {
        "pkg/out.py": "link leads out of the archive",
        "abs.py": "link leads out of the archive",
        "dangling.py": "dangling link",
        "l1.py": "symbolic link loop",
        "l2.py": "symbolic link loop",
        "lost.py": "dangling link",
    }


def test_links_in_a_zip(tmp_path: Path) -> None:
    """A link's content is its target, which is no Python."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.py", b"A")
        for name, target in (("in.py", "a.py"), ("out.py", "../a.py")):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o120777 << 16
            archive.writestr(entry, target)

    tree = open_target(str(tmp_path / "x.zip"))

    assert tree.paths == ("a.py",)
    assert tree.skipped == (Skipped("out.py", "link leads out of the archive"),)


def test_one_huge_file_is_skipped(tmp_path: Path) -> None:
    """By its size in a tar, by what it unpacks to in a zip; the rest of the archive is audited."""
    huge = bytes(limits.MAX_FILE_BYTES + 1)
    packed = bytes(limits.RATIO_MATTERS_FROM + 1)

    tar = from_stdin(tar_bytes({"a.py": b"", "huge.py": huge}))
    archive = open_target(str(zip_file(tmp_path / "x.zip", {"a.py": b"", "huge.py": huge, "packed.py": packed})))

    assert tar.paths == archive.paths == ("a.py",)
    assert tar.skipped == (Skipped("huge.py", "too large: 16 MiB, where 16 MiB are read"),)
    assert archive.skipped == (*tar.skipped, Skipped("packed.py", "unpacks to more than 200 times its size"))


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MAX_MEMBERS", 2, "more than 2 entries"),
        ("MAX_TOTAL_BYTES", 2, "MiB of Python"),
        ("MAX_UNPACKED_BYTES", 2, "MiB unpacked"),
    ],
)
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_bombs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, limit: str, value: int, message: str
) -> None:
    """Each limit ends the run with one line, not with the machine's memory."""
    monkeypatch.setattr(limits, limit, value)
    files = {"a.py": b"11", "b.py": b"22", "c.py": b"33"}
    path = zip_file(tmp_path / "x.zip", files) if kind == "zip" else tmp_path / "x.tar"
    if kind == "tar":
        path.write_bytes(tar_bytes(files))

    with pytest.raises(TimingAuditError, match=message) as caught:
        open_target(str(path))
    assert caught.value.exit_code == 3


def test_compressed_tar_that_unpacks_to_nothing_but_zeros_is_refused(tmp_path: Path) -> None:
    """The ratio is known from the headers, before the data is unpacked."""
    (tmp_path / "x.tgz").write_bytes(tar_bytes({"a.py": b"", "zeros": bytes(4 * limits.MIB), "b.py": b""}, "w:gz"))

    with pytest.raises(TimingAuditError, match="unpacks to more than 200 times its size"):
        open_target(str(tmp_path / "x.tgz"))


def test_last_of_two_members_of_one_name_wins() -> None:
    """As it would when unpacked."""
    first, second = tar_bytes({"a.py": b"old"}), tar_bytes({"./a.py": b"new"})

    tree = from_stdin(first[: 2 * tarfile.BLOCKSIZE] + second)

    assert (tree.paths, tree.raw("a.py")) == (("a.py",), b"new")


def test_nothing_heavy_is_imported_for_a_folder(tmp_path: Path) -> None:
    """A scan of a folder pays for no archive module."""
    write(tmp_path, {"a.py": b""})
    code = (
        "import sys; from timing_audit.source.target import open_target; open_target(sys.argv[1]); print(*sys.modules)"
    )

    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)

    assert not {"tarfile", "zipfile", "subprocess", "importlib.metadata"} & set(run.stdout.split())
