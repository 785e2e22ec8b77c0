"""The cases about writing: apply and strip on the files of tests/data/cases.jsonl."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from timing_audit.cli import run

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parent / "data/cases.jsonl").read_text(encoding="utf-8").splitlines())
}
LITERAL = re.compile(r"^File bytes as a Python literal: (b'.*')\s*$", re.DOTALL)
LAYOUTS = ("lines", "block")
DECLINED = {"codemod-name-collisions": (), "codemod-jit-and-compiled-functions": ("lines",)}


def write_case(folder: Path, name: str) -> dict[Path, bytes]:
    text = CASES[name]["input"]
    found = LITERAL.match(text)
    if found:
        files = {"w.py": bytes(eval(found[1]))}
    else:
        parts = re.split(r"^# --- file: (\S+)\n", text, flags=re.MULTILINE)
        files = {"w.py": text.encode()} if len(parts) == 1 else {
            file: body.encode() for file, body in zip(parts[1::2], parts[2::2], strict=True)
        }  # fmt: skip
    for file, data in files.items():
        (folder / file).write_bytes(data)
    return {folder / file: data for file, data in files.items()}


def apply(folder: Path, layout: str = "block", *more: str) -> int:
    entry = ("--entry", "*forward_batch_generation")
    return run(
        ["apply", "--codemod", str(folder), *entry, "--detail", "function", "--layout", layout, "--no-cache", *more]
    )


def restored(files: dict[Path, bytes]) -> bool:
    return all(file.read_bytes() == data for file, data in files.items())


SIMPLE = [
    name
    for name, case in CASES.items()
    if case["area"] == "codemod" or name in ("io-crlf-without-final-newline", "io-utf8-bom", "io-latin1-cookie")
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SIMPLE)
def test_apply_compiles_is_idempotent_and_strip_restores(tmp_path: Path, name: str, layout: str) -> None:
    files = write_case(tmp_path, name)
    assert apply(tmp_path, layout) == 0
    once = {file: file.read_bytes() for file in files}
    for file, data in once.items():
        compile(data, str(file), "exec")
        if layout == "lines":
            assert data.count(b"\n") == files[file].count(b"\n")
    assert apply(tmp_path, layout) == 0
    assert {file: file.read_bytes() for file in files} == once
    assert run(["strip", str(tmp_path)]) == 0
    assert restored(files)
    assert sorted(tmp_path.iterdir()) == sorted(files)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SIMPLE)
def test_strip_goes_by_marks_where_the_manifest_is_gone(tmp_path: Path, name: str, layout: str) -> None:
    files = write_case(tmp_path, name)
    apply(tmp_path, layout)
    (tmp_path / "_timing_audit.json").unlink(missing_ok=True)
    assert run(["strip", str(tmp_path)]) == 0
    assert restored(files)


def applied(tmp_path: Path, name: str, layout: str = "block") -> str:
    """The one file of a case with probes in it."""
    (file,) = write_case(tmp_path, name)
    assert apply(tmp_path, layout) == 0
    return file.read_bytes().decode("latin-1")


def test_the_header_stays_in_front(tmp_path: Path) -> None:
    text = applied(tmp_path, "codemod-import-after-header")
    assert text.splitlines()[:5] == CASES["codemod-import-after-header"]["input"].splitlines()[:5]
    assert "with _timing." in text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_comes_before_the_docstring_or_a_future_import(tmp_path: Path, layout: str) -> None:
    files = write_case(tmp_path, "codemod-header-with-semicolons")
    apply(tmp_path, layout)
    for file in files:
        text = file.read_text()
        assert "import _timing_audit" in text
        assert text.startswith(("from __future__", '"""Doc."""; import os'))


def test_one_line_suites_are_declined_and_order_is_kept(tmp_path: Path) -> None:
    text = applied(tmp_path, "codemod-one-line-suites")
    assert "    elif b.extend: out = w.prefill(b); w.note(out)\n" in text
    assert "    while w.busy(): w.poll()\n" in text
    assert "n = 1; out = w.trim(out); n += 1;" in text


def test_strings_and_continuations_keep_their_columns(tmp_path: Path) -> None:
    text = applied(tmp_path, "codemod-multiline-string-untouched")
    assert '"""tree:\n  root\n    leaf\n""", scale=1 + \\\n  2)' in text
    assert "    with _timing." in text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_comments_stay_on_the_line_of_their_code(tmp_path: Path, layout: str) -> None:
    text = applied(tmp_path, "codemod-trailing-comments-stay", layout)
    for code, comment in (
        ("w.draft(b)", "# type: ignore[attr-defined]"), ("w.verify(", "# noqa: E501"), ("out,", "# keep"),
        (")", "# pragma: no cover"),
    ):  # fmt: skip
        (line,) = [line for line in text.splitlines() if comment in line]
        assert code in line.partition(comment)[0]


def test_odd_comments_survive_once_each(tmp_path: Path) -> None:
    text = applied(tmp_path, "codemod-odd-comment-after-wrapped-line")
    assert text.count("\n        # accepted tokens are counted later\n    # then trimmed\n") == 1
    assert "with _timing." in text


def test_kernels_and_compiled_code_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = applied(tmp_path, "codemod-jit-and-compiled-functions")
    source = CASES["codemod-jit-and-compiled-functions"]["input"]
    kernel = source[source.index("@triton.jit") : source.index("class W")]
    assert kernel in text
    assert "starts on another line" in capsys.readouterr().out


def test_no_name_of_the_file_is_bound_again(tmp_path: Path) -> None:
    text = applied(tmp_path, "codemod-name-collisions")
    inserted = [line for line in text.splitlines() if "timing: probe" in line]
    bound = {match[1] for line in inserted if (match := re.search(r" as (\w+)  #", line))}
    assert bound == {"_timing"}


def test_functions_are_not_decorated_nor_wrapped_across_suspension(tmp_path: Path) -> None:
    text = applied(tmp_path, "codemod-generators-and-async")
    assert text.count("@") == 1
    assert "            yield part\n" in text and "        return await self.remote(b)\n" in text


def test_calls_are_not_moved_into_another_scope(tmp_path: Path) -> None:
    text = applied(tmp_path, "codemod-no-lambda-wrapping")
    assert "lambda" not in text and "def " not in text.partition("def ")[2]
    assert "        if (n := self.count(out)) > 3:\n" in text


def test_crlf_is_written_in_crlf_files(tmp_path: Path) -> None:
    write_case(tmp_path, "io-crlf-without-final-newline")
    apply(tmp_path)
    data = (tmp_path / "w.py").read_bytes()
    assert b"with _timing." in data
    assert data.count(b"\n") == data.count(b"\r\n") and not data.endswith(b"\n")


def test_the_bom_stays_in_front_once(tmp_path: Path) -> None:
    write_case(tmp_path, "io-utf8-bom")
    apply(tmp_path)
    data = (tmp_path / "w.py").read_bytes()
    assert data.startswith(b'\xef\xbb\xbf"""Doc."""') and data.count(b"\xef\xbb\xbf") == 1


def test_latin1_stays_latin1(tmp_path: Path) -> None:
    write_case(tmp_path, "io-latin1-cookie")
    apply(tmp_path)
    data = (tmp_path / "w.py").read_bytes()
    assert b'"dur\xe9e"' in data and data.startswith(b"# -*- coding: latin-1 -*-\n")


def test_links_are_followed_inside_the_tree(tmp_path: Path) -> None:
    for folder in ("src", "alias"):
        (tmp_path / folder).mkdir()
    source = b"import os\n\n\ndef forward_batch_generation(w, b):\n    return w.verify(b)\n"
    (tmp_path / "src/w.py").write_bytes(source)
    (tmp_path / "src/w.py").chmod(0o640)
    (tmp_path / "alias/w.py").symlink_to("../src/w.py")
    (tmp_path / "alias/gone.py").symlink_to("nowhere.py")
    (tmp_path / "alias/loop.py").symlink_to("loop.py")
    apply(tmp_path)
    assert (tmp_path / "alias/w.py").is_symlink()
    assert b"timing: probe" in (tmp_path / "src/w.py").read_bytes()
    assert (tmp_path / "src/w.py").stat().st_mode & 0o777 == 0o640
    run(["strip", str(tmp_path)])
    assert (tmp_path / "src/w.py").read_bytes() == source and (tmp_path / "alias/w.py").is_symlink()


def test_a_file_that_changed_since_the_plan_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from timing_audit.codemod import write as writing

    for name in "abc":
        (tmp_path / f"{name}.py").write_text("import os\n\n\ndef forward_batch_generation(w, b):\n    return w.go(b)\n")
    real = writing.write

    def late(root: Path, changes: object) -> object:
        with open(tmp_path / "b.py", "a", encoding="utf-8") as stream:
            stream.write("# edited\n")
        return real(root, changes)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "write", late)
    assert apply(tmp_path) == 3
    assert "b.py" in capsys.readouterr().err
    monkeypatch.setattr(writing, "write", real)
    assert (tmp_path / "b.py").read_text().endswith("# edited\n") and "probe" not in (tmp_path / "b.py").read_text()
    assert "timing: probe" in (tmp_path / "a.py").read_text() and "timing: probe" in (tmp_path / "c.py").read_text()
    assert apply(tmp_path) == 0
    assert "timing: probe" in (tmp_path / "b.py").read_text()


def test_broken_files_are_left_alone(tmp_path: Path) -> None:
    files = write_case(tmp_path, "bad-syntax-error-among-good-files")
    apply(tmp_path)
    assert {file.name for file, data in files.items() if file.read_bytes() != data} == {"good.py"}


@pytest.mark.parametrize("name", ["bad-carriage-return-newlines", "bad-empty-and-comment-only-files"])
def test_files_that_cannot_be_edited_stay(tmp_path: Path, name: str) -> None:
    text = CASES[name]["input"]
    found = LITERAL.match(text)
    files = (
        {tmp_path / "w.py": bytes(eval(found[1]))}
        if found
        else {tmp_path / "empty.py": b"", tmp_path / "note.py": b"# nothing here", tmp_path / "blank.py": b"\n\n"}
    )
    for file, data in files.items():
        file.write_bytes(data)
    assert apply(tmp_path) == 3
    assert run(["strip", str(tmp_path)]) == 0
    assert restored(files) and sorted(os.listdir(tmp_path)) == sorted(file.name for file in files)
