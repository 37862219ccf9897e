# %% [markdown]
# # What does my arm hold?
#
# The arm is known, the tool in its hand is not. Torques of one motion give the tool's mass, centre and inertia, with
# intervals; another motion shows that they predict.

# %%
import jax
import numpy as np

import isthmus as ist

jax.config.update("jax_enable_x64", True)
NOISE = 0.1  # of the measured torques [N·m]
TOOL = {"mass": 1.4, "com": [0.03, -0.02, 0.08], "inertia": [6e-3, 5e-3, 4e-3, 5e-4, -1e-3, 8e-4]}
GUESS = {"mass": 1.0, "com": [0.0, 0.0, 0.05], "inertia": [4e-3, 4e-3, 4e-3, 0.0, 0.0, 0.0]}


def holding(tool):
    """The arm with a tool in its hand."""
    arm = ist.library.arm(friction=0.4)
    for name, value in tool.items():
        arm = arm.set(f"link/payload/{name}", value)
    return arm


# %% [markdown]
# The recording: all joints swing, and the motors' torques are measured with noise.


# %%
def recorded(seed):
    """A motion of 6 s (600 rows, 7 joints) with measured torques: two sines for each joint."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, 6.0, 0.01)[:, None]
    q = np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.8, 0.0]) + 0.0 * t
    v, a = 0.0 * q, 0.0 * q
    for size in (0.5, 0.25):
        w, phase = rng.uniform(1.0, 5.0, 7), rng.uniform(0.0, 2.0 * np.pi, 7)
        q, v = q + size * np.sin(w * t + phase), v + size * w * np.cos(w * t + phase)
        a = a - size * w**2 * np.sin(w * t + phase)
    motion = ist.Motion(t[:, 0], q, v, {"joint/acceleration": a})
    noise = NOISE * np.random.default_rng(100 + seed).standard_normal(q.shape)
    torque = ist.needed_torque(holding(TOOL), motion) + noise
    return ist.Motion(t[:, 0], q, v, {**motion.signals, "joint/motor_torque": torque})


problem = ist.Problem(
    holding(GUESS),
    recorded(0),
    free=[ist.Free("link/payload/inertial")],
    loss=ist.TorqueLoss(),
    noise=NOISE,
)
fit = ist.fit(problem)

# %%
true = np.concatenate([np.ravel(value) for value in TOOL.values()])
print("95 % intervals of the tool, in its own frame")
for (name, e), x in zip(fit.estimates.items(), true, strict=True):
    low, high = e.value - 1.96 * e.error, e.value + 1.96 * e.error
    print(f"{name:<24} {low:9.5f} … {high:9.5f} {e.unit:<6} true {x:g}")
    assert abs(e.value - x) < 4.0 * e.error, name
assert fit["link/payload/mass"].error < 0.01

# %% [markdown]
# Another motion, which the fit has not seen.

# %%
new = ist.predict(fit, recorded(1))
print(new)
assert new.scores[0].error < 1.1 * NOISE < 0.5 * new.scores[0].unfitted
