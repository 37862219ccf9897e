"""Weigh a tool with the arm that holds it: mass, centre and inertia from the torques of one motion, with intervals."""

import jax
import numpy as np

import isthmus as ist

DT, SECONDS, NOISE = 0.01, 6.0, 0.1
MIDDLE = np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.8, 0.0])
"""Positions about which the joints swing [rad]."""
TOOL = {"mass": 1.4, "com": [0.03, -0.02, 0.08], "inertia": [6e-3, 5e-3, 4e-3, 5e-4, -1e-3, 8e-4]}
"""What the arm really holds."""
GUESS = {"mass": 1.0, "com": [0.0, 0.0, 0.05], "inertia": [4e-3, 4e-3, 4e-3, 0.0, 0.0, 0.0]}
"""Where the search begins: a tool of about that size."""


def holding(arm, tool):
    """Return the arm with a tool in its hand."""
    for name, value in tool.items():
        arm = arm.set(f"link/payload/{name}", value)
    return arm


def swing(seed):
    """Return a motion that moves all joints (rows, 7): two sines each, with exact velocities and accelerations."""
    rng, t = np.random.default_rng(seed), np.arange(0.0, SECONDS, DT)[:, None]
    q, v, a = MIDDLE + 0.0 * t, 0.0 * MIDDLE + 0.0 * t, 0.0 * MIDDLE + 0.0 * t
    for size in (0.5, 0.25):
        w, phase = rng.uniform(1.0, 5.0, 7), rng.uniform(0.0, 2.0 * np.pi, 7)
        q, v = q + size * np.sin(w * t + phase), v + size * w * np.cos(w * t + phase)
        a = a - size * w**2 * np.sin(w * t + phase)
    return ist.Motion(t[:, 0], q, v, {"joint/acceleration": a})


def recorded(truth, seed):
    """Return the motion with the torques that it needs, measured with noise."""
    motion = swing(seed)
    noise = NOISE * np.random.default_rng(100 + seed).standard_normal(motion.v.shape)
    torques = ist.needed_torque(truth, motion) + noise
    return ist.Motion(
        motion.t, motion.q, motion.v, motion.signals | {"joint/motor_torque": torques}
    )


def main() -> None:
    """Identify the tool from one motion, then predict the torques of another."""
    arm = ist.library.arm(friction=0.4)  # all but the tool is known
    truth, guess = holding(arm, TOOL), holding(arm, GUESS)
    with jax.enable_x64(True):
        problem = ist.Problem(
            guess,
            recorded(truth, 0),
            free=[ist.Free("link/payload/inertial")],
            loss=ist.TorqueLoss(),
            noise=NOISE,
        )
        fit = ist.fit(problem)
        new = ist.predict(fit, recorded(truth, 1))
    true = np.concatenate([np.ravel(value) for value in TOOL.values()])
    print("95 % intervals of the tool, in its own frame")
    for (name, e), x in zip(fit.estimates.items(), true, strict=True):
        low, high = e.value - 1.96 * e.error, e.value + 1.96 * e.error
        print(f"{name:<24} {low:9.5f} … {high:9.5f} {e.unit:<6} true {x:g}")
        assert abs(e.value - x) < 4.0 * e.error, name
    assert fit["link/payload/mass"].error < 0.01
    print(new)
    assert new.scores[0].error < 1.1 * NOISE < 0.5 * new.scores[0].unfitted


if __name__ == "__main__":
    main()
