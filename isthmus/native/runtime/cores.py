"""How many cores this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """Those that the system gives this process, which may be fewer than the machine has."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(allowed(0)) if allowed else os.cpu_count() or 1
