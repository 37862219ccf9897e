"""A random tree of 38 degrees of freedom with a free base, a humanoid's size: what its user waits for at first.

First rollout and first gradient, tracing and compiling included, in CPU seconds of all threads, beside XLA with the
same physics. XLA takes minutes for the gradient, so a quick run leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import isthmus as ist
from isthmus import native
from isthmus.bench.rows import Row
from isthmus.bench.timing import cpu_seconds
from isthmus.model.model import Model
from isthmus.simulate.engine import Engine
from isthmus.spatial.bodies import box
from isthmus.types import AnyArray, Scalar

HINGES, STEPS, DT = 32, 100, 1e-3
XLA = "XLA float64"


def random_tree(hinges: int = HINGES, seed: int = 0) -> Model:
    """A free base, and links on hinges with random axes, each on one of the last five links before it."""
    draw = np.random.default_rng(seed)
    robot = ist.Builder("tree")
    robot.add_link("link_0", mass=8.0, inertia=box(8.0, 0.3, 0.2, 0.2))
    robot.add_joint_free("base", None, "link_0")
    for k in range(1, hinges + 1):
        mass, parent = draw.uniform(0.3, 2.0), draw.integers(max(0, k - 5), k)
        inertia = box(mass, *draw.uniform(0.05, 0.2, 3))
        axis = draw.normal(size=3)
        place = {"position": tuple(draw.uniform(-0.2, 0.2, 3))}
        com = tuple(draw.uniform(-0.1, 0.1, 3))
        robot.add_link(f"link_{k}", mass=mass, com=com, inertia=inertia)
        robot.add_joint_revolute(
            f"hinge_{k}", f"link_{parent}", f"link_{k}", axis=tuple(axis / np.linalg.norm(axis)), damping=0.1, **place
        )  # fmt: skip
    return robot.model()


def goal(model: Model, v: AnyArray, masses: AnyArray, engine: Engine = None) -> Scalar:
    """How far all joints are from zero after a second's tenth, from rest positions with velocities `v`."""
    start = ist.State(ist.State.neutral(model).q, v)
    model = eqx.tree_at(lambda m: m.link_mass, model, masses)
    motion = ist.rollout(model, start, None, DT, steps=STEPS, engine=engine)
    return jnp.sum(jnp.square(jnp.asarray(motion.q)[-1]))


def tree(quick: bool) -> list[Row]:
    """The first rollout and the first gradient by velocities and masses."""
    model = random_tree()
    v, masses = 0.1 * np.cos(np.arange(model.dof)), np.asarray(model.link_mass)
    start = ist.State(ist.State.neutral(model).q, v)
    slope = jax.grad(lambda v, m: goal(model, v, m), argnums=(0, 1))

    def xla_gradient() -> None:
        with jax.enable_x64(True):
            jax.block_until_ready(jax.jit(slope)(jnp.asarray(v), jnp.asarray(masses)))

    works: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        f"rollout of {STEPS} steps": (
            lambda: ist.rollout(model, start, None, DT, steps=STEPS),
            lambda: ist.rollout(model, start, None, DT, steps=STEPS, engine="xla"),
        ),
        "gradient by velocities and masses": (
            lambda: native.compile(slope, v, masses)(v, masses),
            xla_gradient,
        ),
    }
    return [
        Row(
            f"tree of {model.dof} degrees of freedom, first {name}, compiling included",
            cpu_seconds(ours), XLA, None if quick else cpu_seconds(theirs), 1.0,
            missing="left out of a quick run" if quick else "",
        )
        for name, (ours, theirs) in works.items()
    ]  # fmt: skip
