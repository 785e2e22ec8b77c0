"""`pypi:NAME==VERSION`: a release's wheel, through pip and into a cache; nothing is built or installed."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.source.cache import WHEELS, cache_root

SCHEME = "pypi:"

PYTHON_VERSIONS = ("3.12", "3.13", "3.11", "3.10")
"""Asked for in this order; the first is what SGLang builds for, and finds every pure or abi3 wheel."""

PLATFORMS = (
    "any",
    *(f"manylinux_2_{minor}_x86_64" for minor in (39, 35, 34, 31, 28, 27, 24, 17)),
    *("manylinux2014_x86_64", "linux_x86_64"),
    *(f"manylinux_2_{minor}_aarch64" for minor in (39, 35, 34, 31, 28, 17)),
    "manylinux2014_aarch64",
)
"""Linux, where the engine runs, whatever this host is: the wheel is only read."""

PIP_TIMEOUT_S = 900
"""For one call of pip: a wheel may have hundreds of megabytes."""

_SPEC = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")
_KNOWN_VERSIONS = re.compile(r"from versions: ([^)]*)\)")
_UNREACHABLE = re.compile(
    r"connection broken|connection error|could not fetch URL|timed out|name resolution", re.IGNORECASE
)


def fetch_wheel(spec: str, say: Callable[[str], None], *, pip: Sequence[str] = ()) -> Path:
    """The wheel of `NAME==VERSION`, from the cache or the package index; `pip` replaces the pip that is found."""
    match = _SPEC.fullmatch(spec)
    if match is None:
        hint = "give one exact release, as in pypi:sglang==0.5.9"
        raise TimingAuditError(f"{SCHEME}{spec} names no release", hint=hint, exit_code=USAGE)
    name, version = match.groups()
    folder = cache_root() / WHEELS
    return _cached(folder, name, version) or _download(folder, name, version, say, list(pip) or _find_pip())


def _cached(folder: Path, name: str, version: str) -> Path | None:
    wanted = (_normal(name), version.lower())
    for wheel in sorted(folder.glob("*.whl")):
        parts = wheel.name.split("-")
        if (_normal(parts[0]), parts[1].lower()) == wanted:
            return wheel
    return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _find_pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip") or shutil.which("pip3")
    if found is None:
        raise TimingAuditError(f"{SCHEME} needs pip, and there is none", hint="install pip, or download the wheel")
    return [found]


def _download(folder: Path, name: str, version: str, say: Callable[[str], None], pip: list[str]) -> Path:
    say(f"fetching the wheel of {name} {version} over the network, with pip")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as staging:
            return _publish(_fetch(Path(staging), name, version, pip), folder)
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "set TIMING_AUDIT_CACHE to a folder that can be written"
        raise TimingAuditError(f"the wheel of {name} {version} cannot be stored: {reason}", hint=hint) from None


def _publish(wheel: Path, folder: Path) -> Path:
    # A rename, so that a run beside this one sees no wheel or a whole one.
    final = folder / wheel.name
    os.replace(wheel, final)
    return final


def _fetch(staging: Path, name: str, version: str, pip: list[str]) -> Path:
    outputs: list[str] = []
    for python in PYTHON_VERSIONS:
        outputs.append(_run_pip([*pip, *_arguments(python, staging), f"{name}=={version}"], staging))
        wheel = next(iter(sorted(staging.glob("*.whl"))), None)
        if wheel is not None:
            return wheel
        if "No matching distribution" not in outputs[-1] or _UNREACHABLE.search(outputs[-1]):
            raise _explain(name, version, outputs[-1])
    # The first Python asked for is the one that the newest releases are built for.
    raise _explain(name, version, outputs[0])


def _arguments(python: str, staging: Path) -> list[str]:
    fixed = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"]
    tags = ["--python-version", python, "--implementation", "cp"]
    abis = [f"--abi={abi}" for abi in (f"cp{python.replace('.', '')}", "abi3", "none")]
    limits = ["--progress-bar=off", "--retries=1", f"--dest={staging}"]
    return [*fixed, *limits, *tags, *abis, *(f"--platform={platform}" for platform in PLATFORMS)]


def _run_pip(command: list[str], staging: Path) -> str:
    try:
        # Run in the staging folder: `python -m` looks for modules in the current one first.
        run = subprocess.run(
            command, cwd=staging, stdin=subprocess.DEVNULL, capture_output=True, timeout=PIP_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"ERROR: pip gave no answer within {PIP_TIMEOUT_S} s"
    return (run.stdout + b"\n" + run.stderr).decode("utf-8", "replace")


def _explain(name: str, version: str, output: str) -> TimingAuditError:
    if _UNREACHABLE.search(output):
        message = f"the package index cannot be reached for {name} {version}"
        return TimingAuditError(message, hint="check the network, or download the wheel and name it as TARGET")
    if "No matching distribution" in output:
        return TimingAuditError(f"the package index has no wheel of {name} {version}", hint=_newest(output))
    errors = [line.removeprefix("ERROR:").strip() for line in output.splitlines() if line.startswith("ERROR:")]
    return TimingAuditError(f"pip could not fetch {name} {version}: {errors[0] if errors else 'it gave no reason'}")


def _newest(output: str) -> str:
    known = _KNOWN_VERSIONS.search(output)
    versions = known.group(1).split(", ") if known else []
    return f"the newest it has is {versions[-1]}" if versions and versions != ["none"] else "check the name"
