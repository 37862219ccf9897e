"""A fit on disk: what `Fit.save` writes needs nothing else to be read, and folders of version 0.1 are read too."""

from __future__ import annotations

from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFile, BadOption, FitWarning, MissingFile
from tests.identify.motions import SINGLE, recorded

SAVED = Path(__file__).parent / "saved"
"""Written by version 0.1: a pendulum's mass and damping, and weights of a network at the same pendulum."""


def hybrid(net: object) -> ist.Model:
    wire = ist.Wire("joint/passive_torque", ["joint/velocity"], net)
    return ist.Blueprint([wire]).attach(SINGLE, key=jax.random.key(0))


def fitted(model: ist.Model) -> ist.Fit:
    log = recorded(SINGLE.set("joint/damping", 0.6), 31)
    problem = ist.Problem(model, log, free=[ist.Free("network/*")], loss="whole_run")
    with pytest.warns(FitWarning, match="did not converge"):
        return ist.fit(problem, ist.LBFGS(steps=1), check=False)


def same(a: ist.Model, b: ist.Model) -> None:
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_fit_with_networks_is_loaded_without_the_model_it_was_made_from(tmp_path):
    fit = fitted(hybrid(ist.MLP(2, 1)))
    again = ist.Fit.load(fit.save(tmp_path))
    assert str(again) == str(fit)
    same(again.model, fit.model)
    same(ist.load(tmp_path / "model.safetensors"), fit.model)
    np.testing.assert_array_equal(again.x, fit.x)


class Doubled(eqx.Module):
    weight: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return 2.0 * self.weight * x


def test_classes_of_your_own_are_given_by_name(tmp_path):
    fit = fitted(hybrid(Doubled(jax.numpy.ones(1))))
    fit.save(tmp_path)
    with pytest.raises(BadOption, match="needs your class 'Doubled'"):
        ist.Fit.load(tmp_path)
    same(ist.Fit.load(tmp_path, networks={"Doubled": Doubled}).model, fit.model)


def test_fits_of_version_01_are_read():
    fit = ist.Fit.load(SAVED / "fit_01")
    assert fit["link/rod_1/mass"].value == pytest.approx(1.3)
    np.testing.assert_array_equal(fit.model.link_mass, [fit["link/rod_1/mass"].value])
    assert fit.model.joint_names == SINGLE.joint_names
    assert fit.covariance.shape == (2, 2)
    assert "link/rod_1/mass" in str(fit)


def test_networks_of_version_01_need_a_model_of_the_same_structure():
    with pytest.raises(BadOption, match=r"saved by isthmus 0.1.*like="):
        ist.Fit.load(SAVED / "fit_01_network")
    fit = ist.Fit.load(SAVED / "fit_01_network", like=hybrid(ist.MLP(2, 1)))
    weights = [x for x in jax.tree.leaves(fit.model.networks[0].net) if np.size(x)]
    assert sorted(np.concatenate([np.ravel(x) for x in weights])) == pytest.approx(
        sorted(e.value for e in fit.estimates.values())
    )
    with pytest.raises(BadOption, match="differ in shape"):
        ist.Fit.load(SAVED / "fit_01_network", like=hybrid(ist.MLP(3, 1)))


def test_a_folder_that_is_no_fit_is_refused(tmp_path):
    with pytest.raises(MissingFile, match="no folder that"):
        ist.Fit.load(tmp_path)
    for name in ("fit.json", "fit.npz"):
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(BadFile, match="was not written by Fit"):
        ist.Fit.load(tmp_path)
