"""Where the import of a permanent change goes: what black and isort would leave as it is."""

from __future__ import annotations

import pytest

from timing_audit.codemod.statements import Source
from timing_audit.codemod.text import insert

LONG = "assign_request_to_token_pool_function_of_the_tree_itself"
SHORT = "from a.b import cut, zip_all\n"
IMPORTS = {
    "short": (SHORT, "from a.b import cut, span, zip_all\n"),
    "88 wide": (f"from a.very_long.name import {LONG[:53]}\n", f"from a.very_long.name import {LONG[:53]}, span\n"),
    "89 wide": (
        f"from a.very_long.name import {LONG[:54]}\n",
        f"from a.very_long.name import (\n    {LONG[:54]},\n    span,\n)\n",
    ),
    "89 wide, sorted": (
        f"from a.very_long.name import {LONG[:50]}, up as u\n",
        f"from a.very_long.name import (\n    {LONG[:50]},\n    span,\n    up as u,\n)\n",
    ),
    "a list of lines": (
        "from a.b import (\n    cut,\n    zip_all,\n)\n",
        "from a.b import (\n    cut,\n    span,\n    zip_all,\n)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", IMPORTS)
def test_a_name_is_added_to_an_import(name: str, newline: str) -> None:
    before, expected = (text.replace("\n", newline) for text in IMPORTS[name])
    module = before.split(" ")[1]
    rest = newline.join(["", "", "def f(b):", "    return b", ""])
    after = insert(Source(before + rest), [], f"from {module} import span", "block", marked=False)
    assert after == expected + rest
