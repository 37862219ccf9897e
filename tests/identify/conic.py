"""The nearest realisable parameters by a solver of conic programs, which shares nothing with ours but the question."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from isthmus.identify.torque.realisable import Prior, pseudo_of

SIDE = 8


class Program:
    """Rows `offset − M v` that lie in cones; `v` are the unknowns."""

    def __init__(self, unknowns: int) -> None:
        self.unknowns = unknowns
        self.rows: list[np.ndarray] = []
        self.offsets: list[float] = []
        self.cones: list[object] = []

    def add(self, cone: object, rows: list[np.ndarray], offsets: list[float]) -> None:
        """What `rows · v + offsets` gives must lie in the cone."""
        self.rows += [-row for row in rows]
        self.offsets += offsets
        self.cones.append(cone)

    def unit(self, k: int, value: float = 1.0) -> np.ndarray:
        row = np.zeros(self.unknowns)
        row[k] = value
        return row

    def add_logarithm(self, t: int, x: int) -> None:
        """`t ≤ log x`."""
        rows = [self.unit(t), np.zeros(self.unknowns), self.unit(x)]
        self.add(clarabel.ExponentialConeT(), rows, [0.0, 1.0, 0.0])

    def add_definite(self, entries: dict[tuple[int, int], np.ndarray]) -> None:
        """The symmetric matrix of 8×8 with these entries (rows of `v`) is positive semidefinite."""
        none = np.zeros(self.unknowns)
        rows = [
            (1.0 if i == j else np.sqrt(2.0)) * entries.get((i, j), none)
            for j in range(SIDE)
            for i in range(j + 1)
        ]
        self.add(clarabel.PSDTriangleConeT(SIDE), rows, [0.0] * len(rows))

    def solve(self, P: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The `v` that makes `½ vᵀ P v + q·v` least."""
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        M, offsets = sparse.csc_matrix(np.stack(self.rows)), np.array(self.offsets)
        upper = sparse.csc_matrix(np.triu(P))
        found = clarabel.DefaultSolver(upper, q, M, offsets, self.cones, settings).solve()
        assert found.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
        return np.array(found.x)


def nearest_by_cones(A: np.ndarray, b: np.ndarray, prior: Prior, weight: float) -> np.ndarray:
    """The parameters that make `½|A x − b|² + weight · distance` least.

    For each link, a triangular `Q` with `[[J', Q], [Qᵀ, diag Q]] ≥ 0` makes `log det J'` at least the sum of the
    logarithms of its diagonal (Ben-Tal and Nemirovski 2001), `J'` the pseudo-inertia as seen from the start.
    """
    links, positive, n = len(prior.links), len(prior.positive), A.shape[1]
    triangle = [(i, j) for i in range(4) for j in range(i + 1)]
    program = Program(n + 14 * links + positive)
    P, q = np.zeros((program.unknowns,) * 2), np.zeros(program.unknowns)
    P[:n, :n], q[:n] = A.T @ A, -A.T @ b
    for i, start in enumerate(prior.start()[: 10 * links].reshape(-1, 10)):
        root = np.linalg.inv(np.linalg.cholesky(pseudo_of(start)))
        seen = np.zeros((4, 4, program.unknowns))
        for k in range(10):
            seen[:, :, 10 * i + k] = root @ pseudo_of(np.eye(10)[k]) @ root.T
        first = n + 14 * i
        entries = {(r, c): seen[r, c] for c in range(4) for r in range(c + 1)}
        for k, (r, c) in enumerate(triangle):
            entries[r, 4 + c] = program.unit(first + k)
            if r == c:
                entries[4 + r, 4 + r] = program.unit(first + k)
                program.add_logarithm(first + 10 + r, first + k)
        program.add_definite(entries)
        q += weight * np.einsum("aav->v", seen)
        q[first + 10 : first + 14] -= weight
    for k, scale in enumerate(prior.positive):
        t = n + 14 * links + k
        program.add_logarithm(t, 10 * links + k)
        q[10 * links + k] += weight / scale
        q[t] -= weight
    free = np.arange(10 * links + positive, n)
    P[free, free] += weight / prior.free**2
    return program.solve(P, q)[:n]
