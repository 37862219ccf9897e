"""Inertia of simple bodies about their centre of mass: xx, yy, zz, xy, xz, yz [kg·m²]; numbers may be traced."""

from __future__ import annotations

from isthmus.types import Number

Six = tuple[Number, Number, Number, Number, Number, Number]


def box(mass: Number, x: Number, y: Number, z: Number) -> Six:
    """A solid box of full widths `x`, `y`, `z` [m]."""
    xx, yy, zz = x * x, y * y, z * z
    return mass * (yy + zz) / 12.0, mass * (xx + zz) / 12.0, mass * (xx + yy) / 12.0, 0.0, 0.0, 0.0


def sphere(mass: Number, radius: Number) -> Six:
    """A solid ball."""
    moment = 0.4 * mass * radius * radius
    return moment, moment, moment, 0.0, 0.0, 0.0


def cylinder(mass: Number, radius: Number, length: Number) -> Six:
    """A solid cylinder along z."""
    across = mass * (3.0 * radius * radius + length * length) / 12.0
    return across, across, 0.5 * mass * radius * radius, 0.0, 0.0, 0.0


def rod(mass: Number, length: Number, radius: Number = 0.0) -> Six:
    """A slender rod along z: `m l²/12` across, and what `radius` gives about its own axis."""
    across = mass * length * length / 12.0
    return across, across, 0.5 * mass * radius * radius, 0.0, 0.0, 0.0
