"""What `scan` does with a baseline: compares with one, or writes it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from timing_audit.cli.output import write
from timing_audit.cli.settings import GATE_FAILED, Settings, configured_path, fail, load, sayer
from timing_audit.errors import USAGE, TimingAuditError

if TYPE_CHECKING:
    from timing_audit.model.baseline import Baseline
    from timing_audit.model.config import Config
    from timing_audit.model.drift import Drift
    from timing_audit.model.options import Options
    from timing_audit.model.report import Report
    from timing_audit.source.tree import Tree

DEFAULT_BASELINE = "timing-audit-baseline.json"


class Ratchet:
    """The baseline that was named, read before the tree so that a mistake costs no scan."""

    def __init__(self, file: str | None, writes: bool, options: Options, config: Config) -> None:
        self._file = file if file is not None or not writes else baseline_of(config)
        self._target = options.target
        self._old: Baseline | None = None
        if self._file is not None:
            _refuse_part(options)
            if writes:
                _refuse_overwriting(self._file)
            else:
                self._old = read_baseline(self._file, target=options.target)

    def compare(self, settings: Settings, tree: Tree, report: Report) -> Drift | None:
        """What changed; None where the baseline is written, or there is none."""
        if self._file is None:
            return None
        from timing_audit.ratchet.compare import compare
        from timing_audit.ratchet.snapshot import snapshot

        new = snapshot(report, tree, load(settings))
        if self._old is not None:
            return compare(self._old, new)
        _update(settings, report, new, self._file)
        return None

    def judge(self, drift: Drift | None) -> int:
        """The exit code of the gate: only what got worse fails it."""
        if drift is None or self._file is None or not drift.worse:
            return 0
        from timing_audit.render.drift import verdict

        hint = f"if that is meant, `{writing_command(self._file, self._target)}`"
        return fail(f"worse than {self._file}: {verdict(drift)}; {hint}", GATE_FAILED)


def baseline_of(config: Config) -> str:
    """The baseline of the project: the configured one, else the usual name in the current folder."""
    return configured_path(config, config.baseline) if config.baseline else DEFAULT_BASELINE


def read_baseline(file: str, *, target: str | None = None) -> Baseline:
    """The baseline, or a scan's JSON as one. Raises TimingAuditError, whose hint is the command that writes one."""
    from timing_audit.ratchet.document import load

    try:
        text = Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        hint = f"`{writing_command(file, target)}` writes it"
        raise TimingAuditError(f"there is no baseline {file}", hint=hint, exit_code=USAGE) from None
    except UnicodeDecodeError:
        raise TimingAuditError(f"{file} is no baseline: not UTF-8", exit_code=USAGE) from None
    except OSError as error:
        what = f"the baseline {file} cannot be read: {error.strerror or error}"
        raise TimingAuditError(what, exit_code=USAGE) from None
    return load(text, file)


def writing_command(file: str, target: str | None = None) -> str:
    """The command that writes a baseline."""
    named = [] if file == DEFAULT_BASELINE else ["--baseline", file]
    return shlex.join(["timing-audit", "scan", *([target] if target is not None else []), "--update-baseline", *named])


def _refuse_part(options: Options) -> None:
    """A baseline is of the whole hot path: a part of it would say that all else is gone."""
    named = [name for name, given in (("--worker", options.workers), ("--phase", options.phases)) if given]
    if named:
        what = f"a baseline is of the whole hot path and cannot be compared or written with {' and '.join(named)}"
        raise TimingAuditError(what, exit_code=USAGE)


def _refuse_overwriting(file: str) -> None:
    """Only what is a baseline may be overwritten by one: a mistyped name must not cost a file."""
    path = Path(file)
    import json

    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or "baseline" not in document:
        what = f"{file} exists and is no baseline, so it is not overwritten"
        raise TimingAuditError(what, hint="name another file with --baseline", exit_code=USAGE)


def _update(settings: Settings, report: Report, new: Baseline, file: str) -> None:
    """Writes the baseline and says how it differs from the one that was there; nothing where files were skipped."""
    from timing_audit.ratchet.document import dump

    say = sayer(settings)
    if report.skipped:
        say(f"{file} was not written: what is skipped would count as gone")
        return
    told = _difference(file, new)
    write(dump(new), file)
    say(f"{file}: {len(new.functions):,} hot functions, {len(new.wrappers):,} wrappers{told}")


def _difference(file: str, new: Baseline) -> str:
    from timing_audit.ratchet.compare import compare
    from timing_audit.render.drift import verdict

    try:
        old = read_baseline(file)
    except TimingAuditError:  # there is none, or one of a version that is replaced now
        return ""
    return f"; against the one before: {verdict(compare(old, new))}"
