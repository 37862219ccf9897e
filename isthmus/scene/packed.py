"""A scene as JSON for the player of pages: arrays as 16-bit numbers in base64, within a stated number of bytes."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from isthmus.scene.scene import Mark, Scene
from isthmus.scene.solids import Solid
from isthmus.scene.triangles import reduced

MESH, ALL = 800, 9000
"""Triangles of a mesh, and of all solids of a page together, at most."""
RATE = 30.0
"""Pictures each second."""
LONGEST = 600
"""Pictures of one motion; of a longer one, fewer each second."""
BYTES = 1_500_000
"""Of all pictures of a page, at most."""
UNKNOWN = -32768
FULL = 32767


def stride(dt: float, rows: int, links: int, contacts: int, takes: int) -> int:
    """Which rows of a motion become pictures: every so many, so that `takes` motions stay within `BYTES`."""
    picture = 2 * 7 * 2 * links + 2 * 6 * contacts
    most = min(LONGEST, int(BYTES * 3 / 4 / max(picture * takes, 1)))
    return max(1, round(1.0 / (RATE * dt)), -(-rows // max(most, 2)))


def as_json(scene: Scene) -> str:
    """The scene for `player.js`."""
    shown = [solid for solid in scene.solids if solid.shown and len(solid.mesh.faces)]
    count = sum(len(solid.mesh.faces) for solid in shown)
    share = min(1.0, ALL / max(count, 1))
    force = max((_largest(t.contacts.forces) for t in scene.takes if t.contacts), default=0.0)
    data = {
        "links": len(scene.links),
        "solids": [_solid(solid, share) for solid in shown],
        "trails": [[mark.link, rounded(mark.place)] for mark in scene.trails],
        "wires": [[mark.link, rounded(mark.place), mark.text] for mark in _apart(scene.wires)],
        "planes": [[rounded(p.origin), *np.round(p.axes, 6).tolist()] for p in scene.planes],
        "ground": scene.has_ground,
        "centre": scene.centre.tolist(),
        "reach": scene.reach,
        "view": scene.view,
        "newton": scene.newton,
        "force": force,
        "runs": [
            {
                "name": take.name,
                "heldout": take.heldout,
                "seconds": take.seconds,
                "measured": packed_poses(take.measured, scene.centre, scene.reach),
                "predicted": packed_poses(take.predicted, scene.centre, scene.reach),
                "contacts": 0 if take.contacts is None else take.contacts.points.shape[1],
                "points": None
                if take.contacts is None
                else packed((take.contacts.points - scene.centre) / (2.0 * scene.reach)),
                "forces": None
                if take.contacts is None
                else packed(take.contacts.forces / max(force, 1e-12)),
            }
            for take in scene.takes
        ],
    }
    return json.dumps(data, separators=(",", ":"), default=float)


def _largest(forces: np.ndarray) -> float:
    return float(np.nanmax(np.abs(forces), initial=0.0))


def _solid(solid: Solid, share: float) -> dict[str, Any]:
    mesh = solid.mesh
    if share < 1.0:
        mesh = reduced(mesh, max(12, int(share * len(mesh.faces))))
    scale = max(float(np.abs(mesh.vertices).max(initial=0.0)), 1e-9)
    return {
        "link": solid.link,
        "scale": scale,
        "vertices": packed(mesh.vertices / scale),
        "faces": _text(np.asarray(mesh.faces).astype("<u2")),
        "colour": None if solid.colour is None else rounded(solid.colour),
        "closed": solid.kind != "visual",
    }


def _apart(marks: tuple[Mark, ...]) -> list[Mark]:
    """Marks at the same place as one, with their texts under each other."""
    texts: dict[Any, list[str]] = {}
    for mark in marks:
        texts.setdefault((mark.link, mark.place), []).append(mark.text)
    return [Mark(link, place, "\n".join(text)) for (link, place), text in texts.items()]


def packed_poses(poses: np.ndarray | None, centre: np.ndarray, reach: float) -> str | None:
    """Positions in parts of `2 reach` and quaternions."""
    if poses is None:
        return None
    return packed(
        np.concatenate([(poses[..., :3] - centre) / (2.0 * reach), poses[..., 3:]], axis=-1)
    )


def packed(values: np.ndarray) -> str:
    """Numbers from −1 to 1 as 16-bit numbers in base64; what is not known is `UNKNOWN`."""
    known = np.isfinite(values)
    whole = np.clip(np.round(np.where(known, values, 0.0) * FULL), -FULL, FULL)
    return _text(np.where(known, whole, UNKNOWN).astype("<i2"))


def _text(whole: np.ndarray) -> str:
    return base64.b64encode(whole.tobytes()).decode("ascii")


def rounded(x: Any) -> list:
    """Plain numbers to 0.01 mm."""
    return np.round(np.asarray(x, dtype=np.float64), 5).tolist()
