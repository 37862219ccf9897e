"""Both engines move mechanisms alike; native code runs where nothing is traced."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption
from isthmus.simulate import engine

MODEL = ist.library.pendulum(2, damping=0.1)
START = ist.State(np.array([0.4, -0.2]), np.array([0.1, 0.3]))
TORQUES = 0.3 * np.sin(0.1 * np.arange(40.0)[:, None] + np.arange(2.0))


def close(found, wanted):
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


@pytest.mark.smoke
def test_a_step_is_the_same_in_both_engines():
    for control in (None, np.array([0.2, -0.1])):
        native = ist.step(MODEL, START, control, 0.01)
        assert isinstance(native.q, np.ndarray)
        close(native, ist.step(MODEL, START, control, 0.01, engine="xla"))


@pytest.mark.parametrize(
    ("links", "options"),
    [(2, {}), (1, {"integrator": "rk4"}), (1, {"checkpoint": 7, "substeps": 2})],
)
def test_a_rollout_is_the_same_in_both_engines(links, options):
    model, start = (
        ist.library.pendulum(links, damping=0.1),
        ist.State(START.q[:links], START.v[:links]),
    )
    record = ("link/pose", "joint/torque")
    run = lambda name: ist.rollout(
        model, start, TORQUES[:, :links], 0.01, record=record, engine=name, **options
    )
    close(run("native"), run("xla"))
    law = lambda t, state: -0.5 * state.v + 0.1 * jnp.sin(t)
    run = lambda name: ist.rollout(model, start, law, 0.01, steps=30, engine=name, **options)
    close(run(None), run("xla"))


def test_many_rollouts_share_what_has_no_axis_of_worlds():
    starts = ist.State(START.q * np.linspace(0.0, 1.0, 11)[:, None], np.zeros((11, 2)))
    run = lambda name: ist.rollout_many(MODEL, starts, TORQUES, 0.01, engine=name)
    native = run("native")
    assert native.q.shape == (11, 41, 2)
    close(native, run("xla"))
    heavy = eqx.tree_at(lambda m: m.link_mass, MODEL, np.linspace(0.5, 2.0, 22).reshape(11, 2))
    run = lambda name: ist.rollout_many(heavy, START, None, 0.01, steps=20, engine=name)
    close(run("native"), run("xla"))
    alone = ist.rollout(MODEL, ist.State(starts.q[7], starts.v[7]), TORQUES, 0.01)
    np.testing.assert_array_equal(native.q[7], alone.q)
    np.testing.assert_array_equal(
        native.q, ist.rollout_many(MODEL, starts, TORQUES, 0.01, threads=1).q
    )


def test_a_changed_number_compiles_nothing_anew():
    ist.step(MODEL, START, None, 0.01)
    before = len(engine._CACHE)
    heavier = MODEL.set("link/rod_1/mass", 2.0)
    assert np.any(ist.step(heavier, START, None, 0.02).v != ist.step(MODEL, START, None, 0.02).v)
    assert len(engine._CACHE) == before


def test_traced_arguments_are_seen_through():
    before = len(engine._CACHE)
    fn = lambda v: jnp.sum(ist.rollout(MODEL, ist.State(START.q, v), None, 0.01, steps=5).q)
    assert np.all(np.isfinite(jax.grad(fn)(START.v)))
    assert ist.native.compile(jax.grad(fn), START.v)(START.v).shape == (2,)
    assert len(engine._CACHE) == before


def test_an_unknown_engine_is_refused():
    with pytest.raises(
        BadOption, match="engine must be 'native', 'xla' or None, not the text 'cuda'"
    ):
        ist.step(MODEL, START, None, 0.01, engine="cuda")
