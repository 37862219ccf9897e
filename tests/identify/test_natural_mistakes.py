"""What users try first: searches by name or class, fits of starts alone, fit of a model."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption
from isthmus.identify.search.names import SEARCHES, as_search


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_may_be_its_name_or_its_class(name):
    kind = SEARCHES[name]
    for given in (name, name.upper(), name.replace("_", "-"), kind, as_search(kind)):
        assert isinstance(as_search(given), kind)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("levenberg", "no search 'levenberg'. Did you mean 'levenberg_marquardt'"),
        (3, "must be a search, such as ist.LevenbergMarquardt"),
        (int, "must be a search"),
    ],
)
def test_what_is_no_search_is_refused(given, words):
    with pytest.raises(BadOption, match=words):
        as_search(given)


def test_a_fit_of_starts_alone():
    model = ist.library.pendulum(1)
    truth = ist.rollout(model, ist.State(np.array([0.3]), np.zeros(1)), None, 0.01, steps=60)
    noise = 1e-3 * np.random.default_rng(0).standard_normal(truth.q.shape)
    motion = ist.Motion(truth.t, truth.q + noise, truth.v)
    free = [ist.Free("start/position", prior=0.01), ist.Free("start/velocity", prior=0.1)]
    problem = ist.Problem(model, motion, free=free, loss=ist.Windows(20), noise=1e-3)
    fit = ist.fit(problem)
    before, after = fit.errors["joint/position"]
    assert fit.status == "converged"
    assert after < before
    assert "joint/position" in str(fit)
