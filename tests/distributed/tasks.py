"""Jobs that the runners are tested with; processes of their own find them by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

HERE = "tests.distributed.tasks"
KEPT: dict[str, Any] = {}


def keep(name: str, value: Any) -> None:
    """A setup: what every process is told before its first job."""
    KEPT[name] = value


def kept(seed: int, name: str) -> Any:
    return KEPT[name]


def power(seed: int, base: float, exponent: int) -> dict[str, Any]:
    """Irrational enough to show a lost bit."""
    return {"value": base**exponent / 3.0 + seed, "process": os.getpid()}


def hears_ctrl_c(seed: int) -> dict[str, bool]:
    """Whether this process blocks SIGINT, as it was started, and ignores it."""
    return {
        "blocked": signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "ignored": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    }


def fails(seed: int, word: str) -> None:
    raise ValueError(f"no {word} today")


def dies_once(seed: int, mark: str) -> str:
    """Kills its own process the first time."""
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def dies(seed: int) -> None:
    os._exit(3)


def naps(seed: int, mark: str) -> None:
    """Says who it is, then sleeps."""
    Path(mark).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(60.0)
