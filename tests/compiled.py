"""Functions of `isthmus.dynamics`, each compiled once for every structure of mechanism.

Called as they are, they would run operation by operation, and XLA would compile hundreds of small programs.
"""

import jax

from isthmus import dynamics

bias_torque = jax.jit(dynamics.bias_torque)
energy = jax.jit(dynamics.energy)
force_at = jax.jit(dynamics.force_at, static_argnames="link")
forward_dynamics = jax.jit(dynamics.forward_dynamics)
forward_kinematics = jax.jit(dynamics.forward_kinematics)
inverse_dynamics = jax.jit(dynamics.inverse_dynamics)
limit_torque = jax.jit(dynamics.limit_torque)
link_jacobian = jax.jit(dynamics.link_jacobian, static_argnames="link")
mass_matrix = jax.jit(dynamics.mass_matrix)
passive_torque = jax.jit(dynamics.passive_torque)
point_motion = jax.jit(dynamics.point_motion, static_argnames="link")
