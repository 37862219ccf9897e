"""Pushes of the MIT data set: recorded paths as arrays, outlines, what is learned from, how far a path is off."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from isthmus.data.datasets_push import outlines
from isthmus.data.read import read_motion
from isthmus.errors import BadFile

ROWS = 201
"""Rows that are compared, at equal times over each push."""
UNITS = 1.5, 2.0
"""Errors [mm, degrees] that weigh the same."""
FAILED = 100.0, 90.0
"""Errors [mm, degrees] of a simulation that gave no numbers."""
BODIES = {
    "rect1": (0.837, 0.00113), "hex": (0.983, 0.0015), "ellip1": (0.894, 0.00123), "ellip3": (1.334, 0.00295),
    "butter": (1.197, 0.00295),
}  # fmt: skip
"""Mass [kg] and moment of inertia [kg·m²] as published."""
DENSITY = 103.0
"""Mass over area [kg/m²] of an object that is not in the list."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """What is known of an object before it is pushed."""

    outline: np.ndarray
    """Corners [m] in its own frame, (corners, 2)."""
    mass: float
    inertia: float


@dataclasses.dataclass(frozen=True)
class Pushes:
    """Recorded pushes."""

    names: tuple[str, ...]
    """The shape of each."""
    series: tuple[str, ...]
    """The series of each: pushes of one shape at one speed."""
    shapes: dict[str, Shape]
    objects: np.ndarray
    """x, y [m] and angle [rad], (pushes, ROWS, 3)."""
    times: tuple[np.ndarray, ...]
    """Of the rows of each tip path [s], from zero."""
    tips: tuple[np.ndarray, ...]
    """x, y [m] of the tip, (rows, 2) each."""

    def __len__(self) -> int:
        return len(self.names)

    def pick(self, which: np.ndarray) -> Pushes:
        """Some of them."""
        some = lambda xs: tuple(xs[i] for i in which)
        return Pushes(
            some(self.names), some(self.series), self.shapes, self.objects[which], some(self.times), some(self.tips)
        )  # fmt: skip

    def of(self, names: tuple[str, ...] | list[str]) -> np.ndarray:
        """The pushes of some shapes."""
        return np.flatnonzero([name in names for name in self.names])

    @property
    def kinds(self) -> list[str]:
        """The shapes that are pushed, in the order of the alphabet."""
        return sorted(set(self.names))


def recorded(path: str) -> Pushes:
    """All pushes of a gathered file."""
    motions = read_motion(path, dataset="mit_push")
    motions = motions if isinstance(motions, list) else [motions]
    labels = [m.about.name.split(":")[2].split(",") for m in motions]
    names = tuple(shape for shape, *_ in labels)
    series = tuple(f"{shape}_{speed.removeprefix('v=')}" for shape, speed, *_ in labels)
    corners = outlines(Path(path))
    if missing := sorted(set(names) - set(corners)):
        raise BadFile(
            f"{path!r} has pushes of {missing[0]!r} and no outline_{missing[0]}: add its corners [m]."
        )
    shapes = {name: shape_of(name, corners[name]) for name in sorted(set(names))}
    q = [np.asarray(m.q) for m in motions]
    t = [np.asarray(m.t) - float(m.t[0]) for m in motions]
    rows = [np.linspace(0.0, x[-1], ROWS) for x in t]
    objects = np.stack([
        np.stack([np.interp(r, x, column) for column in p[:, :3].T], axis=1)
        for r, x, p in zip(rows, t, q, strict=True)
    ])  # fmt: skip
    return Pushes(names, series, shapes, objects, tuple(t), tuple(p[:, 3:5] for p in q))


def shape_of(name: str, outline: np.ndarray) -> Shape:
    """An object with its published mass and inertia, or those of a plate as heavy for its area."""
    corners = np.asarray(outline, dtype=np.float64)
    if name in BODIES:
        return Shape(corners, *BODIES[name])
    inside = grid_inside(corners, 0.002)
    area = len(inside) * 0.002**2
    return Shape(corners, DENSITY * area, DENSITY * area * np.mean(np.sum(inside**2, axis=1)))


def grid_inside(outline: np.ndarray, spacing: float) -> np.ndarray:
    """Points [m] of a square grid through the origin that are inside an outline, (points, 2)."""
    reach = int(np.ceil(np.abs(outline).max() / spacing)) + 1
    line = spacing * np.arange(-reach, reach + 1)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    x, y = points[:, None, 0], points[:, None, 1]
    (x0, y0), (x1, y1) = outline.T, np.roll(outline, -1, axis=0).T
    rise = np.where(y1 == y0, 1.0, y1 - y0)
    crossed = ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / rise + x0)
    return points[crossed.sum(axis=1) % 2 == 1]


def squares(predicted: np.ndarray, pushes: Pushes) -> np.ndarray:
    """Mean squares over the rows of each push, (pushes, 2): of x and y [mm²] on one axis, of the angle [degrees²]."""
    with np.errstate(all="ignore"):
        off = predicted - pushes.objects
        far = 1e6 * np.mean(np.square(off[..., :2]), axis=(-2, -1))
        turned = np.mean(np.square(np.degrees(off[..., 2])), axis=-1)
    worst = np.square(FAILED)
    found = np.stack([far, turned], axis=-1)
    return np.minimum(np.where(np.isfinite(found), found, worst), worst)


def rms(found: np.ndarray) -> tuple[float, float]:
    """Root mean squares [mm, degrees] of many pushes, each of the same weight."""
    far, turned = np.sqrt(np.mean(found, axis=0))
    return float(far), float(turned)


def cost(found: np.ndarray) -> float:
    """One number for the errors of many pushes."""
    return float(np.mean(costs(found)))


def costs(found: np.ndarray) -> np.ndarray:
    """One number for the errors of each push."""
    return np.sum(found / np.square(UNITS), axis=-1)


def clearly_less(ours: np.ndarray, others: np.ndarray) -> bool:
    """Whether our errors are smaller by more than one standard error of the mean difference, push by push."""
    gain = costs(others) - costs(ours)
    return len(gain) > 1 and bool(gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)))


def never_moves(pushes: Pushes) -> np.ndarray:
    """The prediction that the object stays where it is."""
    return np.repeat(pushes.objects[:, :1], ROWS, axis=1)


def ratio(ours: np.ndarray, others: np.ndarray, seed: int = 0) -> list[list[float]]:
    """Our RMS error over that of others, and its 95 % interval by resampling pushes: of position and angle."""
    drawn = np.random.default_rng(seed).integers(len(ours), size=(2000, len(ours)))
    one = lambda rows: np.sqrt(ours[rows].mean(axis=-2) / others[rows].mean(axis=-2))
    middle, bounds = one(np.arange(len(ours))), np.percentile(one(drawn), [2.5, 97.5], axis=0)
    return [[float(middle[k]), float(bounds[0, k]), float(bounds[1, k])] for k in range(2)]
