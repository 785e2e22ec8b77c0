"""What a comparison of two runs needs to know about a process; named things only, so no key is among them."""

from __future__ import annotations

import os
import re
import socket
import sys
import time

ENVIRONMENT = re.compile(r"(NCCL|SGLANG|SGL|CUDA)_[A-Z0-9_]+\Z")
SERVER_ARGUMENTS = re.compile(
    r"(speculative_\w+|\w*attention_backend|\w+_backend|\w*(tp|dp|pp|ep|cp|sp)_size|enable_\w+|disable_\w+|cuda_graph_\w+"
    r"|max_\w+|\w*chunked_prefill_size|mem_fraction_static|page_size|schedule_\w+|model_path|served_model_name|dtype"
    r"|quantization\w*|kv_cache_dtype|context_length|load_format|num_continuous_decode_steps|torch_compile_\w+|triton_\w+"
    r"|moe_\w+|ep_\w+|nnodes|node_rank|device|stream_interval|random_seed|base_gpu_id|gpu_id_step|load_balance_method)\Z"
)
SECRET = re.compile(r"key|secret|passw|credential|auth|(^|_)token(_|$)", re.IGNORECASE)
RANKS = ("dp_rank", "pp_rank", "tp_rank", "attn_tp_rank", "attn_cp_rank", "moe_ep_rank", "gpu_id")
LONGEST = 300


def plain(value: object) -> object:
    """The value where JSON holds it as it is and it is short; else its type's name."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value[:LONGEST]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value[:64]]
    return f"<{type(value).__name__}>"


def environment() -> dict[str, object]:
    """The variables that change how an engine runs, by allowlist."""
    return {
        name: value[:LONGEST]
        for name, value in sorted(os.environ.items())
        if ENVIRONMENT.match(name) and not SECRET.search(name)
    }


def server_arguments(owner: object) -> dict[str, object]:
    """The resolved arguments that the engine was started with, by allowlist."""
    arguments = getattr(owner, "server_args", None)
    names = sorted(getattr(arguments, "__dict__", {}))
    return {
        name: plain(getattr(arguments, name))
        for name in names
        if SERVER_ARGUMENTS.match(name) and not SECRET.search(name)
    }


def ranks(owner: object) -> dict[str, int]:
    """The process's place among its peers."""
    found = {name: getattr(owner, name, None) for name in RANKS}
    return {name[:-5] if name.endswith("_rank") else name: value for name, value in found.items() if is_int(value)}  # type: ignore[misc]


def is_int(value: object) -> bool:
    """A true integer."""
    return isinstance(value, int) and not isinstance(value, bool)


def worker_class(owner: object) -> str:
    """The class that runs the cycles."""
    for name in ("model_worker", "draft_worker", "tp_worker"):
        worker = getattr(owner, name, None)
        if worker is not None:
            return type(worker).__name__
    return type(owner).__name__


def role(owner: object) -> str:
    """What the process does, in a word."""
    return "scheduler" if "scheduler" in type(owner).__name__.lower() else "worker"


def place(found: dict[str, int]) -> str:
    """`dp1-tp3`: the ranks that tell processes apart."""
    named = [(word, found[word]) for word in ("dp", "pp", "tp") if word in found]
    if not named:
        return "tp0"
    return "-".join(f"{word}{number}" for word, number in named if word == "tp" or number or word == "dp")


def device() -> dict[str, object]:
    """Device, driver and libraries, from what the process has loaded by itself; nothing is initialised."""
    found: dict[str, object] = {"python": "{}.{}.{}".format(*sys.version_info[:3])}
    torch = sys.modules.get("torch")
    if torch is None:
        return found
    found["torch"] = str(getattr(torch, "__version__", ""))
    version = getattr(torch, "version", None)
    found["cuda"] = plain(getattr(version, "cuda", None) or getattr(version, "hip", None))
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return found
    found["gpu"] = str(cuda.get_device_name())
    found["driver"] = driver()
    nccl = getattr(cuda, "nccl", None)
    if nccl is not None:
        found["nccl"] = ".".join(str(part) for part in nccl.version())
    return found


def driver() -> str | None:
    """The driver's version, as the kernel module tells it."""
    try:
        with open("/proc/driver/nvidia/version", encoding="ascii", errors="replace") as file:
            line = file.readline()
    except OSError:
        return None
    found = re.search(r"\b\d+\.\d+(\.\d+)?\b", line)
    return found.group() if found else None


def launch() -> str:
    """One word for all processes of one start of the engine: they share a parent."""
    named = os.environ.get("TIMING_AUDIT_LAUNCH")
    if named:
        return named[:LONGEST]
    parent = os.getppid()
    try:
        with open(f"/proc/{parent}/stat", encoding="ascii", errors="replace") as file:
            started = file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        started = ""
    return f"{host()}-{parent}-{started}"


def host() -> str:
    """The machine's name, fit for a file's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", socket.gethostname()) or "host"


def process_facts(owner: object, errors: list[str]) -> dict[str, object]:
    """All of the above; what cannot be found out is left out and said."""
    facts: dict[str, object] = {
        "pid": os.getpid(), "host": host(), "launch": "", "role": role(owner), "ranks": {}, "worker": "",
        "server_args": {}, "environment": {}, "device": {}, "started_ns": time.time_ns(),
    }  # fmt: skip
    askers = {
        "launch": launch, "ranks": lambda: ranks(owner), "worker": lambda: worker_class(owner),
        "server_args": lambda: server_arguments(owner), "environment": environment, "device": device,
    }  # fmt: skip
    for name, ask in askers.items():
        try:
            facts[name] = ask()
        except Exception as error:  # noqa: BLE001, PERF203 - the engine must not notice
            errors.append(f"{name}: {error!r}"[:LONGEST])
    return facts
