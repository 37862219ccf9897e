"""The planes of a world, as they are drawn: the ground, slopes and walls, or a floor under all that is seen."""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.model.model import Model
from isthmus.spatial import rotations


@dataclasses.dataclass(frozen=True, eq=False)
class Plane:
    """A plane in the world."""

    origin: np.ndarray
    """A point of it (3,) [m]."""
    quaternion: np.ndarray = dataclasses.field(default_factory=lambda: np.array([1.0, 0, 0, 0]))
    """Turns z to its normal, which points away from the solid side; `w` first."""

    @property
    def axes(self) -> np.ndarray:
        """Two directions along the plane and its normal, as rows (3, 3)."""
        return np.asarray(rotations.matrix(self.quaternion)).T

    @property
    def is_level(self) -> bool:
        """Whether its normal points upwards."""
        return bool(self.axes[2][2] > 1.0 - 1e-9)

    def below(self, places: np.ndarray) -> float:
        """How far the plane would have to come down so that all places (n, 3) are above it [m]."""
        return -float(((places - self.origin) @ self.axes[2]).min() / self.axes[2][2])


def planes_of(model: Model) -> tuple[Plane, ...]:
    """The planes that stand in the world, level ones first."""
    found = [
        Plane(
            np.asarray(model.shape_origin[s], dtype=np.float64),
            np.asarray(model.shape_orientation[s], dtype=np.float64),
        )
        for s, kind in enumerate(model.shape_kinds)
        if kind == "plane" and model.shape_links[s] < 0
    ]
    return tuple(sorted(found, key=lambda plane: not plane.is_level))
