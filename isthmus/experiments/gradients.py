"""`gradients` (NeuralSim, figure 5): the time of one gradient beside the methods of the Tiny Differentiable Simulator.

Three problems: a small network, a chain of five links that falls onto the ground, a double pendulum. Native code of
isthmus computes value and gradient; both are compared with check values. The times of TDS come from another machine, so
that only times divided by the same engine's forward pass can be compared strictly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import isthmus as ist
from isthmus.bench.native_cases import compiled, layers
from isthmus.bench.rows import shown
from isthmus.bench.timing import code_kept_in, cpu_seconds
from isthmus.experiments.gradients_figures import draw_gradients
from isthmus.experiments.landscape import pendulum
from isthmus.experiments.run import Result, Settings, Table
from isthmus.phases import in_turn

METHODS: dict[str, tuple[float | None, float | None, float | None]] = {
    "finite differences": (2.1e-4, 1.58, 2.7e-3),
    "Ceres Jet (forward)": (1.9e-4, 1.14, 1.9e-3),
    "CppAD, tape kept": (4.7e-6, 0.85, 4.5e-4),
    "CppADCodeGen, whole rollout": (2.5e-7, None, 1.5e-4),
    "CppADCodeGen, a step and its adjoint": (None, 0.110, 8.2e-5),
}
"""Seconds of CPU for one gradient of the three problems by TDS, two cores at 2.3 GHz."""
FORWARD = (1.1e-7, 0.028, 3.2e-5)
"""TDS's forward pass, compiled [s]."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A function of some numbers, how it is differentiated, and what comes out."""

    name: str
    f: Callable[[Any], Any]
    x: np.ndarray
    value: float
    slope: tuple[float, ...]
    """The first numbers of the gradient."""
    checked: Callable[[Any], Any] = lambda y: y
    """Of the result, the number that is compared."""
    forward: bool = False
    """Forward mode, else reverse mode."""
    worlds: int = 2048
    """How many a measurement runs."""


def study(settings: Settings) -> Result:
    """Times of value and gradient of all three problems, alone and in lanes."""
    found = {}
    for case in in_turn(cases(settings.quick), "problem"):
        found[case.name] = measured(case, 2 if settings.quick else 7)
        settings.say(f"{case.name}: gradient {shown(found[case.name]['gradient'])}")
    return Result(
        (speeds(found), published(found), checks(found)), found,
        {"gradients": draw_gradients(found, METHODS)}, NOTES,
    )  # fmt: skip


NOTES = (
    "Times are the least of several runs, in CPU seconds of one thread; compiling is measured apart. TDS was measured "
    "on another machine (two cores at 2.3 GHz): compare multiples of the forward pass, or scale by it.",
    "(b): the gradient is compared after 500 steps: past about 1,000 the cost jumps. In 1 % of the steps 50 sweeps do "
    "not converge; there isthmus differentiates the sweeps, as TDS does everywhere, and elsewhere the equations.",
)


def cases(quick: bool) -> list[Case]:
    """The three problems."""
    i = np.arange(175)
    slope_a = (-0.0366454119314, -0.072634870928, 0.144503849685, 0.213373134953)
    slope_b = (0.147558710693, 0.118905002198, 0.0906052590387, 0.0641819815204, 0.0394882238089)
    target = np.asarray(
        ist.rollout(pendulum((3.0, 4.0)), ist.State.neutral(pendulum((3.0, 4.0))), None, 0.01,
                    steps=500, explicit=True).q
    )[:-1]  # fmt: skip

    def path(lengths: Any) -> Any:
        start = ist.State(jnp.zeros(2), jnp.zeros(2))
        q = ist.rollout(pendulum(lengths), start, None, 0.01, steps=500, explicit=True).q[:-1]
        return jnp.sum((target - q) ** 2) / 500

    return [
        Case("(a) network", network, 0.3 * np.sin(1.0 + 0.7 * i), -0.021522676958399, slope_a),
        Case(
            "(b) five links on the ground", falling(CHECKED if quick else 10 * CHECKED),
            np.array([0.1, -0.2, 0.3, -0.1, 0.2]), 0.0104137757092631, slope_b,
            checked=lambda y: y[0], forward=True, worlds=16,
        ),
        Case(
            "(c) double pendulum", path, np.array([2.0, 3.0]), 1.92317939449159,
            (-1.25855338195, -2.54612092566), forward=True, worlds=64,
        ),
    ]  # fmt: skip


def network(theta: Any) -> Any:
    """4-10-10-1 with ELU and a bias on every layer, at one input."""
    (W1, W2, W3), (b0, b1, b2, b3) = layers(theta, jnp)
    x = W1 @ (np.array([0.1, -0.2, 0.3, 0.4]) + b0) + b1
    return (W3 @ jax.nn.elu(W2 @ jax.nn.elu(x) + b2) + b3)[0]


CHECKED = 500
"""Steps after which (b) is compared: later the cost is not smooth."""


