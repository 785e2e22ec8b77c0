"""The golden files: what a scan of the mini engine says. `make update-golden` writes them anew."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from timing_audit.model.options import Options
from timing_audit.model.report import Report
from timing_audit.packs.load import load_packs
from timing_audit.pipeline import audit
from timing_audit.render.json import render_json
from timing_audit.render.text import render_text
from timing_audit.source.target import open_target

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
MINI = FIXTURES / "mini_sglang"
GOLDEN = FIXTURES / "golden"


@cache
def mini_report() -> Report:
    """The scan of the mini engine, as a user in the project's folder would run it."""
    return audit(open_target(str(MINI)), load_packs(), Options(target="fixtures/mini_sglang"))


def rendered() -> dict[str, str]:
    """The content of every golden file by name."""
    report = mini_report()
    return {"mini_sglang.json": render_json(report), "mini_sglang.txt": render_text(report)}


def main() -> None:
    """Writes the golden files."""
    for name, content in rendered().items():
        (GOLDEN / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
