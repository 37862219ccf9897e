"""Shape aliases that signatures share; tests check them at run time.

Leaves of a model are NumPy arrays until they are traced, so every alias takes both kinds of array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import Float

AnyArray: TypeAlias = jax.Array | np.ndarray

Number: TypeAlias = float | int | AnyArray
"""A number that may be traced."""
Numbers: Any = Number | Sequence[Any]
"""A number or several, in an array or a list, that may be traced; `Any` to type checkers, as NumPy converts it."""
Scalar: TypeAlias = Float[AnyArray, ""]
Vec3: TypeAlias = Float[AnyArray, "3"]
Quaternion: TypeAlias = Float[AnyArray, "4"]
"""Unit quaternion `w x y z`: child's axes in the parent's."""
Rotation: TypeAlias = Float[AnyArray, "3 3"]
Spatial: TypeAlias = Float[AnyArray, "6"]
"""Spatial vector, angular part first."""
Spatial66: TypeAlias = Float[AnyArray, "6 6"]
"""Plücker transform or spatial inertia."""
Coordinates: TypeAlias = Float[AnyArray, " nq"]
"""Joint positions, laid out as `State.q`."""
Joints: TypeAlias = Float[AnyArray, " n"]
"""One number for each degree of freedom, laid out as `State.v`."""