def chain() -> ist.Model:
    """Five links about x, each with a sphere at its end, over a plane; impulses as TDS computes them."""
    robot = ist.Builder("five_links")
    for i in range(5):
        name, parent = f"link_{i}", f"link_{i - 1}" if i else None
        inertia = 0.00539427 if i else 0.00494875
        robot.add_link(name, mass=2.16 if i else 1.0, com=(0.0, 0.5, 0.0), inertia=(inertia,) * 3)
        at = (0.0, 0.5, 0.0) if i else (0.0, 0.0, 1.0)
        robot.add_joint_revolute(f"joint_{i}", parent, name, position=at, axis=(1.0, 0.0, 0.0))
        robot.add_shape_sphere(name, 0.05, position=(0.0, 0.5, 0.0), name=f"ball_{i}")
    contact = ist.Contact(friction=0.5, restitution_speed=0.0, softness=1e-5, erp=0.2)
    return ist.with_contact(robot.model(), contact, ground=ist.Ground(), order="b", sweeps=50)


def falling(steps: int) -> Callable[[Any], Any]:
    """Initial velocities -> the mean joint angle over `CHECKED` steps and over all of them."""
    model = chain()

    def cost(v: Any) -> Any:
        motion = ist.rollout(
            model, ist.State(jnp.zeros(5), v), None, 1e-3, steps=steps, explicit=True
        )
        return jnp.stack([jnp.mean(motion.q[1 : 1 + CHECKED]), jnp.mean(motion.q[1:])])

    return cost


def measured(case: Case, repeats: int) -> dict[str, float]:
    """Seconds of value and gradient, and how far both are from the check values."""

    def both(x: Any) -> Any:
        if not case.forward:
            return jax.value_and_grad(case.f)(x)
        slope, value = jax.jacfwd(lambda x: (case.f(x),) * 2, has_aux=True)(x)
        return value, slope

    many = np.tile(case.x, (case.worlds, 1))
    with code_kept_in("off"):
        value, value_alone, _ = compiled(case.f, case.x)
        slope, slope_alone, took = compiled(both, case.x)
        runs = [in_blocks(f, many) for f in (value_alone, slope_alone, value, slope)]
        times = [t / case.worlds for t in least(runs, repeats)]
    y, dy = (np.asarray(case.checked(z)) for z in slope(case.x))
    off = np.max(np.abs(dy[: len(case.slope)] - case.slope))
    return dict(
        zip(("forward", "gradient", "forward in lanes", "gradient in lanes"), times, strict=True)
    ) | {"compile": took, "value is off": abs(float(y) - case.value), "gradient is off": float(off)}


def in_blocks(f: Any, many: np.ndarray) -> Callable[[], Any]:
    """A run over all worlds whose results have their place already."""
    out = [np.empty((len(many), *np.shape(y))) for y in jax.tree.leaves(f(many[0]))]
    return lambda: f.run_blocks(len(many), [many], out, 1)


def least(runs: list[Callable[[], Any]], repeats: int) -> list[float]:
    """The fewest CPU seconds of each, over rounds that run every one."""
    counts = [max(1, int(2e-3 / cpu_seconds(run))) for run in runs]
    found: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, count, laps in zip(runs, counts, found, strict=True):
            laps.append(cpu_seconds(lambda r=run, n=count: [r() for _ in range(n)]) / count)
    return [min(laps) for laps in found]


def best_of(k: int) -> float:
    """TDS's fastest gradient of a problem [s]."""
    return min(t for times in METHODS.values() if (t := times[k]) is not None)


def speeds(found: dict) -> Table:
    """Our times, and how they compare."""
    rows = []
    for k, (name, one) in enumerate(found.items()):
        ours, lanes = one["gradient"], one["gradient in lanes"]
        rows.append((
            name, shown(one["forward"]), shown(ours), f"{ours / one['forward']:.1f}",
            f"{best_of(k) / FORWARD[k]:.1f}", f"{best_of(k) / ours:.1f}", shown(lanes),
            f"{best_of(k) / lanes:.1f}", f"{one['compile']:.1f} s",
        ))  # fmt: skip
    columns = (
        "problem", "forward", "gradient", "gradient/forward", "TDS's gradient/forward",
        "TDS's best/gradient", "gradient in lanes", "TDS's best/in lanes", "compile",
    )  # fmt: skip
    return Table(
        "One gradient by isthmus, for one world and for each of many in lanes", columns, tuple(rows)
    )


def published(found: dict) -> Table:
    """All methods of TDS as multiples of its compiled forward pass."""
    cell = lambda t, k: "" if t is None else f"{shown(t)} ({t / FORWARD[k]:.3g})"
    rows = [
        (f"TDS, {name}", *(cell(t, k) for k, t in enumerate(times)))
        for name, times in METHODS.items()
    ]
    ours = lambda mark: tuple(
        f"{shown(one['gradient' + mark])} ({one['gradient' + mark] / one['forward' + mark]:.3g})"
        for one in found.values()
    )
    rows += [("isthmus", *ours("")), ("isthmus, a world in lanes", *ours(" in lanes"))]
    title = "Time of a gradient; in brackets: divided by the forward pass of the same engine"
    return Table(title, ("method", *found), tuple(rows))


def checks(found: dict) -> Table:
    """How far values and gradients are from the check values."""
    rows = tuple(
        (name, f"{one['value is off']:.0e}", f"{one['gradient is off']:.0e}")
        for name, one in found.items()
    )
    return Table("Differences from the check values", ("problem", "value", "gradient"), rows)
