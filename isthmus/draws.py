"""Random numbers of JAX's keys, drawn by NumPy.

Drawn by `jax.random`, the first numbers of each shape wait for XLA: a tenth of a second for each layer of a network.
"""

from __future__ import annotations

import math

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)


def uniform(key: PRNGKeyArray, size: int, low: float, high: float) -> np.ndarray:
    """What `jax.random.uniform` draws, (size,)."""
    number = np.dtype(jax.dtypes.canonicalize_dtype(float))
    wide = number.itemsize == 8
    first, second = _hashed(np.ravel(np.asarray(jax.random.key_data(key))), size)
    if wide:
        bits = first.astype(np.uint64) << np.uint64(32) | second
        shift, one = np.uint64(12), np.float64(1).view(np.uint64)
    else:
        bits, shift, one = first ^ second, np.uint32(9), np.float32(1).view(np.uint32)
    drawn = (bits >> shift | one).view(number) - number.type(1)
    low_, high_ = number.type(low), number.type(high)
    return np.maximum(low_, drawn * (high_ - low_) + low_)


def normal(key: PRNGKeyArray, shape: tuple[int, ...]) -> np.ndarray:
    """What `jax.random.normal` draws, but for rounding."""
    from scipy.special import erfinv  # heavy, and wanted only here

    number = np.dtype(jax.dtypes.canonicalize_dtype(float)).type
    low = np.nextafter(number(-1), number(0))
    drawn = erfinv(uniform(key, math.prod(shape), float(low), 1.0))
    return (number(np.sqrt(2.0)) * drawn).reshape(shape)


def _hashed(key: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Threefry's hash of 0 … size - 1 (Salmon et al. 2011, 20 rounds), as two words each."""
    keys = [key[0], key[1], key[0] ^ key[1] ^ PARITY]
    x, y = np.full(size, keys[0]), np.arange(size, dtype=np.uint32) + keys[1]
    for k in range(5):
        for r in ROTATIONS[k % 2]:
            x = x + y
            y = x ^ (y << np.uint32(r) | y >> np.uint32(32 - r))
        x = x + keys[(k + 1) % 3]
        y = y + keys[(k + 2) % 3] + np.uint32(k + 1)
    return x, y
