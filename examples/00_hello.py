"""Simulate a pendulum of five rods, check that its energy is conserved, and draw its motion."""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a file, no window
import jax
import matplotlib.pyplot as plt
import numpy as np

import isthmus as ist
from isthmus.dynamics import energy
from isthmus.figures.picture import draw_motion


def main(out: str = "out") -> None:
    """Simulate, check the energy, and draw `out/hello.png`."""
    with jax.enable_x64(True):
        robot = ist.library.pendulum(5, lengths=(0.5, 0.4, 0.4, 0.3, 0.3))
        start = ist.State(q=[2.2, -0.4, 0.3, 0.2, -0.2], v=np.zeros(5))
        motion = ist.rollout(robot, start, None, dt=1e-3, steps=1600, integrator="rk4")
        total = jax.jit(energy)
        drift = abs(float(total(robot, motion.state(-1)) - total(robot, start)))
    print(robot)
    print(f"{len(motion) - 1} steps of 1 ms; the energy drifted by {drift:.3g} J")
    assert drift < 1e-3, f"energy drifted by {drift:.3g} J"

    figure, axes = plt.subplots(figsize=(7.2, 6.4), dpi=160)
    draw_motion(robot, motion, axes, frames=26)
    path = Path(out) / "hello.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)
    print(f"wrote {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="out", help="folder for the picture")
    main(parser.parse_args().out)
