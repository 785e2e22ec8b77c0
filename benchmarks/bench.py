"""Measures a cold scan of whole releases of SGLang beside ast-grep and grep, and the start-up.

The contenders take turns on the same trees in one run, so that a machine that is busy for a while is
busy for all of them; each gets one uncounted turn first. What docs/performance.md says of the
figures holds for what this prints.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
SCRIPTS = Path(sysconfig.get_path("scripts"))
RELEASES = ("0.5.9", "0.5.23")
REFERENCE = "ast-grep"
SEED = r"show_time_cost|time_cost|perf_counter|time\.time|TIMING|profile"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
MAXRSS_PER_MIB = 1024**2 if sys.platform == "darwin" else 1024


class Contender(NamedTuple):
    """A command to measure, and how many places the output of one run names."""

    command: tuple[str, ...]
    count: Callable[[bytes], int]


class Cost(NamedTuple):
    """What one run took."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def count_lines(output: bytes) -> int:
    """One place a line: grep, and ast-grep's JSON stream."""
    return output.count(b"\n")


def count_sites(output: bytes) -> int:
    """The timing sites of a report of ours."""
    return len(json.loads(output)["sites"])


def scanners(tree: str) -> dict[str, Contender]:
    """The contenders for one tree."""
    ours = (str(SCRIPTS / "timing-audit"), "--no-cache", "scan", tree, "--format", "json")
    rules = (str(SCRIPTS / "ast-grep"), "scan", "--config", str(HERE / "sgconfig.yml"), "--json=stream", tree)
    seed = (shutil.which("grep") or "grep", "-rnE", "--include=*.py", SEED, tree)
    return {
        "timing-audit": Contender(ours, count_sites),
        REFERENCE: Contender(rules, count_lines),
        "grep": Contender(seed, count_lines),
    }


def starters() -> dict[str, Contender]:
    """What is measured for the start-up."""
    return {
        "python -c pass": Contender((sys.executable, "-c", "pass"), count_lines),
        "timing-audit --help": Contender((str(SCRIPTS / "timing-audit"), "--help"), count_lines),
    }


def run(command: Sequence[str], output: Path) -> Cost:
    """One run, its output in a file; ends the benchmark when it fails, for a failure is quick."""
    errors = output.with_suffix(".err")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [(os.POSIX_SPAWN_OPEN, 1, str(output), flags, 0o644), (os.POSIX_SPAWN_OPEN, 2, str(errors), flags, 0o644)]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], list(command), os.environ, file_actions=files)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise SystemExit(f"exit code {code}: {' '.join(command)}\n{errors.read_text('utf-8', 'replace')}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / MAXRSS_PER_MIB)


def compete(contenders: Mapping[str, Contender], rounds: int) -> tuple[dict[str, list[Cost]], dict[str, int]]:
    """The counted runs of each contender, in turns, and how many places each named."""
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        for turn in range(rounds + 1):
            for name, contender in contenders.items():
                cost = run(contender.command, output)
                if turn == 0:
                    found[name] = contender.count(output.read_bytes())
                else:
                    costs[name].append(cost)
            progress(f"round {turn} of {rounds}")
    return costs, found


def scan_table(rounds: int, only: Sequence[str]) -> Iterator[str]:
    """One row a release and contender."""
    listed = subprocess.run([sys.executable, HERE / "trees.py", *RELEASES], stdout=subprocess.PIPE, check=True)
    yield "| release | tool | CPU s | wall s | peak MiB | CPU / ast-grep | wall / ast-grep | places named |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for release, tree in zip(RELEASES, listed.stdout.decode().splitlines(), strict=True):
        progress(f"SGLang {release}")
        contenders = {name: it for name, it in scanners(tree).items() if name in only}
        costs, found = compete(contenders, rounds)
        for name, own in costs.items():
            typical = middle(own)
            cpu, wall = ratios(own, costs.get(REFERENCE, own))
            yield (
                f"| {release} | {name} | {typical.cpu_s:.2f} | {typical.wall_s:.2f} | {typical.peak_mib:.0f} "
                f"| {cpu:.2f} | {wall:.2f} | {found[name]:,} |"
            )


def start_table(rounds: int, only: Sequence[str]) -> Iterator[str]:
    """One row a command."""
    contenders = {name: it for name, it in starters().items() if name.split()[0] in ("python", *only)}
    costs, _ = compete(contenders, rounds)
    yield "| command | CPU ms | wall ms | peak MiB |"
    yield "|---|--:|--:|--:|"
    for name, own in costs.items():
        typical = middle(own)
        yield f"| `{name}` | {typical.cpu_s * 1000:.0f} | {typical.wall_s * 1000:.0f} | {typical.peak_mib:.0f} |"


def middle(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(*(statistics.median(figures) for figures in zip(*costs, strict=True)))


def ratios(own: Sequence[Cost], peer: Sequence[Cost]) -> tuple[float, float]:
    """The medians of the ratios within one round: of CPU and of wall time."""
    pairs = list(zip(own, peer, strict=True))
    cpu = statistics.median(ours.cpu_s / theirs.cpu_s for ours, theirs in pairs)
    return cpu, statistics.median(ours.wall_s / theirs.wall_s for ours, theirs in pairs)


def machine() -> str:
    """What the figures depend on, and nothing that names the machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = [version([str(SCRIPTS / "ast-grep"), "--version"]), version(["grep", "--version"])]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{cores} cores, {platform.system()} {platform.machine()}, {python}, {', '.join(versions)}."


def version(command: Sequence[str]) -> str:
    """The first line of what a tool says of itself."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def write(text: str, file: Path) -> None:
    """Puts the text between the markers of a file."""
    before, _, rest = file.read_text("utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{file} has no {BEGIN} ... {END}")
    file.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


def progress(text: str) -> None:
    """Says on standard error how far it is."""
    print(text, file=sys.stderr)


def main() -> None:
    """Measures, prints, and writes where that was asked for."""
    names = tuple(scanners(""))
    parser = argparse.ArgumentParser(description="Measure a cold scan beside ast-grep and grep.")
    parser.add_argument("--rounds", type=int, default=7, help="counted runs of each command (default: %(default)s)")
    parser.add_argument("--tool", action="append", choices=names, help="only this one; may be repeated")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between the markers of FILE")
    options = parser.parse_args()
    only = tuple(options.tool or names)
    scans = "\n".join(scan_table(options.rounds, only))
    starts = "\n".join(start_table(3 * options.rounds, only))
    text = f"{machine()} Medians of {options.rounds} runs; start-up, of {3 * options.rounds}.\n\n{scans}\n\n{starts}"
    print(text)
    if options.write:
        write(text, options.write)


if __name__ == "__main__":
    main()
