"""A designed motion keeps to its limits, beats random ones, and its promise holds in fits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import isthmus as ist
from isthmus.bench.design import rms_errors, within
from isthmus.blas import on_one_thread
from isthmus.errors import BadFree, BadModel, BadOption
from isthmus.excitation.apart import capsules_of
from isthmus.excitation.design import _apart
from isthmus.excitation.fourier import Series
from isthmus.excitation.information import Programs, of_base
from isthmus.excitation.limits import limits_of
from isthmus.excitation.search import Search, objective

LIMITS = {"position": 1.5, "torque": 20.0}


@pytest.fixture(scope="module")
def rods() -> ist.Model:
    return ist.library.pendulum(2)


@pytest.fixture(scope="module")
def found(rods) -> ist.Design:
    return ist.design(rods, seconds=5, limits=LIMITS, starts=2)


def search_of(model, aim, start=None):
    limits, about = limits_of(model, LIMITS), of_base(model, (), 1.0)
    capsules = _apart(model, limits, start)[0]
    return Search(
        Series(model.dof, 5.0, 3), limits, Programs(about, capsules), about.prior, start, aim
    )


@pytest.mark.parametrize(("aim", "start"), [("D", None), ("E", np.array([0.2, -0.1]))])
def test_the_derivative_of_the_lagrangian_is_that_of_differences(rods, aim, start):
    search, rng = search_of(rods, aim, start), np.random.default_rng(0)
    x = 1.5 * search.random(rng).ravel()
    multipliers = rng.uniform(
        0.0, 0.1, len(search.constraints(search.samples(search.coefficients(x))))
    )
    _, slope = search.lagrangian(x, multipliers, 0.5)
    way = 1e-6 * rng.standard_normal(len(x))
    ends = [search.lagrangian(x + sign * way, multipliers, 0.5)[0] for sign in (1.0, -1.0)]
    assert ends[0] - ends[1] == pytest.approx(2.0 * slope @ way, rel=1e-5)


@pytest.mark.parametrize("aim", ["D", "E"])
def test_objectives_do_not_depend_on_units(aim):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((20, 4))
    units = np.diag([1.0, 10.0, 1e-3, 5.0])
    values = [objective(S @ A.T @ A @ S, aim)[0] for S in (np.eye(4), units)]
    shift = -np.log(np.linalg.det(units)) / 4 if aim == "D" else 0.0
    assert values[1] - values[0] == pytest.approx(shift)


def test_a_motion_keeps_to_its_limits_and_begins_and_ends_at_rest(found):
    assert within(found)
    assert np.abs(found.torque).max() > 0.9 * 20.0  # the limit matters
    motion = found.motion
    np.testing.assert_allclose(motion.v[[0, -1]], 0.0, atol=1e-9)
    np.testing.assert_allclose(motion.signals["joint/acceleration"][[0, -1]], 0.0, atol=1e-9)
    np.testing.assert_allclose(motion.q[0], motion.q[-1], atol=1e-9)


@pytest.mark.parametrize("aim", ["D", "E"])
def test_every_search_ends_within_the_limits(rods, aim):
    """Also between the samples at which the search looks."""
    search, rng = search_of(rods, aim), np.random.default_rng(3)
    for x in [search.random(rng) for _ in range(4)]:
        before = objective(search.information(search.samples(search.coefficients(x))), aim)[0]
        with on_one_thread():
            value, found = search.best_from(x.ravel())
        assert value < before
        assert search.keeps(search.samples(search.coefficients(found), search.dense))


def test_a_search_that_finds_nothing_gives_the_best_random_motion_and_says_so(rods, monkeypatch):
    monkeypatch.setattr(Search, "best_from", lambda self, x: None)
    other = ist.design(rods, seconds=5, limits=LIMITS, starts=2)
    assert "the best of the random motions" in str(other)
    assert other.errors.prod() <= np.median(other.random_errors.prod(axis=1))


def test_torques_and_velocities_are_those_of_the_motion(found, rods):
    motion = found.motion
    np.testing.assert_allclose(found.torque, ist.needed_torque(rods, motion), atol=1e-8)
    np.testing.assert_allclose(np.gradient(motion.q, 0.01, axis=0)[1:-1], motion.v[1:-1], atol=5e-3)


def test_a_design_beats_random_motions_and_fits_have_the_errors_that_it_promises(found, rods):
    assert found.ratio < 0.8
    assert found.random_errors.shape == (200, 6)
    actual = rms_errors(rods, found.motion, np.random.default_rng(2))
    np.testing.assert_allclose(actual, found.errors, rtol=0.2)


def test_aim_e_makes_the_condition_small(found, rods):
    other = ist.design(rods, seconds=5, limits=LIMITS, aim="E", starts=2)
    assert other.condition < found.condition
    assert within(other)


@pytest.mark.slow
def test_free_numbers_have_the_ratio_of_errors_that_fits_find():
    """Rollouts of 5 steps from known starts with the noise that a design assumes."""
    rod = ist.library.pendulum(1, damping=0.1)
    free, noise = (
        ["link/rod_1/mass", "joint/joint_1/damping"],
        {"joint/position": 1e-3, "joint/velocity": 1e-2},
    )
    designs = [
        ist.design(rod, free, 2, 2, {"position": 1.5, "velocity": speed}, starts=1)
        for speed in (2.0, 0.7)
    ]
    sizes = []
    for one in designs:
        rng, parts = np.random.default_rng(0), []
        for k in range(0, len(one.torque) - 1, 5):
            part = ist.rollout(
                rod, one.motion.state(k), np.repeat(one.torque[k : k + 1], 5, axis=0), 0.01
            )
            off = np.zeros((2, 6, 1))
            off[:, -1] = rng.standard_normal((2, 1))
            nan = np.where(np.arange(6)[:, None] % 5 == 0, 0.0, np.nan)
            q, v = part.q + 1e-3 * off[0] + nan, part.v + 1e-2 * off[1] + nan
            parts.append(ist.Motion(part.t, q, v, part.signals))
        problem = ist.Problem(
            rod, parts, free=free, signals=[*noise], loss=ist.WholeRun(), noise=noise
        )
        sizes.append(list(_errors(problem)))
    promised = designs[0].errors / designs[1].errors
    np.testing.assert_allclose(np.divide(*sizes), promised, rtol=0.2)
    assert designs[0].ratio < 0.9
    with pytest.raises(BadFree, match="no motion determines joint/joint_1/friction_speed"):
        ist.design(rod, "joint/*/friction_speed", 2, 2, {"position": 1.5}, starts=1)


def _errors(problem):
    """Standard errors of a fit for noise as assumed."""
    fit = ist.fit(problem, verbose=False)
    scale = fit.noise if np.isfinite(fit.noise) and fit.noise > 0.0 else 1.0
    return np.array([e.error for e in fit.estimates.values()]) / scale


def test_bodies_keep_apart():
    """A forearm that could fold onto its base."""
    robot = ist.Builder("folding")
    for name, half in (("base", 0.08), ("upper", 0.08), ("lower", 0.2)):
        robot.add_link(name, mass=1.0, inertia=(0.01, 0.01, 0.01), com=(0.0, 0.0, 0.15))
        robot.add_shape_capsule(name, 0.04, half, position=(0.0, 0.0, 0.07 + half))
    robot.add_joint_revolute("turn", None, "base", axis=(0, 0, 1), lower=-1.0, upper=1.0)
    robot.add_joint_revolute(
        "first", "base", "upper", axis=(0, 1, 0), position=(0, 0, 0.3), lower=-1.5, upper=1.5
    )
    robot.add_joint_revolute(
        "second", "upper", "lower", axis=(0, 1, 0), position=(0, 0, 0.3), lower=0.0, upper=3.1
    )
    model = robot.model()
    made = ist.design(model, seconds=5, starts=1, harmonics=3)
    capsules = capsules_of(model)
    distance = ist.native.compile(lambda q: capsules.distances(model, q), made.motion.q[0])
    assert distance.map(made.motion.q).min() > 0.0
    assert distance(np.array([0.0, 0.0, 3.1]))[0] < 0.0  # the limits alone would let them meet


def test_a_design_is_a_table_a_figure_and_a_file(found, tmp_path):
    text = str(found)
    assert "times those of the median random motion" in text
    assert "m·cz of 'rod_2'" in text
    rounded = dataclasses.replace(found, values=np.full_like(found.values, 5.55e-17))
    assert "e-17" not in str(rounded)
    assert len(found.plot().axes) == 4
    found.write(tmp_path / "exciting.csv")
    again = ist.read_motion(tmp_path / "exciting.csv")
    np.testing.assert_array_equal(again.q, found.motion.q)


def test_a_motion_begins_where_it_is_told(rods):
    made = ist.design(rods, seconds=5, limits=LIMITS, starts=1, start=[0.2, -0.1])
    np.testing.assert_allclose(made.motion.q[0], [0.2, -0.1], atol=1e-9)
    assert within(made)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({}, BadOption, "joint 'joint_1' has no limits of its position: give limits="),
        ({"limits": {"position": (0.1, 0.5)}, "start": [0.0, 0.2]}, BadOption, "'joint_1', 0.1 to 0.5, exclude its"),
        ({"limits": {"positon": 1.0}}, BadOption, "limits has 'positon'; there are position"),
        ({"limits": {"position": {"elbow": 1.0}}}, BadOption, "no joint is called 'elbow'"),
        ({"limits": {"position": (1.0, 1.0)}}, BadOption, "leave no room to move"),
        ({"limits": {**LIMITS, "velocity": 0.0}}, BadOption, "velocity of joint 'joint_1' must be positive"),
        ({"limits": {"position": (1.0, 1.5), "torque": 1.0}}, BadOption, "no motion keeps to the limits"),
        ({"limits": LIMITS, "seconds": 0.0}, BadOption, "seconds must be a positive number"),
        ({"limits": LIMITS, "harmonics": 1}, BadOption, "harmonics must be a whole number from 2"),
        ({"limits": LIMITS, "starts": 0}, BadOption, "starts must be a whole number from 1"),
        ({"limits": LIMITS, "starts": 10**9}, BadOption, "starts must be a whole number from 1 to 200"),
        ({"limits": LIMITS, "seed": -1}, BadOption, "seed must be a whole number from 0"),
        ({"limits": LIMITS, "aim": "A"}, BadOption, "aim must be 'D' or 'E'"),
        ({"limits": LIMITS, "noise": -1.0}, BadOption, "noise of torques must be positive"),
        ({"limits": LIMITS, "noise": 1e-320}, BadOption, "noise of torques must be positive"),
        ({"limits": LIMITS, "free": "start/velocity"}, BadFree, "cannot be designed for 'start/velocity'"),
    ],
)  # fmt: skip
def test_what_cannot_be_designed_is_refused_in_one_sentence(options, error, sentence, rods):
    with pytest.raises(error, match=sentence) as refused:
        ist.design(rods, **options)
    assert len(str(refused.value).splitlines()) == 1


def test_a_base_that_moves_freely_is_refused_by_name():
    with pytest.raises(
        BadModel, match="is free, and a motion can only be designed for joints of one"
    ):
        ist.design(ist.library.quadruped())
