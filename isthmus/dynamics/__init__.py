"""Rigid-body dynamics: forces to accelerations and back, inertia, energy, Jacobians.

`kinematics.py` is the place to start: all others walk over what it computes. `aba.py` is forward dynamics,
`rnea.py` inverse dynamics, `crba.py` the mass matrix, `factor.py` its factors; `passive.py` and `actuators.py` are
what acts in joints.
"""

from isthmus.dynamics.aba import forward_dynamics
from isthmus.dynamics.crba import mass_matrix
from isthmus.dynamics.energy import (
    centre_of_mass,
    energy,
    kinetic_energy,
    momentum,
    potential_energy,
)
from isthmus.dynamics.jacobians import link_jacobian, point_jacobian
from isthmus.dynamics.kinematics import Kinematics, force_at, forward_kinematics, point_motion
from isthmus.dynamics.passive import limit_torque, passive_torque
from isthmus.dynamics.rnea import bias_torque, inverse_dynamics

__all__ = [
    "Kinematics",
    "bias_torque",
    "centre_of_mass",
    "energy",
    "force_at",
    "forward_dynamics",
    "forward_kinematics",
    "inverse_dynamics",
    "kinetic_energy",
    "limit_torque",
    "link_jacobian",
    "mass_matrix",
    "momentum",
    "passive_torque",
    "point_jacobian",
    "point_motion",
    "potential_energy",
]
