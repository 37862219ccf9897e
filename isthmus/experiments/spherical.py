"""`spherical` (Real2Sim, section III): two link lengths of a pendulum with spherical joints, seen as headings.

Eleven rows at 25 Hz give the directions in which the links point; how fast they moved at the first row is unknown and
fitted with the lengths. Adam, as in the paper, beside Levenberg-Marquardt.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

import isthmus as ist
from isthmus.experiments.run import Result, Settings, Table
from isthmus.experiments.spherical_figures import draw_lengths
from isthmus.identify.search.search import AbstractSearch, News
from isthmus.phases import in_turn
from isthmus.spatial import rotations

TRUTH = np.array([0.3, 0.2])
"""Lengths [m]."""
STARTS = ((1.5, 1.5), (0.5, 0.5), (1.5, 0.5), (0.5, 1.5))
"""Lengths at the start, as shares of the truth."""
STEPS, DT, SUBSTEPS = 10, 0.04, 4
NOISE = 1e-3
"""Of the measured rotations [rad]."""
EPOCHS = 80
"""After which the paper's Adam has converged."""


def study(settings: Settings) -> Result:
    """Both searches from lengths that are off by half."""
    problem = make_problem(settings.seed)
    problem.evaluation.normal(problem.evaluation.start[None])  # compiles
    epochs = 15 if settings.quick else int(settings.option("epochs", 4 * EPOCHS))
    ways = {
        "Adam": ist.Adam(steps=epochs, rate=float(settings.option("rate", 0.2)), look=1),
        "Levenberg-Marquardt": ist.LevenbergMarquardt(steps=50),
    }
    curves = {}
    for name, search in in_turn([*ways.items()], "search"):
        starts = STARTS[:1] if settings.quick else STARTS
        curves[name] = [followed(problem, search, start) for start in starts]
        settings.say(f"{name}: largest error {max(errors_of(c)[-1] for c in curves[name]):.2%}")
    figures = {"lengths": draw_lengths(curves, TRUTH, EPOCHS)}
    data = {name: [c.tolist() for c in own] for name, own in curves.items()}
    return Result((table(curves),), {"truth": TRUTH.tolist(), "lengths": data}, figures, NOTES)


NOTES = (
    "The paper's pendulum was a real one, whose recording is not public; ours is simulated, with noise of 1e-3 rad.",
)


def make_problem(seed: int = 0) -> ist.Problem:
    """Noisy rotations of a pendulum that is already moving; its velocities are not given."""
    draw = np.random.default_rng(seed)
    model = ist.library.pendulum(2, TRUTH, joints="spherical")
    q = np.concatenate([turned(np.array([0.6, 0.5, 0.0])), turned(np.array([-0.3, 0.8, 0.0]))])
    v = np.array([1.5, -2.0, 0.0, -2.0, 1.0, 0.0])
    motion = ist.rollout(model, ist.State(q, v), None, DT, steps=STEPS, substeps=SUBSTEPS)
    shaken = [
        rotations.product(row, turned(NOISE * draw.standard_normal(3)))
        for row in np.asarray(motion.q).reshape(-1, 4)
    ]
    measured = np.asarray(shaken, dtype=np.float64).reshape(-1, 8)
    log = ist.Motion(motion.t, measured, np.zeros_like(motion.v))
    return ist.Problem(
        make=lambda p: ist.library.pendulum(2, p["length"], joints="spherical"), motions=log,
        free=[
            ist.Free("length", start=TRUTH, low=0.05, high=1.0, shape=2),
            ist.Free("start/velocity", prior=(0.0, 10.0)),
        ],
        loss=ist.WholeRun(), signals=["joint/heading"], noise=NOISE, substeps=SUBSTEPS,
    )  # fmt: skip


def turned(by: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation vector [rad]."""
    angle = float(np.linalg.norm(by))
    axis = by / max(angle, 1e-300)
    return np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * axis])


def followed(
    problem: ist.Problem, search: AbstractSearch, share: tuple[float, float]
) -> Float[np.ndarray, "steps 2"]:
    """The lengths after each step of a search."""
    heard: list[np.ndarray] = []
    scale = problem.parameters.scale
    start = problem.evaluation.start
    start[:2] *= share

    def listen(news: News) -> None:
        heard.append(news.x[:2] * scale[:2])

    search.search(problem.evaluation, start[None], listen)
    return np.stack(heard)


def errors_of(curve: Float[np.ndarray, "steps 2"]) -> Float[np.ndarray, " steps"]:
    """The larger relative error of both lengths after each step."""
    return np.max(np.abs(curve / TRUTH - 1.0), axis=1)


def table(curves: dict[str, list[np.ndarray]]) -> Table:
    """How near each search came, and how soon."""
    rows = []
    for name, own in curves.items():
        for k, curve in enumerate(own):
            error = errors_of(curve)
            after = int(np.max(np.flatnonzero(error >= 0.01), initial=-1)) + 1
            start = " and ".join(f"{100 * (s - 1):+.0f} %" for s in STARTS[k])
            rows.append((
                name, start, f"{curve[-1, 0]:.4f} m, {curve[-1, 1]:.4f} m", f"{error[-1]:.2%}",
                str(after) if after < len(error) else "never", "about 80" if name == "Adam" else "",
            ))  # fmt: skip
    columns = (
        "search", "start off by", "lengths found", "largest error", "within 1 % after", "paper: after",
    )  # fmt: skip
    title = f"Lengths {TRUTH[0]:g} m and {TRUTH[1]:g} m of a spherical pendulum"
    return Table(title, columns, tuple(rows))
