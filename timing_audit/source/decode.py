"""Bytes to SourceFile and back, without losing a byte: encoding cookie, BOM and line ends are remembered."""

from __future__ import annotations

import codecs
import io
import re
import tokenize

from timing_audit.model.source import SourceFile

LONE_CR = re.compile(rb"\r(?!\n)")
"""Python ends a line here, tree-sitter does not, so every line number after it would be wrong."""


class Unreadable(Exception):
    """A file that cannot be audited; its text is the one-line reason of the `Skipped` entry."""


def decode(path: str, raw: bytes) -> SourceFile:
    """Decode a file as Python itself would, or raise `Unreadable`."""
    if b"\0" in raw:
        raise Unreadable("contains null bytes")
    if b"\r" in raw and LONE_CR.search(raw):
        raise Unreadable("carriage-return-only line ends are not supported")
    if raw.startswith(codecs.BOM_UTF8) or _may_hold_cookie(raw):
        return _decode_declared(path, raw)
    return SourceFile(path, _decode_as(raw, "utf-8"), raw, "utf-8", False, _line_end(raw))


def encode(file: SourceFile, text: str) -> bytes:
    """The bytes to write for `text` in the encoding of `file`; for its own text, the bytes that were read."""
    try:
        return (codecs.BOM_UTF8 if file.bom else b"") + text.encode(file.encoding)
    except UnicodeError:
        raise Unreadable(f"the new text cannot be written in its encoding, {file.encoding}") from None


def _may_hold_cookie(raw: bytes) -> bool:
    first = raw.find(b"\n")
    second = raw.find(b"\n", first + 1) if first >= 0 else -1
    return raw.find(b"coding", 0, second if second >= 0 else len(raw)) >= 0


def _decode_declared(path: str, raw: bytes) -> SourceFile:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    except SyntaxError as error:
        raise Unreadable(_one_line(str(error.msg))) from None
    bom = raw.startswith(codecs.BOM_UTF8)
    body = raw[len(codecs.BOM_UTF8) :] if bom else raw
    encoding = "utf-8" if bom else encoding
    text = _decode_as(body, encoding)
    file = SourceFile(path, text, text.encode("utf-8"), encoding, bom, _line_end(body))
    # Some codecs (utf-7, iso-2022-jp) have several spellings of one text.
    if encode(file, text) != raw:
        raise Unreadable(f"cannot be written back in its encoding, {encoding}")
    return file


def _decode_as(raw: bytes, encoding: str) -> str:
    try:
        text = raw.decode(encoding)
        text.encode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"not valid {encoding} (line {line})") from None
    except (UnicodeError, LookupError) as error:
        raise Unreadable(f"cannot be decoded as {encoding}: {_one_line(str(error))}") from None
    return text


def _line_end(raw: bytes) -> str:
    crlf = raw.count(b"\r\n")
    return "\r\n" if crlf and crlf * 2 > raw.count(b"\n") else "\n"


def _one_line(message: str) -> str:
    return " ".join(message.split())
