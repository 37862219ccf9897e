"""What the processor can do, or what native code is restricted to.

`ISTHMUS_TARGET=sse2`, `avx2` or `avx512` restricts code to vectors of two, four or eight float64 lanes and to the
instructions of that level (x86-64, x86-64-v3, x86-64-v4). All three give the same bits: products are fused with
sums wherever the processor itself can do so, and where the level cannot, libm's `fma` does.
"""

from __future__ import annotations

import functools
import os
from typing import NamedTuple

import llvmlite.binding as llvm

from isthmus.errors import BadOption

VARIABLE = "ISTHMUS_TARGET"
_V3 = frozenset("avx2 bmi bmi2 f16c fma lzcnt movbe popcnt sse4.2".split())
_V4 = _V3 | frozenset("avx512f avx512bw avx512cd avx512dq avx512vl".split())
TARGETS = {
    "sse2": ("x86-64", frozenset({"sse2"})),
    "avx2": ("x86-64-v3", _V3),
    "avx512": ("x86-64-v4", _V4),
}
"""For each target: what LLVM calls it, and the features that a processor needs for it."""


class Processor(NamedTuple):
    """What machine code is made for."""

    name: str
    """As LLVM calls it."""
    features: frozenset[str]
    flags: str
    """Features beyond those of the name, as LLVM reads them."""


def processor() -> Processor:
    """The processor we run on, or the part of it that `ISTHMUS_TARGET` allows."""
    return _restricted(os.environ.get(VARIABLE, "").strip().lower())


@functools.cache
def host() -> Processor:
    """The processor we run on."""
    features = llvm.get_host_cpu_features()
    there = frozenset(name for name, has in features.items() if has)
    return Processor(llvm.get_host_cpu_name(), there, features.flatten())


@functools.cache
def _restricted(target: str) -> Processor:
    if not target:
        return host()
    if target not in TARGETS:
        raise BadOption(
            f"{VARIABLE} is {target!r}; there are {', '.join(map(repr, TARGETS))}, and without it code is made for "
            "all that the processor can do."
        )
    name, needs = TARGETS[target]
    if missing := sorted(needs - host().features):
        can = [repr(other) for other, (_, its) in TARGETS.items() if its <= host().features]
        raise BadOption(
            f"{VARIABLE} is {target!r}, but this processor lacks {', '.join(missing)}; it can do "
            f"{', '.join(can) or 'none of the targets, so leave the variable out'}."
        )
    return Processor(name, needs, "")


def has_fma() -> bool:
    """The processor we run on multiplies and adds in one instruction, also where code is restricted."""
    features = host().features
    return "fma" in features or "neon" in features or "fp-armv8" in features


def widest(width: int = 64) -> int:
    """Lanes of the widest vectors, for numbers of `width` bits."""
    features = processor().features
    if {"avx512f", "avx512dq"} <= features:
        return 512 // width
    return (256 if "avx2" in features else 128) // width
