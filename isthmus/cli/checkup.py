"""The checks of `isthmus doctor`: each says what it found, and what to do where that is a fault."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal, NamedTuple

SIGNS = {"fine": ("ok", "green"), "absent": ("-", "dim"), "fault": ("!!", "bold red")}
"""For each state: its mark and the style of the mark."""
EXTRAS = {
    "mjcf": "robots from MJCF files",
    "mesh": "meshes as shapes: STL, DAE, OBJ",
    "models": "robots of example-robot-data, by ist.library.find",
    "hdf5": "logs in HDF5 files",
    "parquet": "logs in Parquet files",
    "ros": "logs in ROS bags",
    "cma": "the search ist.CMAES",
    "view": "robots and motions in the browser: isthmus view",
    "bayes": "the method ist.NUTS of ist.posterior",
    "bench": "other engines to compare with, for isthmus bench",
}
"""What each extra brings to a user."""
FOR_OURSELVES = ("test", "dev", "docs")
"""Extras for those who work on isthmus."""


class Finding(NamedTuple):
    """What one check found."""

    state: Literal["fine", "absent", "fault"]
    what: str
    text: str
    cure: str = ""


def checkup() -> list[Finding]:
    """All findings, those that everybody needs first."""
    checks: list[Callable[[], Finding]] = [_python, _itself, _jax, _native, _cache, _compiler]
    return [*(_safely(check) for check in checks), *_libraries(), *_extras()]


def _safely(check: Callable[[], Finding]) -> Finding:
    """What a check found, or that it failed and how."""
    try:
        return check()
    except Exception as failed:
        name = getattr(check, "__name__", "check").strip("_")
        return Finding(
            "fault",
            name,
            f"{type(failed).__name__}: {failed}.",
            "Install isthmus anew in an empty environment.",
        )


def _python() -> Finding:
    text = f"{platform.python_version()} in {sys.prefix}, {platform.system()} {platform.machine()}"
    return Finding("fine", "Python", text)


def _itself() -> Finding:
    """Where isthmus is, and whether the shell finds its command."""
    import isthmus

    text = f"{isthmus.__version__} in {Path(isthmus.__file__).parent}"
    if shutil.which("isthmus"):
        return Finding("fine", "isthmus", text)
    place = Path(sys.executable).parent
    cure = f"Add {place} to PATH, or write python -m isthmus."
    return Finding("absent", "isthmus", f"{text}; the shell does not find the command.", cure)


def _jax() -> Finding:
    import jax

    try:
        devices = ", ".join(str(device) for device in jax.devices())
    except RuntimeError as failed:
        cure = "Unset JAX_PLATFORMS, or set it to cpu."
        return Finding("fault", "JAX", f"{jax.__version__} finds no device: {failed}.", cure)
    return Finding("fine", "JAX", f"{jax.__version__} on {devices}")


def _native() -> Finding:
    """Whether a function becomes machine code and computes what NumPy does."""
    import jax.numpy as jnp
    import numpy as np

    from isthmus import native

    x = np.linspace(-1.0, 1.0, 5)
    compiled = native.compile(lambda x: jnp.sin(x) * x, x)
    if not np.allclose(compiled(x), np.sin(x) * x, rtol=1e-12, atol=0.0):
        cure = "Set ISTHMUS_TARGET=sse2 (docs/native.md), and report it."
        return Finding("fault", "native code", "computes other numbers than NumPy.", cure)
    return Finding("fine", "native code", "works, and gives the numbers of NumPy")


def _cache() -> Finding:
    """Whether compiled code can be kept on disk."""
    from isthmus.native.runtime import store

    place = store.folder()
    if place is None:
        cure = "Unset ISTHMUS_CACHE to keep it."
        return Finding("absent", "cache", "switched off: every process compiles anew.", cure)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as failed:
        cure = "Set ISTHMUS_CACHE to a folder that you may write to."
        return Finding(
            "fault", "cache", f"{place}: {failed.strerror}; every process compiles anew.", cure
        )
    size = sum(file.stat().st_size for file in place.glob("*")) / 1e6
    return Finding("fine", "cache", f"{place}, {size:.0f} MB")


def _compiler() -> Finding:
    """Whether exported C can be compiled here."""
    names = (os.environ.get("CC", ""), "cc", "gcc", "clang", "cl")
    found = next((name for name in names if name and shutil.which(name)), None)
    if found:
        return Finding("fine", "C compiler", f"{found}, for what isthmus export --to c writes")
    return Finding("absent", "C compiler", "none: exported C must be compiled elsewhere.")


def _libraries() -> list[Finding]:
    """What isthmus cannot do without."""
    missing, found = [], []
    for name in _needs():
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        cure = f"pip install {' '.join(missing)}"
        return [Finding("fault", "libraries", f"missing: {', '.join(missing)}.", cure)]
    return [Finding("fine", "libraries", ", ".join(found))]


def _extras() -> list[Finding]:
    """What each extra brings, and whether it is installed."""
    findings = []
    for extra, brings in EXTRAS.items():
        missing = [name for name in _needs(extra) if not _is_installed(name)]
        cure = f"pip install 'isthmus[{extra}]'" if missing else ""
        findings.append(Finding("absent" if missing else "fine", f"[{extra}]", f"{brings}.", cure))
    return findings


def _needs(extra: str = "") -> list[str]:
    """Distributions that isthmus, or one of its extras, asks for."""
    lines = [line.partition(";") for line in requires("isthmus") or []]
    asked = [
        line for line, _, when in lines
        if (re.search(rf"extra\s*==\s*['\"]{extra}['\"]", when) if extra else "extra" not in when)
    ]  # fmt: skip
    return [re.split(r"[\s\[<>=!~(]", line.strip())[0] for line in asked]


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
