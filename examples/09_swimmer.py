# %% [markdown]
# # A swimmer
#
# Three links in water, two motors. The water is not modelled, it is learned: a network on the external force of every
# link, which reads the link's own velocity and can only take energy away.

# %%
import os
import warnings
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

import isthmus as ist
from isthmus.experiments.swimmer_truth import MEDIA, ROW, swim

jax.config.update("jax_enable_x64", True)
QUICK = bool(os.environ.get("ISTHMUS_QUICK"))
if QUICK:
    warnings.simplefilter("ignore")  # a few steps converge to nothing
model = ist.library.swimmer(3)

# %% [markdown]
# The recordings come from another engine: MuJoCo's swimmer in water of 5 °C, driven by smooth random torques
# (`pip install 'isthmus[mjcf]'`).

# %%
rows = 60 if QUICK else 300
logs = [swim(model, MEDIA["water5"], rows, seed=seed) for seed in range(4)]
unseen = swim(model, MEDIA["water5"], rows, seed=100)

# %%
net = ist.Dissipative(ist.MLP(8, 1), coupled=True)
water = ist.Wire(
    "link/external_force", ["link/velocity"], net, rows="each", output_scale=1e-3, fade=False
)
hybrid = ist.Blueprint([water]).attach(model, key=jax.random.key(0), data=logs)
speed = np.concatenate([np.asarray(log.v) for log in logs]).std(axis=0)
problem = ist.Problem(
    hybrid,
    logs,
    free=[ist.Free("network/*")],
    loss=ist.Windows(20),
    wrap=False,
    signals=("joint/position", "joint/velocity"),
    noise={"joint/position": 0.2 * speed, "joint/velocity": speed},
)
fit = ist.fit(problem, ist.LBFGS(steps=5 if QUICK else 200))

# %% [markdown]
# A whole run that was not fitted, from its first row on.

# %%
torque = np.asarray(unseen.signals["joint/control"])[:-1]
swum = {
    name: ist.rollout(m, unseen.state(0), torque, ROW)
    for name, m in (("vacuum", model), ("learned", fit.model))
}
error = {name: float(np.sqrt(np.mean((m.q - unseen.q)[:, 3:] ** 2))) for name, m in swum.items()}
print(
    f"angles of an unseen run: {error['vacuum']:.2f} rad off in vacuum, {error['learned']:.2f} with the network"
)
assert QUICK or error["learned"] < 0.2 * error["vacuum"]

# %%
figure, axes = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
axes.plot(unseen.t, unseen.q[:, 3], "k", lw=2.5, label="recorded")
for name, line in (("vacuum", ":"), ("learned", "--")):
    axes.plot(unseen.t, swum[name].q[:, 3], line, label=name)
low, high = np.min(unseen.q[:, 3]), np.max(unseen.q[:, 3])
axes.set(xlabel="time [s]", ylabel="first motor [rad]", ylim=(low - 1.0, high + 1.0))
axes.legend(frameon=False)
Path("out").mkdir(exist_ok=True)
figure.savefig("out/09_swimmer.png", dpi=90)
