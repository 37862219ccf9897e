"""Learn the unknown friction of a pendulum: a network on the passive torque, trained through the simulator."""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a file, no window
import jax
import matplotlib.pyplot as plt
import numpy as np

import isthmus as ist

DT = 0.01


def learn():
    """Return the plain model, the true model, and the model that has learned from one swing of the true one."""
    plain = ist.library.pendulum(1)
    truth = (
        plain.set("joint/damping", 0.1).set("joint/friction", 0.6).set("joint/friction_speed", 0.5)
    )
    log = ist.rollout(truth, ist.State(q=[2.9], v=[0.0]), None, dt=DT, steps=800)

    wire = ist.Wire("joint/passive_torque", reads=["joint/velocity"], net=ist.MLP(width=8, depth=1))
    hybrid = ist.Blueprint([wire]).attach(plain, key=jax.random.key(0), data=log)
    problem = ist.Problem(hybrid, log, free=[ist.Free("network/*")], loss=ist.Windows(20))
    fit = ist.fit(problem, ist.LevenbergMarquardt(steps=200, tolerance=1e-6))
    return plain, truth, fit.model


def friction(model, speeds):
    """Passive torque [N·m] at each speed [rad/s]."""
    states = ist.State(np.zeros((len(speeds), 1)), speeds[:, None])
    return ist.observe(model, states, names=["joint/passive_torque"])["joint/passive_torque"]


def main(out: str = "out") -> None:
    """Learn, check the result, and draw it beside the truth."""
    with jax.enable_x64(True):
        plain, truth, learned = learn()
        start = ist.State(q=[-2.4], v=[0.0])  # not the swing that was fitted
        swing = lambda model: ist.rollout(model, start, None, dt=DT, steps=600)
        motions = {"truth": swing(truth), "plain": swing(plain), "learned": swing(learned)}
        speeds = np.linspace(-5.0, 5.0, 201)
        torques = {"truth": friction(truth, speeds), "learned": friction(learned, speeds)}
    error = {name: np.sqrt(np.mean((m.q - motions["truth"].q) ** 2)) for name, m in motions.items()}
    print(
        f"error on a new swing: {error['plain']:.2g} rad before, {error['learned']:.2g} rad after learning"
    )
    assert error["learned"] < 0.05 * error["plain"]
    path = Path(out) / "friction.png"
    draw(path, speeds, torques, motions)
    print(f"wrote {path}")


def draw(path, speeds, torques, motions):
    """Draw the learned torque over velocity beside the truth, and the predicted swing."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), dpi=160)
    colours = {"truth": "#222222", "plain": "#b0b0b0", "learned": "#d1495b"}
    for name, line in (("truth", "-"), ("learned", "--")):
        left.plot(speeds, torques[name], line, color=colours[name], lw=2.2, label=name)
    left.set(xlabel="velocity [rad/s]", ylabel="passive torque [N·m]", title="what was learned")
    for name, line in (("plain", "-"), ("truth", "-"), ("learned", "--")):
        motion = motions[name]
        right.plot(motion.t, motion.q[:, 0], line, color=colours[name], lw=1.8, label=name)
    right.set(xlabel="time [s]", ylabel="angle [rad]", title="a swing it has not seen")
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="out", help="folder for the picture")
    main(parser.parse_args().out)
