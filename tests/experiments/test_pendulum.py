"""The pendulum study finds what a simulated film was made with, and beats the floor on the real one."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption
from isthmus.experiments import pendulum
from isthmus.experiments.pendulum_judge import Found, predicted
from isthmus.experiments.pendulum_markers import as_they_are, calibrate
from isthmus.experiments.pendulum_network import windows_by_model
from isthmus.experiments.run import Settings, reproduce

TRUTH = {
    "frame_time": 1 / 500, "weight": 9.8, "inertia_1": 0.88, "inertia_2": 0.067,
    "damping": (0.02, 0.006), "friction": (0.0, 0.1),
}  # fmt: skip


def test_without_recordings_the_study_says_what_it_needs():
    with pytest.raises(BadOption, match="--data"):
        pendulum.study(Settings(quick=True))


def test_a_start_is_where_the_model_agrees_with_noisy_frames():
    model, plain = pendulum.made(TRUTH), as_they_are()
    true = np.array([1.0, 0.5, 3.0, -4.0])
    state = ist.State(q=true[:2], v=true[2:])
    motion = ist.rollout(model, state, None, pendulum.FRAME, 900, integrator="rk4")
    seen = np.asarray(motion.q) + 1.5e-3 * np.random.default_rng(0).normal(size=motion.q.shape)
    (film,) = pendulum.films([ist.Motion(np.asarray(motion.t), seen, 0.0 * seen)], plain)
    off = {
        by_model: predicted([film], model, plain, np.zeros(2), 25, by_model)[1][:, 25]
        for by_model in (False, True)
    }
    assert np.sqrt(np.mean(off[True] ** 2)) < 0.7 * np.sqrt(np.mean(off[False] ** 2))


def test_a_support_that_hardly_yields_is_a_rigid_one_and_a_light_one_is_not():
    support = {"frequency": 20.0, "damping_ratio": 0.1, "support_mass": 1e7}
    state = np.array([[1.0, 0.5]])

    def swung(model):
        still = np.zeros((1, model.dof - 2))
        start = ist.State(np.concatenate([still, state], axis=1), np.zeros((1, model.dof)))
        motion = ist.rollout_many(model, start, None, pendulum.FRAME, steps=60, integrator="rk4")
        return np.asarray(motion.q)[0, :, -2:]

    rigid, heavy = swung(pendulum.made(TRUTH)), swung(pendulum.made({**TRUTH, **support}))
    np.testing.assert_allclose(heavy, rigid, atol=1e-5)
    light = swung(pendulum.made({**TRUTH, **support, "support_mass": 1.0}))
    assert np.abs(light - rigid).max() > 1e-3


def test_windows_by_the_model_know_a_support_only_where_they_begin(tmp_path):
    (film, *_), plain = (
        pendulum.films(pendulum.runs_of(str(filmed(tmp_path, 700))), as_they_are()),
        as_they_are(),
    )
    support = {"frequency": 15.0, "damping_ratio": 0.1, "support_mass": 50.0}
    known = Found(
        pendulum.made({**TRUTH, **support}), plain, np.zeros(2), {}, (), film.q, (), (), ()
    )
    motion = windows_by_model(film, known, steps=45, stride=200)
    starts = np.arange(0, len(motion), 46)
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(motion.q[:, 0])), starts)
    assert np.isfinite(motion.q[:, 1:]).all()
    np.testing.assert_allclose(
        motion.q[starts, 1:], film.q[100 + 200 * np.arange(len(starts))], atol=0.01
    )


def test_a_film_that_is_too_short_is_refused(tmp_path):
    with pytest.raises(BadOption, match=r"run 0 of .* has 500 frames; 600 are needed"):
        pendulum.runs_of(str(filmed(tmp_path, rows=500)))


def filmed(folder, rows: int = 1700):
    """Three runs of a known pendulum, as pixels of a ragged file."""
    starts = ist.State(q=np.array([[1.0, 0.5], [0.8, -0.4], [0.6, 1.2]]), v=np.zeros((3, 2)))
    model = pendulum.made(TRUTH)
    motion = ist.rollout_many(model, starts, None, pendulum.FRAME, steps=rows - 1, integrator="rk4")
    a, b = np.moveaxis(np.cumsum(np.asarray(motion.q), axis=2), 2, 0).reshape(2, -1)
    along = lambda x: np.stack([np.cos(x), np.sin(x)], axis=1)
    red = np.zeros((3 * rows, 2))
    green = red + 5900 * along(a)
    pixels = np.round(np.concatenate([red, green, green + 4510 * along(b)], axis=1))
    path = folder / "film.npz"
    np.savez(path, pixels=pixels.astype(np.int16), offsets=rows * np.arange(4), ids=np.arange(3))
    return path


@pytest.mark.full
@pytest.mark.compiles_much("a whole study")
def test_a_simulated_film_gives_its_numbers_back(tmp_path):
    path = filmed(tmp_path)
    result = reproduce("pendulum", Settings(quick=True, data=str(path)), tmp_path / "out")
    found = result.numbers["estimates"]["all runs"]
    for name in ("frame_time", "weight", "inertia_1", "inertia_2"):
        assert found[name] == pytest.approx(TRUTH[name], rel=0.02), name
    assert result.numbers["errors"]["all runs"][0] < 1e-3
    assert result.numbers["errors_many"]["all runs"][0] < 1e-3
    assert np.all(np.array(result.numbers["errors_by_model"]["all runs"]) < 5e-3)
    assert {"tables.txt", "numbers.json", "motion.png", "errors.png"} <= {
        file.name for file in (tmp_path / "out").iterdir()
    }
    judged = reproduce("pendulum", Settings(judge=str(path)), tmp_path / "out").judged
    assert set(judged.numbers["errors"]) == set(result.numbers["errors"])
    assert judged.numbers["errors"]["all runs"][0] < 1e-3


@pytest.mark.slow
@pytest.mark.compiles_much("a whole study")
@pytest.mark.filterwarnings("ignore::isthmus.errors.FitWarning")
def test_all_runs_of_the_real_pendulum_beat_the_floor(shared_data):
    path = str(shared_data / "ibm_double_pendulum.npz")
    runs = ist.read_motion(path, dataset="ibm_double_pendulum")
    markers = calibrate([np.asarray(m.signals["extra/markers"]) for m in runs[:-2]])
    found = pendulum.from_all(pendulum.films(runs, markers), markers, Settings())
    assert np.all(np.array(found.errors) < pendulum.FLOOR)
    assert 1.0 / found.numbers["frame_time"][0] == pytest.approx(500.0, abs=5.0)
