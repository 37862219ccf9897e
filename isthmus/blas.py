"""Linear algebra on one thread: for matrices of our size, threads of BLAS cost more than they bring.

They also wait by spinning, which takes time from native code that runs beside them, and they may change the order of
sums, and with it the last bits.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator
from typing import Any


@functools.cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # looks at all loaded libraries: once

    return ThreadpoolController()


@contextlib.contextmanager
def on_one_thread() -> Generator[None]:
    """Inside, NumPy's and SciPy's BLAS use one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
