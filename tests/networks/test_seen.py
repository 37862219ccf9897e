"""Corrections fade out beyond the inputs that a network has seen: not at all within, smoothly, to zero."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.blueprint.ranges import rows_of, rows_outside
from isthmus.errors import BadArgument, BadOption
from isthmus.networks.seen import REACH
from tests.blueprint.support import KEY, shaken

PENDULUM = ist.library.pendulum(2)
READS = ["joint/velocity", "joint/position"]
WIRES = {
    "all": ist.Wire("joint/passive_torque", READS, ist.MLP(4, 1)),
    "each": ist.Wire("joint/torque", READS, ist.MLP(4, 1), rows="each"),
    "memory": ist.Wire("joint/torque", READS, ist.GRU(3), rows="each"),
    "drag": ist.Wire("joint/passive_torque", READS, ist.Dissipative(ist.MLP(4, 1))),
    "asked for": ist.Wire("joint/damping", READS, ist.MLP(4, 1), mode="scale", fade=True),
}


@pytest.fixture(scope="module")
def swing() -> ist.Motion:
    return ist.rollout(PENDULUM, ist.State([0.8, 0.4], [0.0, 0.0]), None, dt=0.01, steps=50)


def hybrid(wire, swing):
    """A network that answers anything but zero, and the same without a range."""
    fading = shaken(ist.Blueprint([wire]).attach(PENDULUM, key=KEY, data=swing))
    endless = dataclasses.replace(fading.networks[0], seen=None)
    return fading, dataclasses.replace(fading, networks=(endless,))


def answers(model, Q, V):
    """What the network says at each state."""
    wired = model.networks[0]
    memory = wired.fresh_memory()
    one = lambda q, v: wired.answer(
        {"joint/position": q, "joint/velocity": v}, memory, np.array(0.01)
    )[0]
    return np.asarray(jax.jit(jax.vmap(one))(Q, V))


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_a_correction_is_unchanged_where_it_was_seen_and_zero_far_from_there(wire, swing):
    fading, endless = hybrid(wire, swing)
    np.testing.assert_array_equal(
        answers(fading, swing.q, swing.v), answers(endless, swing.q, swing.v)
    )
    low, high = fading.networks[0].seen
    far = swing.v + (1.0 + 2.0 * REACH) * np.max(high - low)
    assert np.all(answers(fading, swing.q, far) == 0.0)
    assert np.any(answers(endless, swing.q, far) != 0.0)


def test_a_correction_fades_with_the_derivative_that_differences_show(swing):
    wired = hybrid(WIRES["all"], swing)[0].networks[0]
    q, v = swing.q[10], swing.v[10]
    end, width = wired.seen[1, 0], wired.seen[1, 0] - wired.seen[0, 0]

    @jax.jit
    @jax.vmap
    def answer(speed):
        values = {"joint/position": q, "joint/velocity": v + (speed - v) * np.array([1.0, 0.0])}
        return jax.jvp(lambda x: wired.answer(values | {"joint/velocity": x}, None, 0.01)[0],
                       (values["joint/velocity"],), (np.array([1.0, 0.0]),))  # fmt: skip

    speeds, h = np.linspace(end - 0.5 * width, end + 0.5 * width, 200), 1e-6 * width
    y, slope = answer(speeds)
    difference = (np.asarray(answer(speeds + h)[0]) - np.asarray(answer(speeds - h)[0])) / (2.0 * h)
    np.testing.assert_allclose(slope, difference, rtol=1e-5, atol=1e-6)
    second = np.diff(np.asarray(slope), axis=0) / np.diff(speeds)[:, None]
    jumps = np.abs(np.diff(second, axis=0)).max(axis=0)
    assert np.all(jumps < 0.2 * np.ptp(second, axis=0))  # no kink at either end of the fading
    assert np.all(np.asarray(y)[-1] == 0.0)


def test_only_networks_on_torques_fade_unless_users_say_otherwise(swing):
    fades = lambda wire: (
        ist.Blueprint([wire]).attach(PENDULUM, key=KEY, data=swing).networks[0].fades
    )
    assert fades(ist.Wire("joint/torque", "joint/velocity", ist.Linear()))
    assert not fades(ist.Wire("joint/torque", "joint/velocity", ist.Linear(), fade=False))
    assert not fades(ist.Wire("joint/torque", "joint/velocity", ist.Linear(), mode="replace"))
    assert not fades(ist.Wire("joint/damping", "joint/velocity", ist.Linear()))


def test_what_cannot_fade_is_refused():
    with pytest.raises(BadOption, match="cannot fade out: it replaces the physics"):
        ist.Wire("joint/torque", net=ist.Constant(), mode="replace", fade=True)
    net = ist.Conservative(ist.Linear())
    with pytest.raises(BadOption, match="cannot fade out: it is the slope of a potential"):
        ist.Wire("joint/passive_torque", "joint/position", net, fade=True)
    with pytest.raises(BadArgument, match="fade must be True or False or None, not the text 'no'"):
        ist.Wire("joint/torque", net=ist.Constant(), fade="no")


def test_rows_outside_of_what_a_network_has_seen_are_counted(swing):
    fading, _ = hybrid(WIRES["each"], swing)
    assert not rows_outside(fading, rows_of(swing, fading.networks))["torque"].any()
    faster = dataclasses.replace(swing, v=np.where(np.arange(51)[:, None] < 7, 99.0, swing.v))
    assert rows_outside(fading, rows_of(faster, fading.networks))["torque"].sum() == 7


def test_the_range_is_saved_with_the_network(swing, tmp_path):
    fading, endless = hybrid(WIRES["all"], swing)
    for model in (fading, endless):
        ist.save(model, tmp_path / "hybrid.safetensors")
        again = ist.load(tmp_path / "hybrid.safetensors").networks[0]
        assert jax.tree.structure(again) == jax.tree.structure(model.networks[0])
        jax.tree.map(np.testing.assert_array_equal, again, model.networks[0])
    text = ist.Blueprint([WIRES["asked for"]]).to_toml()
    assert "fade = true" in text
    assert ist.Blueprint.from_toml(text).wires == (WIRES["asked for"],)
