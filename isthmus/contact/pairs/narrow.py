"""Narrow phase: the manifold of two shapes of any kinds."""

from __future__ import annotations

from isthmus.contact.pairs.boxes import boxes
from isthmus.contact.pairs.closed import axes_of_capsules, sphere_and_box, sphere_and_cylinder
from isthmus.contact.pairs.distance import nearest
from isthmus.contact.pairs.manifold import Manifold, manifold
from isthmus.contact.pairs.solids import Solid

KINDS = ("sphere", "capsule", "box", "cylinder", "points")
"""The first shape of a pair is of a kind that comes no later than that of the second."""
CLOSED = {
    ("sphere", "sphere"): axes_of_capsules,
    ("sphere", "capsule"): axes_of_capsules,
    ("capsule", "capsule"): axes_of_capsules,
    ("sphere", "box"): sphere_and_box,
    ("sphere", "cylinder"): sphere_and_cylinder,
    ("box", "box"): boxes,
}
"""Closed forms; all others are searched."""


def touching(a: Solid, b: Solid, count: int) -> Manifold:
    """`count` (1, 2, 4 or 8) points between two shapes whose kinds are in the order of `KINDS`."""
    n, on_a, on_b = CLOSED.get((a.kind, b.kind), nearest)(a, b)
    on_a, on_b = on_a - a.rounding * n, on_b + b.rounding * n
    return manifold(a, b, n, on_a, on_b, count)
