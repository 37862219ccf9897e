"""The best have children: their numbers, recombined and mutated."""

from __future__ import annotations

import numpy as np

import isthmus as ist
from isthmus.identify.search.islands import Found
from isthmus.identify.search.population import Parents
from isthmus.identify.search.random_points import Box
from isthmus.identify.search.search import Status
from tests.identify.toys import Rastrigin

TOY = Rastrigin(size=6)
BOX = Box.of(TOY, TOY.start)
ONE, TWO = np.full(6, -1.0), np.full(6, 2.0)


def test_children_have_the_numbers_of_two_parents_but_for_a_mutation():
    search = ist.Population(islands=40, step=1e-3)
    children = search.propose(BOX, Parents(np.stack([ONE, TWO]), np.array([0.1, 0.2]), 40), 1)
    mutation = np.minimum(np.abs(children - ONE), np.abs(children - TWO))
    assert 0.0 < mutation.max() < 0.1
    first = np.abs(children - ONE) < 0.1
    assert np.any(first.all(axis=1))
    assert np.any(~first.all(axis=1) & first.any(axis=1))


def test_parents_are_the_best_minima_and_all_different():
    X = np.stack([TWO, ONE, ONE + 1e-5, np.zeros(6), np.full(6, 4.0)])
    found = Found(X, np.array([0.2, 0.1, 0.1, np.inf, 0.3]), np.full(5, Status.CONVERGED))
    search = ist.Population(islands=5, parents=2)
    parents = search.absorb(BOX, search.begin(BOX, TOY.start[None]), found)
    np.testing.assert_array_equal(parents.X, [ONE, TWO])
    np.testing.assert_array_equal(parents.cost, [0.1, 0.2])


def test_a_population_without_a_finite_cost_begins_anew():
    search = ist.Population(islands=3)
    lost = Found(np.zeros((3, 6)), np.full(3, np.inf), np.full(3, Status.NOT_FINITE))
    state = search.absorb(BOX, search.begin(BOX, TOY.start[None]), lost)
    assert search.propose(BOX, state, 1).shape == (3, 6)


def test_the_lowest_minimum_of_six_numbers_is_found():
    """Each number has its own minima, so good numbers of two parents join in a child."""
    outcome = ist.Population(islands=16, rounds=15, target=1e-9).search(TOY, TOY.start[None])
    assert outcome.cost.min() < 1e-9
