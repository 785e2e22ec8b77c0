"""`timing-audit cache`: where the tool keeps what it can fetch again, and how to be rid of it."""

from __future__ import annotations

import sys

import click

from timing_audit.cli.settings import Settings, common


@click.group()
@common
def cache() -> None:
    """What was fetched and is kept: the wheels of pypi: targets."""


@cache.command("dir")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def cache_dir(settings: Settings, form: str) -> None:
    """Print the folder of the cache."""
    import json

    from timing_audit.source.cache import cache_root, content

    held = content()
    document = {"schema": 1, "dir": str(cache_root()), "files": held.files, "size_bytes": held.size_bytes, "next": []}
    sys.stdout.write(f"{json.dumps(document)}\n" if form == "json" else f"{cache_root()}\n")


@cache.command("clear")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@common
@click.pass_obj
def cache_clear(settings: Settings, form: str) -> None:
    """Remove what is kept; it is fetched again when it is needed."""
    import json

    from timing_audit.source.cache import clear

    gone = clear()
    document = {"schema": 1, "files": gone.files, "size_bytes": gone.size_bytes, "next": []}
    text = f"{gone.files:,} file{'' if gone.files == 1 else 's'} removed, {gone.size_bytes / 1e6:,.1f} MB\n"
    sys.stdout.write(f"{json.dumps(document)}\n" if form == "json" else text)
