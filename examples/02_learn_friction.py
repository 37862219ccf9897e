# %% [markdown]
# # Friction that nobody has a formula for
#
# A pendulum has friction that the model lacks. A small network on the passive torque learns it from one swing, through
# the simulator, and predicts another swing.

# %%
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np

import isthmus as ist

jax.config.update("jax_enable_x64", True)
plain = ist.library.pendulum(1)
truth = plain.set("joint/damping", 0.1).set("joint/friction", 0.6).set("joint/friction_speed", 0.5)
log = ist.rollout(truth, ist.State(q=[2.9], v=[0.0]), None, dt=0.01, steps=800)

# %% [markdown]
# A wire says where the network sits and what it reads. Before it is trained it changes nothing.

# %%
wire = ist.Wire("joint/passive_torque", reads=["joint/velocity"], net=ist.MLP(width=8, depth=1))
hybrid = ist.Blueprint([wire]).attach(plain, key=jax.random.key(0), data=log)
problem = ist.Problem(hybrid, log, free=[ist.Free("network/*")], loss=ist.Windows(20))
learned = ist.fit(problem, ist.LevenbergMarquardt(steps=200, tolerance=1e-6)).model

# %% [markdown]
# A swing that the fit has not seen, and the friction that it found.

# %%
swing = lambda model: ist.rollout(model, ist.State(q=[-2.4], v=[0.0]), None, dt=0.01, steps=600)
motions = {"truth": swing(truth), "plain": swing(plain), "learned": swing(learned)}
error = {name: np.sqrt(np.mean((m.q - motions["truth"].q) ** 2)) for name, m in motions.items()}
print(f"error on a new swing: {error['plain']:.2g} rad before, {error['learned']:.2g} rad after")
assert error["learned"] < 0.05 * error["plain"]

# %%
speeds = np.linspace(-5.0, 5.0, 201)
states = ist.State(np.zeros((201, 1)), speeds[:, None])
friction = lambda model: ist.observe(model, states, names=["joint/passive_torque"])

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
for name, model, line in (("truth", truth, "-"), ("learned", learned, "--")):
    left.plot(speeds, friction(model)["joint/passive_torque"], line, lw=2.0, label=name)
for name, line in (("plain", ":"), ("truth", "-"), ("learned", "--")):
    right.plot(motions[name].t, motions[name].q[:, 0], line, label=name)
left.set(xlabel="velocity [rad/s]", ylabel="passive torque [N·m]", title="what was learned")
right.set(xlabel="time [s]", ylabel="angle [rad]", title="a swing it has not seen")
for axes in (left, right):
    axes.legend(frameon=False)
Path("out").mkdir(exist_ok=True)
figure.savefig("out/02_learn_friction.png", dpi=90)
