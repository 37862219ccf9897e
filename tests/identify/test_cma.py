"""CMA-ES by asking and telling."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption, MissingExtra
from isthmus.identify.search.search import Status
from tests.identify.toys import Rastrigin


class Holes(Rastrigin):
    """Some simulations fail."""

    def cost(self, X):
        return np.where(X[:, 0] < -2.0, np.nan, super().cost(X))


def test_a_smooth_loss_is_minimised_to_convergence_though_some_points_fail():
    pytest.importorskip("cma")
    toy = Holes(size=3, depth=0.01)
    outcome = ist.CMAES().search(toy, np.full((1, 3), -1.5))
    assert outcome.cost.min() < 1e-9
    assert outcome.status[outcome.best] is Status.CONVERGED


def test_one_number_is_refused_in_words():
    pytest.importorskip("cma")
    with pytest.raises(BadOption, match="two free numbers or more"):
        ist.CMAES().search(Rastrigin(size=1), np.zeros((1, 1)))


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(MissingExtra, match=r"CMAES needs cma: pip install 'isthmus\[cma\]'"):
        ist.CMAES(rounds=1).search(Rastrigin(), np.zeros((1, 2)))


def test_a_population_of_three_is_refused():
    with pytest.raises(BadOption, match="a population of at least 4"):
        ist.CMAES(population=3)
