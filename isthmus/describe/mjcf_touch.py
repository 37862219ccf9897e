"""How geoms of a compiled MJCF touch: friction as MuJoCo combines it, our custom data, what has no meaning here.

`solref` and `solimp` are springs of an acceleration, scaled by the inertia that a contact feels: no number of ours
follows from them without that inertia and the time step, so they are named, not read.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.describe.description import Surface, Touch, TouchingPair
from isthmus.describe.mjcf_bodies import floats, numerics, texts
from isthmus.describe.mjcf_left_out import LeftOut, name_at

PLANE = 0
"""Of `mjtGeom`."""
KIND = "contact of "
"""A custom text of this name and a shape's holds the kind of its contacts; MJCF has no place for that."""
NUMBER = "contact/{} of {}"
"""The name of the custom numbers of a shape's contacts; those of a pair stand under `PAIR`."""
PAIR = "{}+{}"
"""What the contacts of two shapes are called, as in `contact/FIRST+SECOND/friction`."""
POINTS = "points"
"""Among the custom numbers of a pair: how many points it has at most."""
SOLVER, IMPULSES = "contact ", ("order", "sweeps", "newton")
"""Custom data such as `contact order` hold how impulses are computed."""
USUAL = {
    "friction": (0.005, 0.0001), "condim": (3,), "margin": (0.0,), "gap": (0.0,), "solmix": (1.0,),
    "solref": (0.02, 1.0), "solimp": (0.9, 0.95, 0.001, 0.5, 2.0),
}  # fmt: skip
"""MuJoCo's defaults of the numbers that have no meaning here; of friction, the torsional and the rolling one."""
PAIR_FIELDS = {"condim": "dim", "solmix": None}
"""What these are called in pairs."""
WITHOUT_FRICTION = 1
"""Of `condim`."""


class Touches:
    """What a file says about the contacts of its geoms."""

    def __init__(self, m: Any) -> None:
        self.m = m
        self.planes = [i for i in range(m.ngeom) if m.geom_type[i] == PLANE]
        self._kinds, self._numbers = texts(m, KIND), numerics(m)
        order = [(n, text) for n, text in texts(m, SOLVER).items() if n == "order"]
        counts = [(n, self._numbers.get(f"{SOLVER}{n}")) for n in IMPULSES]
        whole = [(n, int(x)) for n, x in counts if isinstance(x, float) and math.isfinite(x)]
        self.impulses: tuple[tuple[str, str | int], ...] = (*order, *whole)
        geoms = zip(m.pair_geom1.tolist(), m.pair_geom2.tolist(), strict=True)
        self.pairs: dict[frozenset[int], int] = {frozenset(two): k for k, two in enumerate(geoms)}

    def of(self, i: int, name: str, left: LeftOut) -> Touch:
        """Of geom `i`, which is called `name` here; what has no meaning here goes to `left`."""
        self._note("geom", i, name, left)
        if self.m.geom_adhesion[i] or self.m.geom_surfacevel[i].any():
            left.add("adhesion or surface velocity of geom", name)
        touch = self._touch(name, self._friction(i, name, left))
        return dataclasses.replace(touch, surface=self._surface(i))

    def between(self, shapes: Sequence[str], left: LeftOut) -> tuple[TouchingPair, ...]:
        """What `<contact><pair>` says of geoms that are `shapes` here."""
        m, found = self.m, []
        for k in self.pairs.values():
            geoms = int(m.pair_geom1[k]), int(m.pair_geom2[k])
            first, second = names = [name_at(m, m.name_geomadr[i]) for i in geoms]
            bodies = {int(m.body_weldid[m.geom_bodyid[i]]) for i in geoms}
            if not {*names} <= {*shapes} or len(bodies) == 1:
                left.add("contact pair of geoms", " and ".join(names))
                continue
            if PAIR.format(second, first) in self._kinds:
                first, second = second, first
            name = PAIR.format(first, second)
            self._note("pair", k, name, left)
            found.append(TouchingPair(first, second, self._touch(name, self._of_pair(k))))
        return tuple(found)

    def _touch(self, name: str, friction: float) -> Touch:
        """With custom data of this name, which count before the friction of the file."""
        start, end = NUMBER.format("\0", name).split("\0")
        own = {
            key.removeprefix(start).removesuffix(end): floats(value)
            for key, value in self._numbers.items()
            if key.startswith(start) and key.endswith(end)
        }
        return Touch(self._kinds.get(name, ""), tuple(({"friction": (friction,)} | own).items()))

    def _of_pair(self, k: int) -> float:
        without = self.m.pair_dim[k] == WITHOUT_FRICTION
        return 0.0 if without else float(self.m.pair_friction[k, 0])

    def _friction(self, i: int, name: str, left: LeftOut) -> float:
        """With the first plane of the file; where there is none, the geom's own."""
        found = [self._combined(i, plane) for plane in self.planes if plane != i]
        if len(set(found)) > 1:
            left.add("friction with other planes than the first of geom", name)
        return found[0] if found else self._combined(i, i)

    def _combined(self, a: int, b: int) -> float:
        """Of two geoms: that of their pair, or of higher priority, or else the larger one."""
        if (pair := self.pairs.get(frozenset((a, b)))) is not None:
            return self._of_pair(pair)
        return self._surface(a).on(self._surface(b))

    def _surface(self, i: int) -> Surface:
        m = self.m
        smooth = bool(m.geom_condim[i] == WITHOUT_FRICTION)
        return Surface(float(m.geom_friction[i, 0]), int(m.geom_priority[i]), smooth)

    def _note(self, kind: str, i: int, name: str, left: LeftOut) -> None:
        """Notes the numbers of a geom or a pair that have no meaning here."""
        for field, usual in USUAL.items():
            there = PAIR_FIELDS.get(field, field) if kind == "pair" else field
            if there is None:
                continue
            value = np.ravel(getattr(self.m, f"{kind}_{there}")[i])
            if field == "condim" and value[0] == WITHOUT_FRICTION:
                continue
            if kind == "pair" and field == "friction":
                value = value[[2, 3]]  # two of sliding, one of turning, two of rolling
            if not np.allclose(value[-len(usual) :], usual):
                what = "torsional and rolling friction" if field == "friction" else field
                left.add(f"{what} of {kind}", name)
