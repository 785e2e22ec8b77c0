"""The backends of a pack: templates that say what a probe is written as, and what module it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.model.edit import Helper, Probe

NATIVE = "native"
SUFFIX = ".py.j2"


@dataclass(frozen=True)
class Backend:
    """One template; `clocks` is its column of coverage. A backend without `source` needs no module of ours."""

    name: str
    clocks: tuple[str, ...]
    item: Callable[[str, Probe], str]
    source: Callable[[Sequence[Probe], str], str] | None


def backend_names(folders: Sequence[Path]) -> list[str]:
    """The backends of these packs."""
    found = (file.name for folder in folders for file in (folder / "backends").glob(f"*{SUFFIX}"))
    return sorted({name.removesuffix(SUFFIX) for name in found})


def load_backend(name: str, folders: Sequence[Path], helper: Helper | None) -> Backend:
    """The backend of this name; `helper` is what `native` writes."""
    searched = [str(folder / "backends") for folder in folders]
    loader = jinja2.FileSystemLoader(searched, encoding="utf-8")
    environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    try:
        module = environment.get_template(f"{name}{SUFFIX}").module
    except jinja2.TemplateNotFound:
        known = ", ".join(backend_names(folders))
        raise TimingAuditError(f"no backend is called {name}", hint=f"there are {known}", exit_code=USAGE) from None
    except jinja2.TemplateError as error:
        raise TimingAuditError(f"{name}{SUFFIX} is no template: {error}", exit_code=USAGE) from None
    clocks = (helper.clock,) if helper is not None and name == NATIVE else tuple(getattr(module, "clocks", ()))
    macro, source = module.item, getattr(module, "source", None)  # type: ignore[attr-defined] # a macro of the template

    def item(owner: str, probe: Probe) -> str:
        return str(macro(owner, {**probe._asdict(), "label": label(probe)}))

    return Backend(name, clocks, item, None if source is None else lambda probes, runtime: str(source(probes, runtime)))


def label(probe: Probe) -> str:
    """The name of a probe without its phase: what the tree's own helpers call a stage."""
    return probe.name.partition("/")[2] or probe.name
