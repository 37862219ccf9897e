"""Networks under a law: `Dissipative`, `Conservative`, `Internal`, `Lagrangian`. Each wraps any network.

Weights may be anything; the law holds. `isthmus.networks.laws` has the formulas.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from isthmus.entry import check_arguments


@check_arguments
@dataclasses.dataclass(frozen=True)
class Dissipative:
    """A force that only takes energy: `−D v`, `D ≥ 0` learned, `v` the velocity conjugate to the target.

    Targets: `joint/passive_torque`, `link/external_force`. By default `D` is diagonal, so that each row's power is
    never positive, exactly; `coupled=True` learns a whole matrix, with `rows="each"` one for each link or joint
    (power ≤ 0 up to rounding); one that couples joints takes the accelerations from the mass matrix.
    The semi-implicit integrator takes the force as `−D v⁺`, with the velocity at the end of the step: the step ends
    with no more kinetic energy, in the inertia at its beginning, than without the network, whatever dt. Explicit
    schemes (`explicit=True`, Euler, RK4) cannot promise that, and warn.
    """

    net: Any
    coupled: bool = False
    law: ClassVar[str] = "dissipative"


@check_arguments
@dataclasses.dataclass(frozen=True)
class Conservative:
    """A joint torque from a learned potential of the positions: loops do no work. Target `joint/passive_torque`."""

    net: Any
    law: ClassVar[str] = "conservative"


@check_arguments
@dataclasses.dataclass(frozen=True)
class Internal:
    """Equal and opposite wrenches on two links, `between=("a", "b")`: total momentum stays. Target
    `link/external_force`; the network gives moment and force on the first link, in its frame.
    """

    net: Any
    between: tuple[str, str] = ("", "")
    law: ClassVar[str] = "internal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "between", tuple(self.between))


@check_arguments
@dataclasses.dataclass(frozen=True)
class Lagrangian:
    """Inertia of the joints that depends on the positions and stays ≥ 0, with the Coriolis terms that belong to it.

    Target `joint/armature`, of hinges and slides. Diagonal by default; `coupled=True` learns a whole matrix, and the
    accelerations then come from the mass matrix instead of the articulated body algorithm.
    """

    net: Any
    coupled: bool = False
    law: ClassVar[str] = "lagrangian"


GUARANTEES = (Dissipative, Conservative, Internal, Lagrangian)
