"""A mechanism as impulses at its contacts feel it: `A = J H⁻¹ Jᵀ + softness`."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from isthmus.contact.solve import UNROLLED, Impulses, Square
from isthmus.dynamics.factor import Factor, factored, inverse_times, solve_transposed
from isthmus.model.model import Model
from isthmus.model.state import prescribed_rows
from isthmus.record import Record
from isthmus.types import AnyArray, Joints

RIGID = 1e-12
"""Share of the largest mobility below which there is none."""


class Yielding(Record):
    """The inertia of the joints as impulses feel it: joints whose motion is given do not yield."""

    H: Float[AnyArray, "n n"]
    L: Factor
    """Of `H`, held fixed in derivatives."""
    free: Joints | None
    """Zero for joints whose motion is given, else one; None: all are free."""

    def rate(self, x: Joints) -> Joints:
        """`H⁻¹ x`."""
        return inverse_times(self.H, self.L, x)


def yielding(model: Model, H: Float[AnyArray, "n n"], coupled: bool = False) -> Yielding:
    """The inertia of the joints; `coupled`: `H` couples branches of the tree."""
    free = None
    if model.prescribed:
        _, given = prescribed_rows(model)
        free = jnp.ones(model.dof, H.dtype).at[given].set(0.0)
        H = H * free[:, None] * free[None] + jnp.diag(1.0 - free)
    return Yielding(H, factored(model, jax.lax.stop_gradient(H), coupled), free)


class Meeting(Record):
    """Inertia, Jacobian and softness of all contacts of a step."""

    mass: Yielding
    J: Float[AnyArray, "rows n"]
    """Velocities of the contacts (normal, two tangents for each) for those of the joints."""
    softness: Float[AnyArray, " rows"]
    """Speed that 1 N·s gives the contacts themselves [1/kg]."""

    def jump(self, p: Impulses) -> Joints:
        """What impulses do to the velocity of the joints."""
        return self.mass.rate(self.J.T @ p.reshape(-1))

    def yields(self, p: Impulses, jump: Joints | None = None) -> Impulses:
        """`A p`, with all its derivatives; `jump`: of these impulses, where it is known."""
        jump = self.jump(p) if jump is None else jump
        return (self.J @ jump + self.softness * p.reshape(-1)).reshape(p.shape)

    def mobility(self) -> Square:
        """`A`, with all its derivatives [1/kg]."""
        moved = jax.vmap(self.mass.rate)(self.J)
        return self.J @ moved.T + jnp.diag(self.softness)

    def of(self, rows: Int[AnyArray, " some"]) -> Meeting:
        """That of some of the contacts."""
        n = self.J.shape[1]
        J, softness = self.J.reshape(-1, 3, n)[rows], self.softness.reshape(-1, 3)[rows]
        return Meeting(self.mass, J.reshape(-1, n), softness.reshape(-1))

    def assembled(self) -> tuple[Meeting, Square]:
        """The same, softened in directions in which the mechanism cannot move at all, and `A` without derivatives."""
        L, J, softness = jax.lax.stop_gradient((self.mass.L, self.J, self.softness))
        G, mobility = _products(L, J)
        most = jnp.max(mobility)
        more = jnp.where(mobility <= RIGID * most, most, 0.0)
        softened = eqx.tree_at(lambda m: m.softness, self, self.softness + more)
        return softened, G + jnp.diag(softness + more)


def _products(L: Factor, J: Float[AnyArray, "rows n"]) -> tuple[Square, Float[AnyArray, " rows"]]:
    """`J H⁻¹ Jᵀ` and its diagonal."""
    if J.shape[0] > UNROLLED:  # row after row, then one product: code of one size
        Y = jax.lax.map(lambda j: solve_transposed(L, j[:, None])[:, 0], J)
        return Y @ Y.T, jnp.sum(Y * Y, axis=1)
    Y = solve_transposed(L, J.T)
    # row by row: native code then sees which entries are zero
    return jnp.stack([y @ Y for y in Y.T]), jnp.sum(Y * Y, axis=0)


def meeting_of(mass: Yielding, J: AnyArray, softness: AnyArray) -> Meeting:
    """The meeting of contacts with the Jacobian `J`."""
    return Meeting(mass, J if mass.free is None else J * mass.free[None], softness)
