"""A fit is judged by other logs as by held-out ones, also after it was saved."""

from __future__ import annotations

import functools

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption, FitWarning
from isthmus.identify.answer.unfitted import sensors, unfitted
from isthmus.identify.predict import noise_of
from tests.identify.motions import SINGLE, recorded
from tests.report.fits import real

TRUTH = SINGLE.set("link/mass", 1.3)


def without_velocities(seed: int, noise: float = 2e-3) -> ist.Motion:
    """A pendulum whose angle was measured with noise."""
    clean = recorded(TRUTH, 121, start=(1.2 - 0.4 * seed,))
    rough = noise * np.random.default_rng(seed).standard_normal(clean.q.shape)
    return ist.Motion(clean.t, clean.q + rough, None, clean.signals)


def test_errors_from_measured_starts_are_those_of_held_out_motion(tmp_path):
    fit = real()
    motion = fit.problem.runs[1][0]
    loaded = ist.Fit.load(fit.save(tmp_path))
    for known in (fit, loaded):
        (score,) = ist.predict(known, motion, frames=0).scores
        np.testing.assert_allclose((score.unfitted, score.error), fit.heldout["joint/position"])
        assert score.still > 10 * score.unfitted
        assert score.unit == "rad"
        assert score.parts == {"joint/joint_1/position": score.error}


@functools.cache
def of_noisy_starts() -> ist.Fit:
    logs = [without_velocities(k) for k in range(2)]
    free = [ist.Free("link/*/mass", low=0.5, high=2.0)]
    return ist.fit(ist.Problem(SINGLE, logs, free=free, loss=ist.Windows(20), noise=2e-3))


def test_starts_by_the_model_halve_the_error_of_short_windows():
    fit, motion = of_noisy_starts(), without_velocities(2)
    measured, estimated = (ist.predict(fit, motion, frames=k) for k in (0, 6))
    assert estimated.scores[0].error < 0.5 * measured.scores[0].error
    assert "estimated from the first 6 rows" in str(estimated)
    assert "as measured" in str(measured)
    assert ist.predict(fit, motion, frames=30).frames == 0  # longer than a window


@pytest.mark.parametrize("frames", [-1, True])
def test_frames_are_counted(frames):
    with pytest.raises(BadOption, match="frames must be a whole number"):
        ist.predict(real(), real().problem.runs[1], frames=frames)


def test_the_model_before_the_fit_has_the_start_values():
    plain = unfitted(real())
    np.testing.assert_allclose(plain.link_mass, SINGLE.link_mass)
    np.testing.assert_allclose(plain.joint_damping, SINGLE.joint_damping)


def test_bodies_lengths_and_networks_have_their_start_values():
    wire = ist.Wire("joint/passive_torque", ["joint/velocity"], ist.Linear())
    model = ist.Blueprint([wire]).attach(SINGLE, key=jax.random.key(0))
    free = [ist.Free(n) for n in ("link/*/inertial", "stretch/rod_1", "network/*")]
    problem = ist.Problem(model, recorded(TRUTH, 31), free=free, loss=ist.Windows(15))
    with pytest.warns(FitWarning):
        fit = ist.fit(problem, ist.LevenbergMarquardt(steps=2))
    plain = unfitted(fit)
    for name in ("link_mass", "link_com", "link_inertia"):
        np.testing.assert_allclose(getattr(plain, name), getattr(model, name), rtol=1e-9)
    nets = ([wired.net for wired in m.networks] for m in (plain, model))
    same = zip(*map(jax.tree.leaves, nets), strict=True)
    for a, b in same:
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_offsets_of_new_runs_are_the_mean_of_the_fitted_ones():
    logs = [recorded(SINGLE, 41, start=(0.5 + 0.2 * k,)) for k in range(2)]
    moved = [
        ist.Motion(m.t, m.q + x, m.v, m.signals) for m, x in zip(logs, (0.1, 0.3), strict=True)
    ]
    free = [ist.Free("offset/joint/position", each_run=True)]
    fit = ist.fit(ist.Problem(SINGLE, moved, free=free, loss=ist.Windows(20)))
    (found,) = sensors(fit)
    assert found.start == pytest.approx(0.2, abs=1e-6)
    new = recorded(SINGLE, 41, start=(0.4,))
    new = ist.Motion(new.t, new.q + 0.2, new.v, new.signals)
    (score,) = ist.predict(fit, new, frames=0).scores
    assert score.error < 1e-6 < score.unfitted


def test_noise_is_found_beside_a_smooth_motion():
    t = 0.01 * np.arange(2000)[:, None]
    rough = 1e-3 * np.random.default_rng(0).standard_normal(t.shape)
    assert noise_of(np.sin(3 * t) + rough) == pytest.approx(1e-3, rel=0.1)
    assert noise_of(np.zeros((2, 1))) == 0.0
