"""Frozen records of arrays: Equinox modules whose methods are called as quickly as those of any object."""

from __future__ import annotations

import equinox as eqx


class Record(eqx.Module):
    """An `equinox.Module` whose bound methods are plain ones.

    Equinox makes a module of each method that is looked up, so that `jax.jit(module.method)` works. That takes
    all numbers of the module apart again, a tenth of a millisecond for a robot, and a step calls many methods.
    """

    __getattribute__ = object.__getattribute__
