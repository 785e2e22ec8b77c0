"""Comments are told from text in strings."""

from __future__ import annotations

from timing_audit.syntax.comments import comments

SOURCE = b'''# first
x = 1  # second
note = "# none"
text = """
# none
"""
def f(  # third
):
    # fourth
    return "\xc3\xa9"  # f\xc3\xbcnf
'''


def test_comments_with_their_lines() -> None:
    assert [(comment.line, comment.text, comment.alone) for comment in comments(SOURCE)] == [
        (1, "# first", True),
        (2, "# second", False),
        (7, "# third", False),
        (9, "# fourth", True),
        (10, "# f\u00fcnf", False),
    ]


def test_a_source_with_errors_has_comments_too() -> None:
    assert [comment.line for comment in comments(b"def f(:\n    pass  # here\n")] == [2]
