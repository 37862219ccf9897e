# %% [markdown]
# # Is my data good enough, and what should I record?
#
# A fit can only find what the motion shows. First: how well does a recording determine the numbers, and which of them
# not at all? Then: which motion, within the limits of the robot, would determine them best?

# %%
import os
from pathlib import Path

import jax
import numpy as np

import isthmus as ist

jax.config.update("jax_enable_x64", True)
QUICK = bool(os.environ.get("ISTHMUS_QUICK"))
robot = ist.library.pendulum(2)

# %% [markdown]
# The recording at hand: both joints swing a little, and freely. Without torques no motion says how heavy the rods are;
# only the ratio of their masses can be known, and their intervals fill the bounds.

# %%
swing = ist.rollout(robot, ist.State([0.3, 0.2], [0.0, 0.0]), None, dt=0.01, steps=300)
rng = np.random.default_rng(0)
log = ist.Motion(swing.t, swing.q + 1e-3 * rng.standard_normal(swing.q.shape), swing.v)
masses = ist.Free("mass", low=0.1, high=5.0, shape=2, start=[1.0, 1.0])
make = lambda p: ist.library.pendulum(2, masses=p["mass"])
problem = ist.Problem(make=make, motions=log, free=[masses], loss=ist.Windows(30), noise=1e-3)
wide = ist.posterior(problem, ist.SMC(particles=64 if QUICK else 256)).interval(0.9)
print("90 % intervals of the masses [kg]:", np.round(np.asarray(wide), 2).tolist())
assert np.ptp(np.asarray(wide), axis=-1).max() > 0.5

# %% [markdown]
# What to record instead: a motion within ±1.5 rad, driven by at most 20 N·m. The design says beforehand how large the
# errors will be, beside those of 200 random motions.

# %%
limits = {"position": 1.5, "torque": 20.0}
found = ist.design(robot, seconds=4, harmonics=3, limits=limits, starts=1 if QUICK else 4)
print(found)
assert found.ratio < 0.9
Path("out").mkdir(exist_ok=True)
found.write("out/exciting.csv")
figure = found.plot()
figure.savefig("out/07_good_data.png", dpi=90)
