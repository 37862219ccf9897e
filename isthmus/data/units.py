"""Units of a log as factors to SI; the unit of an angle does not apply to prismatic joints."""

from __future__ import annotations

import math
import re
from typing import Any

from isthmus.errors import BadOption, did_you_mean

Unit = str | float | int | tuple

_TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}
_ANGLE = {"rad": 1.0, "deg": math.pi / 180, "°": math.pi / 180, "rev": 2 * math.pi, "turn": 2 * math.pi,
          "mrad": 1e-3}  # fmt: skip
_LENGTH = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "km": 1e3, "in": 0.0254, "ft": 0.3048}
_FORCE = {"N": 1.0, "mN": 1e-3, "kN": 1e3, "lbf": 4.4482216152605, "kgf": 9.80665}
_TORQUE = {"N·m": 1.0, "mN·m": 1e-3, "N·cm": 1e-2, "N·mm": 1e-3, "kN·m": 1e3, "kgf·cm": 0.0980665,
           "lbf·in": 0.1129848290276}  # fmt: skip


def _per(units: dict[str, float], time: str) -> dict[str, float]:
    return {f"{name}/{time}": factor for name, factor in units.items()}


FACTORS: dict[str, dict[str, float]] = {
    "time": _TIME,
    "angle": _ANGLE | _per(_ANGLE, "s") | _per(_ANGLE, "s²") | {"rpm": 2 * math.pi / 60},
    "length": _LENGTH | _per(_LENGTH, "s") | _per(_LENGTH, "s²"),
    "force": _FORCE,
    "torque": _TORQUE,
}
"""What a unit measures, and its factor to SI; `angle` and `length` stand for their rates too."""
IN_NAMES = ("deg", "rad", "ms", "us", "ns", "rpm", "mm")
"""Units that the end of a column's name may say: `elbow_deg`, `t_ms`."""


LARGEST_FACTOR = 1e300


def _plain(unit: str) -> str:
    """`Nm`, `N m`, `N*m` -> `N·m`; `s^2`, `s2` -> `s²`."""
    unit = re.sub(r"\s*[*·. ]\s*", "·", unit.strip())
    unit = re.sub(r"\^?2$", "²", unit)
    unit = re.sub(r"^(m|k)?Nm$", r"\1N·m", unit)
    return {"Nmm": "N·mm", "Ncm": "N·cm", "degrees": "deg", "degree": "deg", "sec": "s"}.get(unit, unit)  # fmt: skip


def is_unit(text: str) -> bool:
    """Whether a text is one of the units we know."""
    return any(_plain(text) in family for family in FACTORS.values())


def _finite(number: float) -> float:
    if not abs(number) < LARGEST_FACTOR:
        raise BadOption(f"a factor to SI must be finite, not {number!r}.")
    return float(number)


def factor(units: Any, measures: str) -> float | None:
    """What to multiply by to get SI where the quantity is an `angle`, a `length`, a `time` …; None: none applies.

    `units` is a unit, a plain factor, or several units of which the fitting one is taken. A quantity of unknown kind
    (`measures` is "") takes any unit.
    """
    for unit in units if isinstance(units, tuple | list) else (units,):
        if isinstance(unit, int | float):
            return _finite(unit)
        if not isinstance(unit, str):
            raise BadOption(f"a unit is a text such as 'deg', or a factor to SI, not {unit!r}.")
        found = {family: f[_plain(unit)] for family, f in FACTORS.items() if _plain(unit) in f}
        if not found:
            known = [name for family in FACTORS.values() for name in family]
            hint = did_you_mean(unit, known) or f" There are {', '.join(known[:18])} …"
            raise BadOption(f"no unit is called {unit!r}.{hint} A plain factor to SI will do too.")
        if measures in found:
            return found[measures]
        if not measures:
            return next(iter(found.values()))
    return None
