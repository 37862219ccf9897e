"""What a network learned is read off the model itself."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np

import isthmus as ist
from isthmus.report.network_section import axes_of, changed, networks
from tests.report.fits import real


def test_the_effect_of_a_network_is_drawn_and_zero_when_fresh():
    fit = real()
    wire = ist.Wire("joint/passive_torque", reads=["joint/velocity"], net=ist.Linear())
    model = ist.Blueprint([wire]).attach(fit.model, key=jax.random.key(0))
    (wired,), (axis,) = model.networks, axes_of(model, model.networks[0])
    assert (axis.quantity, axis.unit) == ("velocity", "rad/s")
    x, rest = np.linspace(-1.0, 1.0, 5), np.zeros(1)
    np.testing.assert_array_equal(changed(model, wired, axis, x, rest, rest), 0.0)
    steeper = jax.tree.map(lambda w: w + 0.5, wired.net)
    model = dataclasses.replace(model, networks=(dataclasses.replace(wired, net=steeper),))
    found = changed(model, model.networks[0], axis, x, rest, rest)[:, 0]
    np.testing.assert_allclose(found, found[2] + x * (found[4] - found[2]), atol=1e-12)
    assert found[4] != found[2]
    drawn = networks(dataclasses.replace(fit, model=model), fit.problem)
    assert "network/passive_torque" in drawn.replace("<wbr>", "")
    assert "velocity of joint_1 [rad/s]" in drawn


def test_a_model_without_networks_has_no_such_section():
    assert networks(real(), None) is None
