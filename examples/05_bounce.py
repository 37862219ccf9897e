"""Drop a ball: the derivative of its height by that of the drop, beside the truth from one impact to the next."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import isthmus as ist

RADIUS, RESTITUTION, DT, STEPS, GRAVITY = 0.1, 0.8, 1e-3, 900, 9.81


def dropped(order):
    """Return a function from the height of the drop [m] to the heights after each step [m]."""
    ball = ist.Builder("ball")
    ball.add_link("ball", mass=1.0, inertia=(4e-3, 4e-3, 4e-3, 0.0, 0.0, 0.0))
    ball.add_joint_free("flight", None, "ball")
    ball.add_shape_sphere("ball", RADIUS)
    model = ist.with_contact(
        ball.model(), ist.Contact(restitution=RESTITUTION), ground=ist.Ground(), order=order
    )

    def heights(h):
        start = ist.State(jnp.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]).at[2].set(h), jnp.zeros(6))
        return ist.rollout(model, start, None, DT, STEPS).q[:, 2]

    return heights


def true_height(h, time):
    """Return where the ball is at a time [m]: parabolas from impact to impact."""
    z, v, t = h - RADIUS, 0.0, 0.0
    while t + (flight := (v + np.sqrt(v * v + 2.0 * GRAVITY * z)) / GRAVITY) < time:
        t, v, z = t + flight, RESTITUTION * (GRAVITY * flight - v), 0.0
    rest = time - t
    return RADIUS + z + v * rest - 0.5 * GRAVITY * rest**2


def true_slope(h, time):
    """Return the derivative of the height at a time by the height of the drop."""
    return (true_height(h + 1e-6, time) - true_height(h - 1e-6, time)) / 2e-6


def draw(path, t, found):
    """Draw the derivatives of both orders beside the truth, and the height."""
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7, 4.5), layout="constrained")
    above.plot(t, [true_height(0.6, time) for time in t], "k")
    above.set_ylabel("height [m]")
    below.plot(t, [true_slope(0.6, time) for time in t], "k", lw=3, label="truth")
    below.plot(t, found["impact"], "--", color="#D55E00", label='order="impact"')
    below.plot(t, found["plain"], ":", color="#0072B2", label='order="plain"')
    below.set(xlabel="time [s]", ylabel="d height / d drop", ylim=(-2.2, 3.0))
    below.legend(loc="upper left", ncols=3, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(path=None):
    """Compare both orders with the truth, away from the impacts, where the truth jumps."""
    jax.config.update("jax_enable_x64", True)
    t, found = DT * np.arange(STEPS + 1), {}
    for order in ("impact", "plain"):
        heights = dropped(order)
        slope = ist.native.compile(lambda h, f=heights: jax.jvp(f, (h,), (1.0,))[1], 0.6)
        found[order] = np.asarray(slope(0.6))
    off = {
        k: max(abs(s[n] - true_slope(0.6, t[n])) for n in (200, 400, 600, 800))
        for k, s in found.items()
    }
    print(", ".join(f"{order}: off by {by:.3f}" for order, by in off.items()))
    assert off["impact"] < 0.01 < off["plain"]
    if path:
        draw(path, t, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
