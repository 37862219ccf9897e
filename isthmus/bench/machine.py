"""What a measurement depends on: the machine, versions, and which peers are installed."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PEERS = {
    "CasADi": ("casadi", "casadi", "casadi"),
    "Pinocchio": ("pinocchio", "pin", "pin"),
    "MuJoCo": ("mujoco", "mujoco", "mujoco"),
    "MJX": ("mujoco.mjx", "mujoco-mjx", "mujoco mujoco-mjx"),
    "Brax": ("brax", "brax", "brax"),
    "mujoco.sysid": ("mujoco.sysid", "mujoco", "'mujoco[sysid]'"),
}
"""Name -> the module, the distribution that has its version, and what pip installs."""
ALSO = {"mujoco.sysid": ("absl", "colorama", "scipy", "tabulate", "yaml")}
"""Modules that a peer comes without unless asked, and does nothing without."""
LIBRARIES = ("isthmus", "jax", "jaxlib", "numpy", "llvmlite")


def is_here(peer: str) -> bool:
    """Whether a peer can be imported; CasADi's C needs a compiler too."""
    module = PEERS[peer][0]
    try:
        found = all(find_spec(name) is not None for name in (module, *ALSO.get(peer, ())))
    except ModuleNotFoundError:  # a package of which it would be a part
        return False
    return found and (peer != "CasADi" or shutil.which("gcc") is not None)


def hint(peer: str) -> str:
    """How to install a peer; "" where it is installed."""
    if is_here(peer):
        return ""
    module, _, packages = PEERS[peer]
    if peer == "CasADi" and find_spec(module) is not None:
        return "needs gcc"
    return f"pip install {packages}"


def processor_name() -> str:
    """The name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    if platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        if said.returncode == 0 and said.stdout.strip():
            return said.stdout.strip()
    return platform.processor() or platform.machine()


def machine() -> dict[str, Any]:
    """The machine in plain data; it names no host and no user."""
    from isthmus.native.runtime.cores import cores
    from isthmus.native.targets.llvm.processor import processor, widest

    return {
        "processor": processor_name(),
        "architecture": processor()[0],
        "cores": os.cpu_count(),
        "usable_cores": cores(),
        "lanes": widest(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str | None]:
    """Versions of Python, of our libraries and of the peers; None: not installed."""
    names = {name: name for name in LIBRARIES} | {peer: about[1] for peer, about in PEERS.items()}
    return {"python": platform.python_version()} | {k: _version(v) for k, v in names.items()}


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def described(about: dict[str, Any], used: dict[str, str | None]) -> str:
    """The machine in one line: processor, cores, lanes, versions."""
    cores = f"{about['usable_cores']} of {about['cores']} cores"
    if about["usable_cores"] == about["cores"]:
        cores = f"{about['cores']} core{'s' * (about['cores'] != 1)}"
    software = f"isthmus {used['isthmus']}, JAX {used['jax']}, Python {used['python']}"
    return f"{about['processor']}, {cores}, {about['lanes']} lanes · {software}"
