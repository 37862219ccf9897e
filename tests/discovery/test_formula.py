"""Formulas name the laws that a force is made of, with their numbers, and say what cannot be told apart."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.discovery.formula import find_formula
from isthmus.errors import BadOption

KINDS = (
    "viscous", "viscous dry", "viscous dry Stribeck", "viscous quadratic", "spring", "spring cubic", "cogging viscous",
    "backlash viscous", "offset dry", "sin cos",
)  # fmt: skip
"""Sums of laws that joints have: ten, four random forces of each."""


def rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(x * x)))


def motion(rng: np.random.Generator, rows: int = 2500) -> dict[str, np.ndarray]:
    """Position and velocity of a joint that swings with four frequencies, 100 rows a second."""
    t = np.arange(rows) / 100.0
    w, a, phase = rng.uniform(0.6, 5.6, 4), rng.uniform(0.3, 1.0, 4), rng.uniform(0.0, 6.3, 4)
    a = (a / (1.0 + w / 6.3))[:, None]
    q = np.sum(a * np.sin(w[:, None] * t + phase[:, None]), axis=0)
    v = np.sum(a * w[:, None] * np.cos(w[:, None] * t + phase[:, None]), axis=0)
    return {"joint/elbow/position": q, "joint/elbow/velocity": v}


def force(names: str, q: np.ndarray, v: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A sum of laws of similar size, with random coefficients and shapes."""
    sign = np.tanh(v / (0.01 * rms(v)))
    play, stick = rng.uniform(0.2, 0.6) * np.abs(q).max(), rng.uniform(0.15, 0.5) * rms(v)
    laws = {
        "viscous": -v, "dry": -sign, "Stribeck": -np.exp(-((v / stick) ** 2)) * sign, "quadratic": -v * np.abs(v),
        "spring": -q, "cubic": -(q**3), "offset": np.ones_like(q), "sin": np.sin(q), "cos": np.cos(q),
        "cogging": np.sin(rng.integers(4, 30) * q + rng.uniform(0.0, 6.3)),
        "backlash": np.clip(q, -play, play) - q,
    }  # fmt: skip
    return np.sum([rng.uniform(0.5, 1.0) * laws[n] / rms(laws[n]) for n in names.split()], axis=0)


def is_found(names: str, seed: list[int], noise: float) -> bool:
    """Whether the laws are found exactly, from a force with so much noise, relative to its size."""
    rng = np.random.default_rng(seed)
    inputs = motion(rng)
    y = force(names, *inputs.values(), rng)
    y = y + noise * rms(y) * rng.normal(size=len(y))
    return set(find_formula(inputs, y, None).names) == set(names.split())


@pytest.mark.parametrize("names", ["viscous", "viscous dry", "backlash viscous", "sin cos"])
def test_the_laws_of_a_force_are_found(names):
    assert is_found(names, [3, len(names)], 0.1)


@pytest.mark.full
@pytest.mark.parametrize(("noise", "least"), [(0.1, 36), (0.5, 28)])
def test_most_of_forty_formulas_are_found_exactly(noise, least):
    found = [
        is_found(names, [2026, k, seed], noise)
        for k, names in enumerate(KINDS)
        for seed in range(4)
    ]
    print(f"noise {noise}: {sum(found)} of {len(found)}")
    assert sum(found) >= least


def test_coefficients_lie_within_their_errors_and_become_free_leaves():
    rng = np.random.default_rng(5)
    inputs = motion(rng)
    v = inputs["joint/elbow/velocity"]
    y = -0.4 * v - 0.3 * np.tanh(v / 0.01) + 0.1 * rng.normal(size=len(v))
    found = find_formula(inputs, y, np.full(len(v), 0.1))
    terms = {term.name: term for term in found.terms}
    for name, value in (("viscous", -0.4), ("dry", -0.3)):
        assert abs(terms[name].coefficients[0] - value) < 4.0 * terms[name].errors[0] < 0.1
    starts = {free.name: free.start for free in found.free()}
    assert starts["joint/elbow/damping"] == pytest.approx(0.4, abs=0.02)
    assert starts["joint/elbow/friction"] == pytest.approx(0.3, abs=0.02)
    np.testing.assert_allclose(found(inputs), y, atol=0.6)
    assert "viscous" in str(found)


def test_what_a_model_has_already_is_added_to_the_start():
    rng = np.random.default_rng(6)
    v = motion(rng)["joint/elbow/velocity"]
    found = find_formula({"joint/joint_1/velocity": v}, -0.4 * v, None)
    model = ist.library.pendulum(1, damping=0.1)
    (free,) = found.free(model)
    assert free.name == "joint/joint_1/damping"
    assert free.start == pytest.approx(0.5)


def test_laws_that_the_data_cannot_tell_apart_are_named_beside_each_other():
    rng = np.random.default_rng(7)
    q = 0.1 * rng.normal(size=400)
    y = -q + 0.05 * rng.normal(size=400)
    found = find_formula({"joint/position": q}, y, None)
    told = {found.names, *(other.names for other in found.alternatives)}
    assert {("spring",), ("sin",)} <= told
    assert " or " in str(found)


def test_a_force_that_is_nothing_but_noise_has_no_formula():
    rng = np.random.default_rng(8)
    found = find_formula(motion(rng, 400), rng.normal(size=400), None)
    assert found.names == ()
    assert found.free() == ()


@pytest.mark.parametrize(
    ("inputs", "y", "error", "words"),
    [
        ({}, np.ones(30), None, "at least one input"),
        ({"joint/velocity": np.ones(29)}, np.ones(30), None, r"shape \(29,\)"),
        ({"joint/velocity": np.ones(30)}, np.full(30, np.nan), None, "20 rows"),
        ({"joint/velocity": np.ones(30)}, np.ones(30), -1.0, "positive errors"),
        ({"joint/velocity": ["a"]}, np.ones(30), None, "arrays of numbers"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(inputs, y, error, words):
    with pytest.raises(BadOption, match=words):
        find_formula(inputs, y, error)
