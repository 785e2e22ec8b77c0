"""What a project has settled about its audits."""

from __future__ import annotations

from typing import NamedTuple

NONE, KEPT = "none", "kept"
PROBES = (NONE, KEPT)
CYCLE = "cycle"
STAGES = ("draft", "verify", "draft_extend", "target_extend", CYCLE)
DETAILS = ("stage", "function")
BACKENDS = ("region", "nvtx", "record_function", "native")
LAYOUTS = ("lines", "block")


class ChecksConfig(NamedTuple):
    """Which checks are wanted, as ids or globs; empty means all, and none left out."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


class ApplyConfig(NamedTuple):
    """The plan that a bare `apply --codemod` carries out; empty fields are `apply`'s own defaults."""

    workers: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    detail: str = ""
    backend: str = ""
    layout: str = ""


class Config(NamedTuple):
    """`file` is what it was read from, "" for the defaults; `folder` is where its paths start.

    `probes` is empty where the project does not say.
    """

    file: str = ""
    folder: str = ""
    targets: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    baseline: str = ""
    probes: str = ""
    checks: ChecksConfig = ChecksConfig()
    apply: ApplyConfig = ApplyConfig()
