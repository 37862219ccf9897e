# %% [markdown]
# # Thousands of worlds
#
# How sure is a throw of the arm if its masses are known to 5 % only? A thousand arms, each with its own masses, side by
# side in the vector lanes and threads of the processor.

# %%
import os
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import isthmus as ist

WORLDS = 64 if os.environ.get("ISTHMUS_QUICK") else 4096
arm = ist.library.arm()
rng = np.random.default_rng(0)
masses = arm.link_mass * (1.0 + 0.05 * rng.standard_normal((WORLDS, len(arm.link_mass))))
arms = arm.set("link/mass", masses)  # one axis more: worlds

# %% [markdown]
# Every arm gets the same torques. The first call compiles; the second one shows what a step costs.

# %%
steps, dt = 300, 2e-3
torque = 3.0 * np.sin(0.02 * np.arange(steps))[:, None] * np.linspace(1.0, 0.2, arm.dof)
start = ist.State.neutral(arm)
simulate = lambda: ist.rollout_many(arms, start, torque, dt=dt)
motions = simulate()
began = time.perf_counter()
motions = simulate()
seconds = time.perf_counter() - began
print(f"{WORLDS} worlds x {steps} steps: {1e9 * seconds / (WORLDS * steps):.0f} ns a step")
assert motions.q.shape == (WORLDS, steps + 1, arm.dof)

# %%
q = np.asarray(motions.q[:, :, 1])
figure, axes = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
low, high = np.percentile(q, [5, 95], axis=0)
axes.fill_between(dt * np.arange(steps + 1), low, high, alpha=0.3, label="90 % of the arms")
axes.plot(dt * np.arange(steps + 1), np.median(q, axis=0), label="median")
axes.set(xlabel="time [s]", ylabel="second joint [rad]")
axes.legend(frameon=False)
Path("out").mkdir(exist_ok=True)
figure.savefig("out/10_many_worlds.png", dpi=90)
