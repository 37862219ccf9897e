# %% [markdown]
# # A thrown cube
#
# A cube tumbles over a table. Its friction and restitution are found from recorded throws, by a search through the
# contacts, and another throw is predicted.

# %%
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

import isthmus as ist

jax.config.update("jax_enable_x64", True)
cube = lambda friction, restitution: ist.library.cube(
    contact=ist.Contact(friction=friction, restitution=restitution)
)
truth = cube(0.25, 0.3)


def thrown(model, speed, spin):
    """0.6 s of a throw along x [m/s] with a spin about y [rad/s]."""
    start = ist.State([0, 0, 0.25, 1, 0, 0, 0], [speed, 0.2, 0.0, 1.0, spin, 0.5])
    return ist.rollout(model, start, None, dt=1 / 240, steps=144, record="contact/normal_force")


# %% [markdown]
# Two throws with noise. The search looks at short windows of them, so that one wrong bounce does not spoil the rest. A
# loss through contacts has many minima, so it begins at several points and combines what it finds.

# %%
rng = np.random.default_rng(0)
noisy = lambda x: np.asarray(x) + 1e-4 * rng.standard_normal(np.shape(x))
throws = [thrown(truth, speed, spin) for speed, spin in ((0.8, 4.0), (0.4, 8.0))]
logs = [ist.Motion(throw.t, noisy(throw.q), noisy(throw.v)) for throw in throws]
free = [
    ist.Free("friction", low=0.05, high=1.0, start=0.6),
    ist.Free("restitution", low=0.0, high=0.9, start=0.6),
]
make = lambda p: cube(p["friction"], p["restitution"])
problem = ist.Problem(make=make, motions=logs, free=free, loss=ist.Windows(24))
fit = ist.fit(problem, ist.Population(islands=8, rounds=4))
print(fit)

# %%
new = {name: thrown(model, -0.5, -6.0) for name, model in (("truth", truth), ("fitted", fit.model))}
off = np.linalg.norm(new["fitted"].q[:, :3] - new["truth"].q[:, :3], axis=1)
print(f"another throw: {1e3 * off.mean():.1f} mm off on average")
assert off.mean() < 0.02

# %%
figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7.0, 4.5), layout="constrained")
for name, line in (("truth", "-"), ("fitted", "--")):
    above.plot(new[name].t, new[name].q[:, 2], line, label=name)
    below.plot(new[name].t, new[name].signals["contact/normal_force"].sum(axis=1), line)
above.set_ylabel("height [m]")
above.legend(frameon=False)
below.set(xlabel="time [s]", ylabel="normal force [N]")
Path("out").mkdir(exist_ok=True)
figure.savefig("out/08_thrown_cube.png", dpi=90)
