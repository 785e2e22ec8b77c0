"""What all tests share: the releases of SGLang, and how hard hypothesis tries."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

from timing_audit.errors import TimingAuditError
from timing_audit.source.pypi import fetch_wheel

# No deadline: a busy machine is no failure.
settings.register_profile("quick", deadline=None)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile("quick")


USERS_CACHE = os.environ.get("TIMING_AUDIT_CACHE")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Reports are kept beside the tests' own files, never in the user's cache."""
    monkeypatch.setenv("TIMING_AUDIT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def unavailable() -> Callable[[str], NoReturn]:
    """Ends a test for want of the network: skipped at a desk, failed in CI, where it must be there."""

    def end(reason: str) -> NoReturn:
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)

    return end


@pytest.fixture(scope="session")
def release(unavailable: Callable[[str], NoReturn]) -> Callable[[str], Path]:
    """The wheel of a release of SGLang, by version; fetched once, into the cache that `pypi:` uses."""
    fetch = functools.cache(_fetch)

    def wheel(version: str) -> Path:
        found = fetch(version)
        return found if isinstance(found, Path) else unavailable(found)

    return wheel


def _fetch(version: str) -> Path | str:
    """The wheel, or why there is none; as a value, so that one failed attempt serves all tests."""
    with pytest.MonkeyPatch.context() as patch:
        if USERS_CACHE is None:
            patch.delenv("TIMING_AUDIT_CACHE", raising=False)
        else:
            patch.setenv("TIMING_AUDIT_CACHE", USERS_CACHE)
        try:
            return fetch_wheel(f"sglang=={version}", lambda _: None)
        except TimingAuditError as error:
            return str(error)
