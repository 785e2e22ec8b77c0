"""Where an installed package lies, without importing it."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import tempfile

from timing_audit.errors import USAGE, TimingAuditError
from timing_audit.source.layout import ENGINE

ANSWER_TIMEOUT_S = 60
"""An interpreter on a cold network disk takes its time to start."""

_QUOTE_CHARS = 160
_MARK = "timing-audit:"

_QUESTION = f"""
import sys
sys.path[:] = [p for p in sys.path if p]
import importlib.util
spec = importlib.util.find_spec({ENGINE!r})
sys.stdout.write("\\n{_MARK}" + ascii(spec.origin if spec is not None and spec.origin else "") + "\\n")
"""
"""Asked of another interpreter. A top-level find_spec imports nothing; the folder it runs in does not count."""


def installed_package() -> str | None:
    """The folder of the engine that this interpreter would import."""
    try:
        spec = importlib.util.find_spec(ENGINE)
    except ValueError:
        return None
    return _folder(spec.origin) if spec is not None and spec.origin else None


def package_of_interpreter(python: str) -> str:
    """The folder of the engine that another interpreter would import; that interpreter is asked."""
    executable = shutil.which(os.path.expanduser(python))
    if executable is None:
        raise TimingAuditError(f"--python {python}: no such interpreter", exit_code=USAGE)
    origin = _origin(_ask(python, os.path.abspath(executable)))
    if origin is None:
        raise TimingAuditError(f"--python {python}: it does not answer like a Python 3 interpreter")
    folder = _folder(origin)
    if folder is None:
        raise TimingAuditError(f"--python {python}: {ENGINE} is not installed there", hint="name the tree as TARGET")
    return folder


def _folder(origin: str) -> str | None:
    # A namespace package is a folder that happens to have the name, such as a checkout's root.
    folder, name = os.path.split(origin)
    return folder if name == "__init__.py" else None


def _ask(python: str, executable: str) -> str:
    command = [executable, "-c", _QUESTION]
    try:
        # An empty folder to run in, so that nothing beside the user can pass for a module.
        with tempfile.TemporaryDirectory() as empty:
            answer = subprocess.run(
                command, cwd=empty, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_TIMEOUT_S, check=False
            )
    except subprocess.TimeoutExpired:
        raise TimingAuditError(f"--python {python}: no answer within {ANSWER_TIMEOUT_S} s") from None
    except OSError as error:
        raise TimingAuditError(f"--python {python}: cannot be run: {error.strerror or error}") from None
    if answer.returncode:
        lines = answer.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {answer.returncode}"]
        raise TimingAuditError(f"--python {python}: it failed: {lines[-1][:_QUOTE_CHARS]}")
    return answer.stdout.decode("utf-8", "replace")


def _origin(answer: str) -> str | None:
    for line in reversed(answer.splitlines()):
        if line.startswith(_MARK):
            return str(ast.literal_eval(line.removeprefix(_MARK)))
    return None
