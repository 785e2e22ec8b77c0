"""Decoding keeps every byte, or says in one line why it does not."""

from __future__ import annotations

import ast
import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timing_audit.source.decode import Unreadable, decode, encode

LATIN = "# -*- coding: latin-1 -*-\nname = 'é'\n"


@pytest.mark.parametrize(
    ("raw", "text", "encoding", "bom", "newline"),
    [
        (b"", "", "utf-8", False, "\n"),
        (b"x = 1\n", "x = 1\n", "utf-8", False, "\n"),
        ("s = 'ü'\r\ny\r\n".encode(), "s = 'ü'\r\ny\r\n", "utf-8", False, "\r\n"),
        (codecs.BOM_UTF8 + b"x\n", "x\n", "utf-8", True, "\n"),
        (codecs.BOM_UTF8 + b"# coding: utf-8\r\nx\r\n", "# coding: utf-8\r\nx\r\n", "utf-8", True, "\r\n"),
        (LATIN.encode("latin-1"), LATIN, "iso-8859-1", False, "\n"),
        (b"#!/usr/bin/python\n# vim: fileencoding=cp1252\n\x80\n", None, "cp1252", False, "\n"),
        (b"a\r\nb\nc\n", "a\r\nb\nc\n", "utf-8", False, "\n"),
        (b"a\n\nencoding = 'latin-1'\n", "a\n\nencoding = 'latin-1'\n", "utf-8", False, "\n"),
    ],
)
def test_text_and_format_are_remembered(raw: bytes, text: str | None, encoding: str, bom: bool, newline: str) -> None:
    """Cookie, BOM and line end come from the file, and writing it back gives the same bytes."""
    file = decode("a.py", raw)

    assert (file.encoding, file.bom, file.newline) == (encoding, bom, newline)
    assert file.text == (text if text is not None else raw.decode(encoding))
    assert file.data == file.text.encode()
    assert encode(file, file.text) == raw


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"x\0y\n", "contains null bytes"),
        (b"x = 1\ry = 2\r", "carriage-return-only line ends are not supported"),
        (b"x\r\ny\rz\n", "carriage-return-only line ends are not supported"),
        (b"ok\n\n\xff\n", "not valid utf-8 (line 3)"),
        (b"# coding: klingon\n", "unknown encoding: klingon"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "encoding problem: utf-8"),
        (b"# coding: hex\n00\n", "cannot be decoded as hex"),
        (b"# coding: utf-7\nx = '+AOk-'\n", "cannot be written back in its encoding, utf-7"),
    ],
)
def test_what_python_would_not_read_is_unreadable(raw: bytes, reason: str) -> None:
    """Each fault has its own reason, in one line."""
    with pytest.raises(Unreadable) as caught:
        decode("a.py", raw)

    assert str(caught.value).startswith(reason)
    assert "\n" not in str(caught.value)


def test_new_text_that_the_encoding_lacks_is_refused() -> None:
    """A codemod must not write a file that cannot be read again."""
    file = decode("a.py", LATIN.encode("latin-1"))

    with pytest.raises(Unreadable, match="iso-8859-1"):
        encode(file, file.text + "# 速\n")


def test_a_long_first_line_is_quick() -> None:
    """Looking for a cookie must not be quadratic in the length of a line."""
    raw = b"x = '" + b"codin" * 400_000 + b"'"

    assert decode("a.py", raw).encoding == "utf-8"


@given(st.binary(max_size=80), st.sampled_from([b"", codecs.BOM_UTF8, b"# coding: latin-1\n", b"#coding:gbk\r\n"]))
def test_any_bytes_come_back_or_are_unreadable(body: bytes, head: bytes) -> None:
    """There is no third way: no other exception, no byte lost."""
    try:
        file = decode("a.py", head + body)
    except Unreadable:
        return

    assert encode(file, file.text) == head + body
    assert file.data == file.text.encode()


@given(st.text(max_size=60).map(lambda text: f"x = {text!r}\n"), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_what_python_parses_decodes_alike(source: str, codec: str) -> None:
    """The text is what the compiler itself reads."""
    raw = source.encode(codec)

    assert ast.dump(ast.parse(decode("a.py", raw).text)) == ast.dump(ast.parse(raw))
