# %% [markdown]
# # A first simulation
#
# A pendulum of five rods swings for 1.6 s. Is the energy conserved, and what does it look like?

# %%
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

import isthmus as ist
from isthmus.dynamics import energy
from isthmus.figures.picture import draw_motion

jax.config.update("jax_enable_x64", True)
robot = ist.library.pendulum(5, lengths=(0.5, 0.4, 0.4, 0.3, 0.3))
print(robot)

# %% [markdown]
# One call simulates; with concrete numbers it runs as machine code.

# %%
start = ist.State(q=[2.2, -0.4, 0.3, 0.2, -0.2], v=np.zeros(5))
motion = ist.rollout(robot, start, None, dt=1e-3, steps=1600, integrator="rk4")

# %%
total = jax.jit(energy)
drift = abs(float(total(robot, motion.state(-1)) - total(robot, start)))
print(f"{len(motion) - 1} steps of 1 ms; the energy drifted by {drift:.3g} J")
assert drift < 1e-3

# %%
figure, axes = plt.subplots(figsize=(6.0, 5.2))
draw_motion(robot, motion, axes, frames=26)
Path("out").mkdir(exist_ok=True)
figure.savefig("out/00_hello.png", dpi=90, bbox_inches="tight")
