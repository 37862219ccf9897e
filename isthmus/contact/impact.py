"""When impulses of a step act: those of an impact from its time on, and with them what other contacts answer."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.contact.meeting import Meeting
from isthmus.contact.solve import Impulses
from isthmus.types import AnyArray

STICKS = 1.0 - 1e-9
"""Share of the largest friction below which a contact does not slide."""


def delayed(meeting: Meeting, still: AnyArray, p: Impulses, friction: AnyArray) -> Impulses:
    """Impulses times the time [N·s²] for which they have not acted yet.

    Of an impact at the time `still` [s] that is `still · p`. Contacts that carry a load already answer at the same
    time, and until then do not move: with `A` the velocities that impulses give, theirs
    follow from `A x = 0`.
    """
    plain = still[:, None] * p
    carries = (still == 0.0) & (p[:, 0] > 0.0)
    across = jnp.sum(p[:, 1:] * p[:, 1:], axis=1)
    sticks = carries & (across < (STICKS * friction * p[:, 0]) ** 2)
    rows = jnp.stack([carries, sticks, sticks], axis=1).reshape(-1)

    def answered() -> Impulses:
        A = meeting.assembled()[1]
        M = jnp.where(rows[:, None], A, jnp.asarray(np.eye(len(rows)), A.dtype))
        return jnp.linalg.solve(M, jnp.where(rows, 0.0, plain.reshape(-1))).reshape(p.shape)

    impacts = jnp.any((still > 0.0) & (p[:, 0] > 0.0))
    return jax.lax.cond(impacts & jnp.any(carries), answered, lambda: plain)
