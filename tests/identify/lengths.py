"""The lengths of a double pendulum from its angles: a loss with false minima (P3, fig. 4)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

import isthmus as ist


def made(numbers: Mapping[str, Any]) -> ist.Model:
    return ist.library.pendulum(lengths=numbers["length"])


@functools.cache
def landscape() -> ist.Problem:
    """Five seconds; the longer, the more false minima."""
    truth = made({"length": np.array([3.0, 4.0])})
    start = ist.State(np.array([2.6, -1.0]), np.zeros(2))
    motion = ist.rollout(truth, start, None, 1 / 60, steps=300)
    free = [ist.Free("length", low=0.5, high=10.0, start=1.0, shape=2)]
    return ist.Problem(make=made, motions=motion, free=free, loss=ist.WholeRun(), noise=1e-2)
