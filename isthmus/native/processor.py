"""What the processor can do."""

from __future__ import annotations

import functools

import llvmlite.binding as llvm


@functools.cache
def processor() -> tuple[str, frozenset[str]]:
    """Name and features of the processor."""
    return llvm.get_host_cpu_name(), frozenset(
        name for name, there in llvm.get_host_cpu_features().items() if there
    )


def has_fma() -> bool:
    """The processor multiplies and adds in one instruction."""
    features = processor()[1]
    return "fma" in features or "neon" in features or "fp-armv8" in features


def widest(width: int = 64) -> int:
    """Lanes of the widest vectors, for numbers of `width` bits."""
    features = processor()[1]
    if {"avx512f", "avx512dq"} <= features:
        return 512 // width
    return (256 if "avx2" in features else 128) // width
