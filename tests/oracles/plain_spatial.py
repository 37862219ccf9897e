"""Rotations, spatial matrices and inertias in plain NumPy (Featherstone 2008, chapter 2)."""

from __future__ import annotations

import numpy as np


def skew(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def exp(turn):
    angle, K = np.linalg.norm(turn), skew(turn)
    one, two = np.sinc(angle / np.pi), 0.5 * np.sinc(angle / 2 / np.pi) ** 2
    return np.eye(3) + one * K + two * K @ K


def log(R):
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2.0
    sine = np.linalg.norm(axis)
    angle = np.arctan2(sine, (np.trace(R) - 1.0) / 2.0)
    return axis if sine == 0.0 else axis * angle / sine


def right_jacobian(turn):
    """`exp(turn + d) ≈ exp(turn) exp(J d)`, by its series."""
    term, total = np.eye(3), np.eye(3)
    for n in range(2, 30):
        term = -term @ skew(turn) / n
        total = total + term
    return total


def matrix(q):
    w, x = q[0] / np.linalg.norm(q), q[1:] / np.linalg.norm(q)
    return np.eye(3) + 2.0 * w * skew(x) + 2.0 * skew(x) @ skew(x)


def product(a, b):
    return np.concatenate(
        [[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])]
    )


def from_z(axis):
    """The shortest rotation from z to a unit vector."""
    turn, cosine = np.cross([0.0, 0.0, 1.0], axis), axis[2]
    sine = np.linalg.norm(turn)
    return exp(turn if sine == 0.0 else turn / sine * np.arctan2(sine, cosine))


def plucker(R, p):
    """Motions of the parent's frame in a child's that stands at `R`, `p`."""
    return np.block([[R.T, np.zeros((3, 3))], [-R.T @ skew(p), R.T]])


def crossed(v):
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


def inertia(mass, com, six):
    xx, yy, zz, xy, xz, yz = six
    C = skew(com)
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.block([[about - mass * C @ C, mass * C], [-mass * C, mass * np.eye(3)]])
