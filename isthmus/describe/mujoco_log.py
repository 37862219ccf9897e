"""MuJoCo's warnings, which it would append to the file MUJOCO_LOG.TXT in the working folder."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any


@contextlib.contextmanager
def collected_warnings(mujoco: Any) -> Generator[list[str]]:
    """Yields a list of what MuJoCo warns of meanwhile; it writes no file. `mujoco`: the module."""
    said: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: said.append(text.strip()))
    try:
        yield said
    finally:
        mujoco.set_mju_user_warning(before)
