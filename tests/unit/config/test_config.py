"""The configuration: what is read, which file counts, and all faults at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from timing_audit.config.find import find_config
from timing_audit.config.read import read_config
from timing_audit.errors import TimingAuditError
from timing_audit.model.config import ApplyConfig, ChecksConfig, Config

ROOT = Path(__file__).resolve().parents[3]
FULL = """\
targets = ["python"]
excludes = ["*/test/*"]
entries = ["Worker.step"]
baseline = "ci/b.json"
probes = "kept"

[checks]
select = ["untimed-*"]
ignore = ["untimed-region"]

[apply]
workers = ["EAGLE3"]
stages = ["cycle", "verify"]
detail = "function"
backend = "nvtx"
layout = "block"
"""
READ = Config(
    file="p/timing-audit.toml", folder="p", targets=("python",), excludes=("*/test/*",), entries=("Worker.step",),
    baseline="ci/b.json", probes="kept", checks=ChecksConfig(("untimed-*",), ("untimed-region",)),
    apply=ApplyConfig(("EAGLE3",), ("cycle", "verify"), "function", "nvtx", "block"),
)  # fmt: skip


def shared(text: str) -> str:
    """The same settings as they stand in pyproject.toml."""
    return "[tool.timing-audit]\n" + text.replace("[checks]", "[tool.timing-audit.checks]").replace(
        "[apply]", "[tool.timing-audit.apply]"
    )


def test_every_key_is_read_from_both_kinds_of_file() -> None:
    assert read_config("p/timing-audit.toml", FULL.encode(), shared=False) == READ
    found = read_config("p/pyproject.toml", shared(FULL).encode(), shared=True)
    assert found == READ._replace(file="p/pyproject.toml")


def test_the_example_in_the_docs_is_read() -> None:
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    text = page.split("```toml\n")[1].split("```")[0]

    config = read_config("pyproject.toml", text.encode(), shared=True)

    assert all(config._asdict()[name] for name in set(Config._fields) - {"folder"})
    assert all(config.apply) and all(config.checks)


def test_all_faults_are_told_at_once_with_line_key_and_near_match() -> None:
    text = """\
[tool.timing-audit]
target = ["a"]
excludes = "tests"
probes = "keep"
[tool.timing-audit.apply]
stages = ["draft", "verfy"]
backends = "region"
[tool.timing-audit.chekcs]
select = []
"""
    with pytest.raises(TimingAuditError) as caught:
        read_config("pyproject.toml", text.encode(), shared=True)

    assert caught.value.exit_code == 2
    assert str(caught.value).splitlines() == [
        "pyproject.toml:2: tool.timing-audit: unknown key `target`, did you mean `targets`?",
        "pyproject.toml:3: tool.timing-audit: `excludes` must be a list of strings that is not empty",
        "pyproject.toml:4: tool.timing-audit: `probes` is `keep`, did you mean `kept`?; it is one of none, kept",
        "pyproject.toml:6: tool.timing-audit.apply: `stages` has `verfy`, did you mean `verify`?; "
        "it is one of draft, verify, draft_extend, target_extend, cycle",
        "pyproject.toml:7: tool.timing-audit.apply: unknown key `backends`, did you mean `backend`?",
        "pyproject.toml:8: tool.timing-audit: unknown key `chekcs`, did you mean `checks`?",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"targets = [", "t.toml:1: not TOML: "),
        (b'a = "\xff"', "t.toml:1: not UTF-8"),
        (b"apply = 3", "t.toml:1: `apply` must be a table that is not empty"),
    ],
)
def test_what_is_no_configuration(content: bytes, message: str) -> None:
    with pytest.raises(TimingAuditError) as caught:
        read_config("t.toml", content, shared=False)

    assert str(caught.value).startswith(message)


def test_the_nearest_file_counts_and_only_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert find_config() == Config()

    (tmp_path / "pyproject.toml").write_text('[tool.timing-audit]\nentries = ["top"]\nprobes = "none"\n')
    (inner / "pyproject.toml").write_text("[tool.other]\n")
    assert find_config()[:5] == ("../../pyproject.toml", "../..", (), (), ("top",))

    (tmp_path / "a" / "pyproject.toml").write_text('[tool.timing-audit]\nentries = ["middle"]\n')
    assert (find_config().entries, find_config().probes) == (("middle",), "")

    (tmp_path / "a" / "timing-audit.toml").write_text('entries = ["own"]\n')
    assert find_config().entries == ("own",)
    assert find_config("../../pyproject.toml").entries == ("top",)


def test_the_search_ends_at_the_top_of_a_repository(tmp_path: Path) -> None:
    (tmp_path / "timing-audit.toml").write_text('entries = ["outside"]\n')
    (tmp_path / "repository" / ".git").mkdir(parents=True)

    assert find_config(folder=str(tmp_path / "repository")) == Config()


def test_a_pyproject_that_is_not_ours_may_be_broken(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\n")

    assert find_config(folder=str(tmp_path)) == Config()


def test_a_file_that_was_named_must_be_there_and_ours(tmp_path: Path) -> None:
    with pytest.raises(TimingAuditError, match="cannot be read: No such file") as caught:
        find_config(str(tmp_path / "none.toml"))
    assert caught.value.exit_code == 2

    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(TimingAuditError, match=r"has no table \[tool.timing-audit\]"):
        find_config(str(tmp_path / "pyproject.toml"))
