"""Identify a double pendulum from noisy logs: parameters, missing physics, and what the data cannot determine.

The logs come from a simulation with known parameters: two uniform rods, driven by chirps at both joints, with friction
that the model lacks. There are four fits: masses and lengths, from anywhere in wide bounds; the same with a small
network on the passive torque; the same with free centres of mass and inertias; and a fit to motion without torques.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import isthmus as ist
from isthmus.palette import BLUE, GREY, GRID, VERMILION

Values = Mapping[str, Any]
Logs = list[ist.Motion]

DT, NOISE, WINDOW = 0.01, 2e-3, 40  # [s], [rad], steps
TRUE = {"mass": np.array([0.9, 0.5]), "length": np.array([0.6, 0.4])}  # [kg], [m]
FREE = [
    ist.Free("mass", low=0.1, high=3.0, shape=2, start=[2.0, 2.0]),
    ist.Free("length", low=0.1, high=1.5, shape=2, start=[1.2, 0.3]),
]
HOW = {"loss": ist.Windows(WINDOW), "noise": NOISE}


def rods(p: Values) -> ist.Model:
    """The model: two uniform rods without friction."""
    return ist.library.pendulum(lengths=p["length"], masses=p["mass"])


def bodies(p: Values) -> ist.Model:
    """The same rods with free centres of mass [m below the joint] and free moments of inertia [kg·m²]."""
    zero, moment = jnp.zeros(2), p["inertia"]
    com = jnp.stack([zero, zero, -p["com"]], axis=1)
    inertia = jnp.stack([moment, moment, 0.01 * moment, zero, zero, zero], axis=1)
    return rods(p).set("link/com", com).set("link/inertia", inertia)


def true_pendulum() -> ist.Model:
    """The model that generates the logs."""
    driven = rods(TRUE).set("joint/damping", [0.02, 0.01]).set("joint/friction", [0.1, 0.04])
    return driven.set("joint/friction_speed", 0.3)


def record(seed: int, seconds: float, drive: float = 1.0) -> ist.Motion:
    """Return a log of the true pendulum: chirps on both joints, positions and velocities with noise."""
    rng = np.random.default_rng(seed)
    t = DT * np.arange(round(seconds / DT) + 1)[:, None]
    slow, fast, phase = rng.uniform(0.2, 0.5, 2), rng.uniform(1.5, 3.0, 2), rng.uniform(0.0, 6.0, 2)
    turns = slow * t + 0.5 * (fast - slow) * t**2 / seconds
    torque = drive * np.array([2.0, 0.5]) * np.sin(2.0 * np.pi * turns + phase)
    start = ist.State(rng.uniform(-1.0, 1.0, 2), np.zeros(2))
    held = np.repeat(torque[:-1], 10, axis=0)  # ten fine steps for each row of the log
    clean = ist.rollout(true_pendulum(), start, held, dt=DT / 10, integrator="rk4")[::10]
    q = clean.q + NOISE * rng.standard_normal(clean.q.shape)
    v = clean.v + 5.0 * NOISE * rng.standard_normal(clean.v.shape)
    acted = {"joint/control": torque} if drive else {}
    return ist.Motion(clean.t, q, v, acted, clean.joints)


def identify(logs: Logs, heldout: Logs, how: Values, rounds: int) -> ist.Fit:
    """Fit masses and lengths of the rods, by local searches from many starts."""
    problem = ist.Problem(make=rods, motions=logs, free=FREE, heldout=heldout, **how)
    local = ist.LevenbergMarquardt(steps=30)
    return ist.fit(problem, ist.BasinHopping(local, islands=8, rounds=rounds))


def learn(plain: ist.Fit, logs: Logs, heldout: Logs, how: Values, width: int) -> ist.Fit:
    """Fit the same with a network on the passive torque, which has no effect at the start."""
    net = ist.MLP(width=width, depth=1)
    wire = ist.Wire("joint/passive_torque", reads=["joint/velocity"], net=net, name="friction")
    wired = ist.Blueprint([wire]).attach(plain.model, key=jax.random.key(0), data=logs).networks
    hybrid = lambda p: dataclasses.replace(rods(p), networks=wired)
    free = [dataclasses.replace(f, start=found(plain, f.name)) for f in FREE]
    free.append(ist.Free("network/*"))
    problem = ist.Problem(
        make=hybrid, motions=logs, free=free, heldout=heldout, weight_penalty=1e-2, **how
    )
    return ist.fit(problem, ist.LevenbergMarquardt(steps=100, tolerance=1e-4))


def ask_too_much(plain: ist.Fit, logs: Logs, how: Values) -> ist.Fit:
    """Fit centres of mass and inertias too: five parameters more than the motion can determine."""
    mass, length = found(plain, "mass"), found(plain, "length")
    free = [dataclasses.replace(f, start=found(plain, f.name)) for f in FREE]
    free.append(ist.Free("com", low=0.01, high=1.0, shape=2, start=length / 2))
    free.append(ist.Free("inertia", low=1e-4, high=1.0, shape=2, start=mass * length**2 / 12))
    return ist.fit(ist.Problem(make=bodies, motions=logs, free=free, **how))


def ask_without_torques(logs: Logs, how: Values) -> ist.Fit:
    """Fit rods that swing freely: their motion does not determine how heavy they are."""
    return ist.fit(ist.Problem(make=rods, motions=logs, free=FREE, **how))


def found(fit: ist.Fit, name: str) -> np.ndarray:
    """Both estimates of a parameter."""
    return np.array([fit[f"{name}[{k}]"].value for k in range(2)])


def run(
    folder: Path, quick: bool = False, say: Callable[[str], None] = print
) -> tuple[ist.Fit, ...]:
    """Makes logs, fits, writes a table, a picture, a report and a model into `folder`; returns the four fits."""
    seconds, count, rounds, width = (1.6, 4, 2, 3) if quick else (4.0, 6, 5, 6)
    how = HOW if quick else {**HOW, "integrator": "rk4"}
    logs = [record(seed, seconds) for seed in range(count)]
    heldout = [record(seed, seconds) for seed in (100, 101)]
    free_swings = [record(seed, seconds, drive=0.0) for seed in range(count)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in the table
        say("1 of 4: masses and lengths of two rods, by basin hopping")
        plain = identify(logs, heldout, how, rounds)
        say("2 of 4: the same with a network on the passive torque")
        learned = learn(plain, logs, heldout, how, width)
        say("3 of 4: centres of mass and inertias free too")
        too_much = ask_too_much(plain, logs, how)
        say("4 of 4: motion without torques")
        free_swing = ask_without_torques(free_swings, how)
    text = told(plain, learned, too_much, free_swing)
    (folder / "identify.txt").write_text(f"{text}\n", encoding="utf-8")
    draw(folder / "identify.png", plain, learned, logs[0], heldout[0])
    title = "A double pendulum with friction that the model lacked"
    notes = [f"With centres of mass and inertias free too: {x}" for x in too_much.undetermined]
    notes += [f"Without torques: {words}" for words in free_swing.undetermined]
    ist.export_report(learned, folder / "report.html", title=title, notes=notes)
    ist.save(learned.model, folder / "pendulum.safetensors")
    return plain, learned, too_much, free_swing


def told(plain: ist.Fit, learned: ist.Fit, too_much: ist.Fit, free_swing: ist.Fit) -> str:
    """The printed table: estimates beside the truth, errors, and what is not determined, in words."""
    lines = [f"{'':12}{'truth':>8}{'rods alone':>14}{'with network':>15}"]
    for name, unit in (("mass", "kg"), ("length", "m")):
        for k, true in enumerate(TRUE[name]):
            one, two = (fit[f"{name}[{k}]"].value for fit in (plain, learned))
            lines.append(
                f"{name} {k + 1} [{unit}]".ljust(12) + f"{true:8.3f}{one:14.3f}{two:15.3f}"
            )
    rms = lambda fit, errors: 1e3 * getattr(fit, errors)["joint/position"][1]
    for title, errors in (("fitted", "errors"), ("held out", "heldout")):
        pair = f"{rms(plain, errors):14.1f}{rms(learned, errors):15.1f}"
        lines.append(f"{title} [mrad]".ljust(20) + pair)
    lines.append(f"\nWithout the network, the residual is {plain.noise:.0f} times the noise.")
    lines.append("With centres of mass and inertias free too:")
    lines += [f"  {words}" for words in too_much.undetermined]
    lines.append("Without torques:")
    lines += [f"  {words}" for words in free_swing.undetermined]
    return "\n".join(lines)


def draw(
    path: Path, plain: ist.Fit, learned: ist.Fit, seen: ist.Motion, unseen: ist.Motion
) -> None:
    """Draw measured and predicted motion of a fitted and of a held-out log, and the learned friction."""
    figure, panels = plt.subplots(
        2,
        3,
        figsize=(12.0, 6.0),
        dpi=160,
        layout="constrained",
        width_ratios=(1, 1, 0.8),
        sharex="col",
    )
    for column, log, title in (
        (0, seen, "a fitted log"),
        (1, unseen, "held out: a log the fit has not seen"),
    ):
        predicted = [roll(fit.model, log).q for fit in (plain, learned)]
        for k in range(2):
            axes = panels[k, column]
            axes.plot(log.t[::4], log.q[::4, k], "o", color=GREY, ms=5.0, mew=0.0, label="measured")
            axes.plot(log.t, predicted[0][:, k], color=VERMILION, lw=1.6, label="rods alone")
            axes.plot(log.t, predicted[1][:, k], color=BLUE, lw=1.8, label="rods and network")
            axes.set(xlim=(0.0, log.t[-1]), facecolor="#eef4fa" if column else "white")
        panels[0, column].set_title(title, loc="left", fontweight="bold")
    speeds = np.linspace(-4.0, 4.0, 201)
    for k in range(2):
        axes = panels[k, 2]
        axes.plot(speeds, friction(true_pendulum(), k, speeds), color=GREY, lw=5.0)
        axes.plot(speeds, 0.0 * speeds, color=VERMILION, lw=1.6)
        axes.plot(speeds, friction(learned.model, k, speeds), color=BLUE, lw=1.8)
        axes.set_ylabel("friction [N·m]")
        panels[k, 0].set_ylabel(f"joint {k + 1} [rad]")
    panels[0, 2].set_title("friction learned (grey: truth)", loc="left", fontweight="bold")
    for axes, label in zip(panels[1], ("time [s]", "time [s]", "velocity [rad/s]"), strict=True):
        axes.set_xlabel(label)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=GRID, lw=0.5)
        axes.set_axisbelow(True)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=3, frameon=False, loc="outside upper center", fontsize=11)
    figure.savefig(path)
    plt.close(figure)


def roll(model: ist.Model, log: ist.Motion) -> ist.Motion:
    """Simulate the whole log from its first row."""
    start, torques = ist.State(log.q[0], log.v[0]), log.signals["joint/control"][:-1]
    return ist.rollout(model, start, torques, dt=DT, integrator="rk4")


def friction(model: ist.Model, joint: int, speeds: np.ndarray) -> np.ndarray:
    """Passive torque [N·m] of one joint at each speed [rad/s], the other one at rest."""
    v = np.zeros((len(speeds), 2))
    v[:, joint] = speeds
    seen = ist.observe(model, ist.State(np.zeros_like(v), v), names=["joint/passive_torque"])
    return np.asarray(seen["joint/passive_torque"])[:, joint]
