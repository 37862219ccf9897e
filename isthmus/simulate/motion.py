"""`Motion`: what a rollout gives and a log holds: time, positions, velocities, signals."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Float

from isthmus.model.arrays import as_leaf
from isthmus.model.state import State
from isthmus.types import AnyArray


class Motion(eqx.Module):
    """A motion sampled in time; time is the first axis of every array (after a batch axis, if there is one)."""

    t: Float[AnyArray, "*batch time"]
    """[s]"""
    q: Float[AnyArray, "*batch time nq"]
    """Positions, as `State.q`."""
    v: Float[AnyArray, "*batch time dof"]
    """Velocities, as `State.v`."""
    signals: dict[str, AnyArray] = eqx.field(default_factory=dict)
    """What was recorded, under the names that were asked for; the same rows as `t`."""

    def __len__(self) -> int:
        return self.t.shape[-1]

    def state(self, row: int) -> State:
        """The state at one row; `state(-1)` is the last one."""
        return State(self.q[..., row, :], self.v[..., row, :], time=as_leaf(self.t[..., row]))
