"""Random programs in native code against XLA: same structure, shapes and types, and the same numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

import isthmus as ist
from isthmus.errors import NotTranslatable
from tests.fuzz.programs import Program

ROUNDING = 1e-13
"""Relative change of the arguments whose effect says how exact a result can be."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a program showed: "same", "refused" (by name), "refused by XLA", "different" or "error"."""

    kind: str
    detail: str = ""


def compared(program: Program) -> Verdict:
    """Runs a program both ways."""
    run, given = program.run, program.arguments
    try:
        with jax.enable_x64(True):
            wanted = _by_xla(run, given)
            nearby = [_by_xla(run, [_nudged(x, s) for x in given]) for s in (ROUNDING, -ROUNDING)]
    except Exception as error:
        return Verdict("refused by XLA", f"{type(error).__name__}: {error}")
    # without `strict`, x − x is 0 and 0 · x is 0 whatever x is
    plain = program.seed % 2 and all(np.isfinite(x).all() for x in given)
    try:
        found = ist.native.compile(run, *given, strict=not plain)(*given)
    except NotTranslatable as refusal:
        return Verdict("refused", str(refusal))
    except Exception as error:
        return Verdict("error", f"{type(error).__name__}: {error}")
    ours, theirs = jax.tree.leaves(found), jax.tree.leaves(wanted)
    if jax.tree.structure(found) != jax.tree.structure(wanted):
        return Verdict("different", f"structure {jax.tree.structure(found)}")
    around = [jax.tree.leaves(x) for x in nearby]
    size = max([1.0, *(float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in given)])
    loose = "linalg" in program.text  # infinities and NaN come out of a factorisation in any order
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        b = np.asarray(b)
        if plain and b.dtype.kind == "f" and not np.isfinite(b).all():
            continue
        if loose and b.dtype.kind == "f" and not np.isfinite(b).all():
            continue
        fault = _difference(np.asarray(a), b, [np.asarray(x[k]) for x in around], 1e-14 * size)
        if fault:
            return Verdict("different", f"result {k}: {fault}")
    return Verdict("same")


def _by_xla(run: Any, given: list[np.ndarray]) -> Any:
    with np.errstate(all="ignore"):
        return jax.tree.map(np.asarray, jax.jit(run)(*given))


def _nudged(x: np.ndarray, by: float) -> np.ndarray:
    return x * (1.0 + by) if x.dtype == np.float64 else x


def _difference(
    ours: np.ndarray, theirs: np.ndarray, around: list[np.ndarray], least: float
) -> str:
    """What differs beyond what rounding explains."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{ours.shape} for {theirs.dtype}{theirs.shape}"
    unsure = np.zeros(theirs.shape, bool)
    spread = np.zeros(theirs.shape)
    with np.errstate(all="ignore"):
        for other in around:
            unsure |= ~_equal(other, theirs) if theirs.dtype != np.float64 else False
            if theirs.dtype.kind == "f":
                unsure |= np.isfinite(other) != np.isfinite(theirs)
                spread = np.fmax(spread, np.abs(other - theirs))
        if theirs.dtype.kind != "f":
            wrong = ~_equal(ours, theirs) & ~unsure
        else:
            close = np.abs(ours - theirs) <= 1e-9 * np.abs(theirs) + least + 1e3 * spread
            wrong = ~(close | _equal(ours, theirs)) & ~unsure
    if not wrong.any():
        return ""
    k = tuple(int(i[0]) for i in np.nonzero(wrong)) if wrong.ndim else ()
    return f"{ours[k]!r} for {theirs[k]!r} at {k}"


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | ((a != a) & (b != b))
