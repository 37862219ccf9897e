"""What a compiled MJCF has and a description has not: each element once, all in one sentence.

Sensors, cameras, lights, skins, keyframes and textures change no motion and are not mentioned.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from isthmus.errors import first_of

DISABLED = {"filterparent": 1 << 10, "actuation": 1 << 11}
"""Bits of `mjtDisableBit` that have no counterpart."""
OVERRIDE = 1 << 0
"""Of `mjtEnableBit`."""


class LeftOut:
    """Collects kinds of elements, and the names of the elements of each kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, list[str]] = {}

    def add(self, kind: str, name: str = "") -> None:
        """One element; without a name, the kind is all there is to say."""
        names = self._kinds.setdefault(kind, [])
        if name and repr(name) not in names:
            names.append(repr(name))

    def sentence(self, opening: str = "what MuJoCo has and isthmus has not was left out") -> str:
        """What is to be said; nothing if everything was represented."""
        if not self._kinds:
            return ""
        told = "; ".join(
            f"{kind} {', '.join(first_of(names))}" if names else kind
            for kind, names in self._kinds.items()
        )
        return f"{opening}: {told}."


def name_at(m: Any, address: Any) -> str:
    """The name that starts at `address`; empty where an element has none."""
    start = m.names[int(address) :]
    return start[: start.index(b"\0")].decode("utf-8", "replace")


def note_the_rest(m: Any, left: LeftOut, mimics: Collection[int] = ()) -> None:
    """Whole families and options without counterpart; `mimics` are equality constraints that have one."""
    families = (
        ("tendon", m.ntendon, m.name_tendonadr),
        ("equality constraint", m.neq, m.name_eqadr),
        ("flex", m.nflex, m.name_flexadr),
    )
    for kind, count, addresses in families:
        for i in range(count):
            if kind == "equality constraint" and i in mimics:
                continue
            left.add(kind, name_at(m, addresses[i]) or f"number {i}")
    _note_bodies(m, left)
    _note_options(m, left)


def _note_bodies(m: Any, left: LeftOut) -> None:
    for i in range(1, m.nbody):
        name = name_at(m, m.name_bodyadr[i]) or f"number {i}"
        if m.body_gravcomp[i]:
            left.add("gravity compensation of body", name)
        if m.body_mocapid[i] >= 0:
            left.add("motion of mocap body (it is welded to the world)", name)
        if m.body_plugin[i] >= 0:
            left.add("plugin of body", name)


def _note_options(m: Any, left: LeftOut) -> None:
    if m.opt.density or m.opt.viscosity:
        left.add("the fluid around (density, viscosity, wind)")
    for flag, bit in DISABLED.items():
        if m.opt.disableflags & bit:
            left.add("the disabled flag", flag)
    if m.opt.enableflags & OVERRIDE:
        left.add("the enabled flag", "override")
