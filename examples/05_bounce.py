# %% [markdown]
# # A gradient through a bounce
#
# Drop a ball a little higher: where is it later? Simulators that handle an impact at the end of a step give the wrong
# sign of that answer, however small the step is. Here the time of the impact within the step has its derivative too.

# %%
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import isthmus as ist

jax.config.update("jax_enable_x64", True)
RADIUS, RESTITUTION, DT, STEPS, GRAVITY = 0.1, 0.8, 1e-3, 900, 9.81


def dropped(order):
    """A function from the height of the drop [m] to the heights after each step [m]."""
    ball = ist.Builder("ball")
    ball.add_link("ball", mass=1.0, inertia=(4e-3, 4e-3, 4e-3, 0.0, 0.0, 0.0))
    ball.add_joint_free("flight", None, "ball")
    ball.add_shape_sphere("ball", RADIUS)
    contact = ist.Contact(restitution=RESTITUTION)
    model = ist.with_contact(ball.model(), contact, ground=ist.Ground(), order=order)

    def heights(h):
        start = ist.State(jnp.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).at[2].set(h), jnp.zeros(6))
        return ist.rollout(model, start, None, DT, STEPS).q[:, 2]

    return heights


# %% [markdown]
# The truth is known: parabolas from impact to impact.


# %%
def true_height(h, time):
    """Where the ball is at a time [m]."""
    z, v, t = h - RADIUS, 0.0, 0.0
    while t + (flight := (v + np.sqrt(v * v + 2.0 * GRAVITY * z)) / GRAVITY) < time:
        t, v, z = t + flight, RESTITUTION * (GRAVITY * flight - v), 0.0
    rest = time - t
    return RADIUS + z + v * rest - 0.5 * GRAVITY * rest**2


def true_slope(time):
    """The derivative of the height at a time by the height of the drop."""
    return (true_height(0.6 + 1e-6, time) - true_height(0.6 - 1e-6, time)) / 2e-6


# %%
t, found = DT * np.arange(STEPS + 1), {}
for order in ("impact", "plain"):
    heights = dropped(order)
    slope = ist.native.compile(lambda h, f=heights: jax.jvp(f, (h,), (1.0,))[1], 0.6)
    found[order] = np.asarray(slope(0.6))
rows = (200, 400, 600, 800)  # away from the impacts, where the truth jumps
off = {k: max(abs(s[n] - true_slope(t[n])) for n in rows) for k, s in found.items()}
print(", ".join(f"{order}: off by {by:.3f}" for order, by in off.items()))
assert off["impact"] < 0.01 < off["plain"]

# %%
figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7.0, 4.5), layout="constrained")
above.plot(t, [true_height(0.6, time) for time in t], "k")
above.set_ylabel("height [m]")
below.plot(t, [true_slope(time) for time in t], "k", lw=3, label="truth")
below.plot(t, found["impact"], "--", color="#D55E00", label='order="impact"')
below.plot(t, found["plain"], ":", color="#0072B2", label='order="plain"')
below.set(xlabel="time [s]", ylabel="d height / d drop", ylim=(-2.2, 3.0))
below.legend(loc="upper left", ncols=3, frameon=False)
Path("out").mkdir(exist_ok=True)
figure.savefig("out/05_bounce.png", dpi=90)
