"""The engine itself as native code: dynamics and derivatives of every model that we ship."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus import native
from isthmus.dynamics import forward_dynamics
from tests.native.support import assert_close, xla

MODELS = {
    "pendulum": ist.library.pendulum(2),
    "spherical": ist.library.pendulum(2, joints="spherical"),
    "cart_pole": ist.library.cart_pole(),
    "cube": ist.library.cube(),
    "pusher": ist.library.pusher(),
    "swimmer": ist.library.swimmer(),
    "arm": ist.library.arm(),
    "quadruped": ist.library.quadruped(),
}
SMALL = [name for name, model in MODELS.items() if len(model.link_names) <= 3]


def state_of(model, seed=0):
    """A state away from all that is special: (q, v, τ)."""
    rng = np.random.default_rng(seed)
    neutral = np.asarray(ist.State.neutral(model).q)
    move = 0.3 * rng.normal(size=model.dof)
    with jax.enable_x64(True):
        q = np.asarray(ist.model.coordinates.plus(model, neutral, move))
    return q, rng.normal(size=model.dof), rng.normal(size=model.dof)


def accelerations(model, mass, q, v, tau):
    return forward_dynamics(dataclasses.replace(model, link_mass=mass), q, v, tau)


LARGE = pytest.mark.slow  # what we compare with takes long


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=LARGE if n in ("arm", "quadruped") else ()) for n in MODELS]
)
def test_dynamics_and_first_derivatives(name):
    model = MODELS[name]
    args = (np.asarray(model.link_mass), *state_of(model))
    turn = np.cos(np.arange(model.dof))

    def all_of(mass, q, v, tau):
        fn = lambda *x: accelerations(model, *x)
        slope = jax.grad(lambda *x: turn @ fn(*x), (0, 1, 2, 3))(mass, q, v, tau)
        return slope, *jax.jvp(fn, (mass, q, v, tau), (0.1 * mass, q, v, tau))

    f = native.compile(all_of, *args)
    assert_close(f(*args), xla(all_of, *args), together=True)
    if len(model.link_names) <= 3:
        batch = tuple(np.stack([x] * 9) for x in args)
        one = f(*args)
        for x, y in zip(jax.tree.leaves(f.map(*batch)), jax.tree.leaves(one), strict=True):
            assert (x == y).all()


@pytest.mark.parametrize("name", SMALL)
def test_second_derivatives_of_small_models(name):
    model = MODELS[name]
    q, v, tau = state_of(model)
    turn = np.cos(np.arange(model.dof))

    def both(v, tau):
        fn = lambda v: forward_dynamics(model, q, v, tau)
        return fn(v), jax.jacfwd(fn)(v), jax.hessian(lambda v: turn @ fn(v))(v)

    assert_close(native.compile(both, v, tau)(v, tau), xla(both, v, tau), together=True)


@pytest.mark.parametrize("name", ["pendulum", "spherical", "cart_pole"])
def test_rollouts_and_their_gradients(name):
    model = MODELS[name]
    q, v, _ = state_of(model)

    def fn(mass, q, v):
        moved = dataclasses.replace(model, link_mass=mass)
        motion = ist.rollout(moved, ist.State(q, v), None, 0.01, steps=100, checkpoint="sqrt")
        return jnp.sum(motion.q**2) + jnp.sum(motion.v[-1])

    g = jax.value_and_grad(fn, (0, 1, 2))
    args = (np.asarray(model.link_mass), q, v)
    found, right = native.compile(g, *args)(*args), xla(g, *args)
    shifted = [xla(g, *(np.nextafter(x, side * np.inf) for x in args)) for side in (1, -1)]
    for k, (x, y) in enumerate(zip(jax.tree.leaves(found), jax.tree.leaves(right), strict=True)):
        jitter = max(np.max(np.abs(jax.tree.leaves(m)[k] - y)) for m in shifted)
        assert np.max(np.abs(x - y)) <= 100 * max(jitter, np.spacing(np.max(np.abs(y))))
