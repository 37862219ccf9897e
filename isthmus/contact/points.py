"""Points for shapes of kind `points`: a mesh thinned to few corners, a grid over a simple shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from isthmus.describe.meshes import farthest_corners
from isthmus.entry import check_arguments
from isthmus.errors import BadOption


@check_arguments
def thinned(points: np.ndarray, count: int) -> Float[np.ndarray, "few 3"]:
    """At most `count` corners of the convex hull of `points` (rows, 3) [m], far from each other.

    The first one is farthest from the centre, each next one farthest from those before; what lies between them is cut
    off, so that the body may sink in there by the distance of its corners.
    """
    if count < 1:
        raise BadOption(f"thinned: at least one point must stay, not {count}.")
    return farthest_corners(np.asarray(points, float).reshape(-1, 3), count)


@check_arguments
def grid_points(kind: str, size: Sequence[float], count: int) -> Float[np.ndarray, "points 3"]:
    """Points on the surface of a shape [m], in its own frame: `count` along an edge of a box, `2 count` around others.

    `size` as in `Builder`: sphere: radius; capsule and cylinder: radius, half-length along z; box: three half-widths.
    """
    if count < 2:
        raise BadOption(f"grid_points: count must be 2 or more, not {count}.")
    if kind == "box":
        line = np.linspace(-1.0, 1.0, count)
        all_ = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
        return all_[np.max(np.abs(all_), axis=1) == 1.0] * np.asarray(size, float)[None]
    if kind not in ("sphere", "capsule", "cylinder"):
        raise BadOption(f"a grid lies over a sphere, capsule, box or cylinder, not a {kind!r}.")
    r, half = size[0], 0.0 if kind == "sphere" else size[1]
    if kind == "cylinder":
        radii = np.r_[np.linspace(0.0, r, count), np.full(count - 2, r), np.linspace(r, 0.0, count)]
        heights = np.r_[
            np.full(count, -half), np.linspace(-half, half, count)[1:-1], np.full(count, half)
        ]
    else:
        tilt = np.linspace(-np.pi / 2, np.pi / 2, 2 * count)
        radii, heights = r * np.cos(tilt), r * np.sin(tilt) + half * np.sign(tilt)
    around = np.pi / count * np.arange(2 * count)
    rings = [
        [(0.0, 0.0, z)]
        if rho < 1e-12 * r
        else [(rho * np.cos(a), rho * np.sin(a), z) for a in around]
        for rho, z in zip(radii, heights, strict=True)
    ]
    return np.array([point for ring in rings for point in ring])
