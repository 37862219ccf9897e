"""Lemke's algorithm solves linear complementarity problems, and contact solved by discs agrees with its pyramids."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.contact.lemke import lemke, pyramid_impulses
from isthmus.contact.solve import SOLVED, impulses
from isthmus.errors import BadModel, BadOption
from isthmus.simulate.pyramid import pyramid_rollout
from tests.contact.bodies import at, block, moved

CONTACTS = 3


@pytest.fixture(scope="module")
def solve():
    """Impulses by discs, with softness zero, converged."""
    example = (
        np.eye(3 * CONTACTS),
        np.zeros((CONTACTS, 3)),
        np.zeros(CONTACTS),
        np.ones(CONTACTS, bool),
    )
    fn = ist.native.compile(lambda *given: impulses(*given, 0.0 * given[1], 300, 20), *example)

    def solved(A, c, friction):
        p, off = fn(A, c, friction, np.ones(CONTACTS, bool))
        assert off < SOLVED
        return np.asarray(p)

    return solved


def contacts(rng):
    """Three contacts of one body: how they yield, and their velocities before; one of them at least closes."""
    J = rng.normal(size=(3 * CONTACTS, 6))
    c = (J @ rng.normal(size=6)).reshape(CONTACTS, 3)
    return J @ J.T, c


def test_lemke_solves_problems_of_positive_definite_matrices():
    rng = np.random.default_rng(0)
    for n in (1, 5, 20):
        B = rng.normal(size=(n, n))
        M, q = B @ B.T + 0.1 * np.eye(n), rng.normal(size=n)
        z = lemke(M, q)
        w = M @ z + q
        assert min(z.min(), w.min()) > -1e-10
        assert abs(z @ w) < 1e-9


def test_lemke_gives_nan_where_there_is_no_solution():
    assert np.isnan(lemke(np.array([[-1.0]]), np.array([-1.0]))).all()


def test_pyramid_impulses_push_stay_in_the_pyramid_and_oppose_sliding():
    rng = np.random.default_rng(1)
    for _ in range(20):
        A, c = contacts(rng)
        p = pyramid_impulses(A, c, np.full(CONTACTS, 0.6), 4)
        w = (A @ p.reshape(-1)).reshape(-1, 3) + c
        assert min(p[:, 0].min(), w[:, 0].min()) > -1e-10
        assert np.abs(p[:, 0] * w[:, 0]).max() < 1e-9
        assert np.all(np.abs(p[:, 1:]).sum(1) <= 0.6 * p[:, 0] + 1e-9)
        assert np.all(np.sum(p[:, 1:] * w[:, 1:], axis=1) < 1e-9)


def test_without_friction_discs_and_pyramids_give_the_same_velocities(solve):
    rng = np.random.default_rng(2)
    for _ in range(20):
        A, c = contacts(rng)
        p, reference = (
            solve(A, c, np.zeros(CONTACTS)),
            pyramid_impulses(A, c, np.zeros(CONTACTS), 4),
        )
        np.testing.assert_allclose(A @ p.reshape(-1), A @ reference.reshape(-1), atol=1e-8)


def test_sliding_along_a_vertex_of_the_pyramid_agrees(solve):
    """Three corners of a plate that slides along the first tangent, without turning about its normal."""
    J = np.zeros((CONTACTS, 3, 3))  # plate: x, z, turn about y
    for k, arm in enumerate((-1.0, 0.3, 1.0)):
        J[k, 0], J[k, 1], J[k, 2] = (0.0, 1.0, arm), (1.0, 0.0, 0.5), (0.0, 0.0, 0.0)
    rows = J.reshape(-1, 3)
    A = rows @ np.diag([1.0, 1.0, 2.0]) @ rows.T
    A[2::3, 2::3] = np.eye(CONTACTS)
    c = J @ np.array([5.0, -1.0, 0.2])
    for friction in (0.2, 0.5):
        mu = np.full(CONTACTS, friction)
        p, reference = solve(A, c, mu), pyramid_impulses(A, c, mu, 8)
        w = (A @ p.reshape(-1)).reshape(-1, 3) + c
        assert w[:, 1].max() > 1.0, "it slides on"
        np.testing.assert_allclose(A @ p.reshape(-1), A @ reference.reshape(-1), atol=1e-8)


def test_other_directions_differ_by_the_angle_between_the_sides_which_halves_as_they_double(solve):
    """A point that slides: friction turns by at most half the angle of a side, and velocities with it."""
    A, mu = np.eye(3 * CONTACTS), np.full(CONTACTS, 0.5)
    angles = np.linspace(0.0, 2.0 * np.pi, 198).reshape(-1, CONTACTS)
    worst = {}
    for sides in (8, 16, 32):
        off = []
        for angle in angles:
            c = np.stack([-np.ones(CONTACTS), 5.0 * np.cos(angle), 5.0 * np.sin(angle)], axis=1)
            p, reference = solve(A, c, mu), pyramid_impulses(A, c, mu, sides)
            off.append(np.linalg.norm(p - reference, axis=1) / np.linalg.norm(p[:, 1:], axis=1))
        worst[sides] = np.max(off)
        assert worst[sides] < 2.0 * np.pi / sides
    assert 1.8 < worst[8] / worst[16] < 2.2
    assert 1.8 < worst[16] / worst[32] < 2.2


def test_a_thrown_block_comes_to_rest_where_the_pyramid_of_many_sides_lets_it():
    """Along a vertex: a block that slides and stops, both ways."""
    model = block(ist.Contact(friction=0.4, softness=0.0))
    start = at((0.0, 0.0, 0.05), v=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    reference = pyramid_rollout(model, start, 2e-3, 150, sides=4)
    motion = moved(model, start, 2e-3, 150)
    np.testing.assert_allclose(motion.q, reference.q, atol=1e-8)
    assert np.abs(reference.v[-1]).max() < 1e-9


def test_odd_pyramids_and_models_without_impulses_are_refused():
    with pytest.raises(BadOption, match="sides must be an even number from 4, not 5"):
        pyramid_impulses(np.eye(3), np.zeros((1, 3)), np.ones(1), 5)
    with pytest.raises(BadModel, match="has no contacts by impulses"):
        pyramid_rollout(block("penalty"), at((0.0, 0.0, 0.1)), 1e-3, 1)
