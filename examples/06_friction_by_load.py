# %% [markdown]
# # Friction that depends on load
#
# Gears rub more when they transmit more torque. A model with dry friction alone blames the masses for it;
# with `joint/load_friction` free, the masses come out right, and the errors say so.

# %%
import jax
import numpy as np

import isthmus as ist

jax.config.update("jax_enable_x64", True)
arm = ist.library.pendulum(2).set("joint/damping", 0.05).set("joint/friction", 0.2)
truth = arm.set("link/rod_2/mass", 1.5).set("joint/load_friction", 0.15)

rng, t = np.random.default_rng(0), np.arange(0.0, 10.0, 0.01)[:, None]
w, phase = np.array([[1.1, 2.3], [3.1, 1.7]]), rng.uniform(0.0, 6.0, (2, 2))
q = sum(a * np.sin(x * t + p) for a, x, p in zip((0.8, 0.4), w, phase, strict=True))
v = sum(a * x * np.cos(x * t + p) for a, x, p in zip((0.8, 0.4), w, phase, strict=True))
acc = sum(-a * x**2 * np.sin(x * t + p) for a, x, p in zip((0.8, 0.4), w, phase, strict=True))
motion = ist.Motion(t[:, 0], q, v, {"joint/acceleration": acc})
torque = ist.needed_torque(truth, motion) + 0.02 * rng.standard_normal(q.shape)
log = ist.Motion(t[:, 0], q, v, {**motion.signals, "joint/motor_torque": torque})

# %% [markdown]
# Two fits of the same log: without and with the term.

# %%
usual = [ist.Free("link/rod_2/mass"), ist.Free("joint/friction")]
started = arm.set("joint/load_friction", 0.02)
fits = {
    "without": ist.fit(ist.Problem(arm, log, free=usual, loss=ist.TorqueLoss())),
    "with": ist.fit(
        ist.Problem(
            started, log, free=[*usual, ist.Free("joint/load_friction")], loss=ist.TorqueLoss()
        )
    ),
}
for name, fit in fits.items():
    mass = fit["link/rod_2/mass"]
    left = fit.errors["joint/motor_torque"][1]
    print(
        f"{name:<8} mass {mass.value:.3f} ± {mass.error:.3f} kg (true 1.5), left over {left:.3f} N·m"
    )
assert abs(fits["with"]["link/rod_2/mass"].value - 1.5) < 0.02
assert (
    fits["with"].errors["joint/motor_torque"][1]
    < 0.5 * fits["without"].errors["joint/motor_torque"][1]
)
