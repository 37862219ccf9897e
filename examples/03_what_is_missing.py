# %% [markdown]
# # Where does my model miss?
#
# A double pendulum, fitted well, still differs from its recording. Before placing a network somewhere, ask where
# something is missing, on which signal it depends, and whether a known formula says it.

# %%
from pathlib import Path

import jax
import numpy as np

import isthmus as ist

jax.config.update("jax_enable_x64", True)
robot = ist.library.pendulum(2)
real = robot.set("joint/damping", [0.2, 0.0]).set("joint/friction", [0.0, 0.1])
swing = ist.rollout(
    real,
    ist.State([2.0, 1.0], [0.0, 0.0]),
    None,
    dt=0.002,
    steps=2500,
    integrator="rk4",
    substeps=4,
)
rng = np.random.default_rng(0)
noisy = lambda x: np.asarray(x) + 1e-3 * rng.standard_normal(np.shape(x))
log = ist.Motion(np.asarray(swing.t), noisy(swing.q), noisy(swing.v))

# %% [markdown]
# The problem says what the noise is. Nothing needs to be free; what is free would be fitted first.

# %%
problem = ist.Problem(robot, log, loss=ist.Windows(25), noise=1e-3, integrator="rk4")
found = ist.discover(problem)
print(found)
assert {place.target for place in found.places} == {
    "joint/joint_1/passive_torque", "joint/joint_2/passive_torque",
}  # fmt: skip

# %% [markdown]
# Each place as a formula, and as a blueprint for a network at exactly these places.

# %%
for place, formula in found.formula().items():
    print(place, "=", formula)
Path("out").mkdir(exist_ok=True)
found.draw("out/03_what_is_missing.png")
found.write("out/blueprint.toml")
