"""`check_gradients`: are the derivatives of a rollout right, on the user's own model; is dt short enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from isthmus.entry import check_arguments
from isthmus.errors import BadOption
from isthmus.model.model import Model, leaf_fields
from isthmus.model.state import Control, State, StateLike, check_state
from isthmus.networks.wired import Wired
from isthmus.simulate.advice import or_rk4
from isthmus.simulate.integrate import Integrator, integrator_of
from isthmus.simulate.rollout import prepare, rollout
from isthmus.types import AnyArray, Number, Scalar
from isthmus.verify.compare import Row, Verdict, compare

NOT_SOLVED = 1e-8
"""Speed [m/s] by which impulses may miss their conditions."""


@dataclasses.dataclass(frozen=True)
class GradientReport:
    """One row for each leaf, the initial state and the controls; and what halving dt does. Prints as a table."""

    rows: tuple[Row, ...]
    steps: int
    dt: float
    step_change: float
    """Largest change of the motion when dt is halved, relative to how far the motion goes."""
    step_tolerance: float
    contact: str = ""
    """What contact by impulses does in these steps; empty: nothing."""
    finer: str = ""
    """Another integrator that would help if `dt` is long, in words; empty: none."""

    @property
    def wrong(self) -> tuple[str, ...]:
        """Names with a wrong derivative."""
        return tuple(row.name for row in self.rows if row.verdict is Verdict.WRONG)

    @property
    def ok(self) -> bool:
        """Whether no derivative is wrong (a long dt is no wrong derivative)."""
        return not self.wrong

    @property
    def fine_enough(self) -> bool:
        """Whether halving dt changes the motion by less than the tolerance."""
        return self.step_change <= self.step_tolerance

    def verdict(self, name: str) -> str:
        """What is said of one leaf: `agrees`, `no effect`, `kink here` or `WRONG`."""
        for row in self.rows:
            if row.name == name:
                return row.verdict.value
        raise BadOption(f"the report has no row {name!r}.")

    def __str__(self) -> str:
        wide = max(len(row.name) for row in self.rows)
        head = f"{'':{wide}}  {'verdict':9}  {'forward':>12} {'reverse':>12} {'differences':>12} {'off by':>8}"
        lines = [head, *(_line(row, wide) for row in self.rows), "", self._closing()]
        return "\n".join(lines)

    def _closing(self) -> str:
        count = f"{len(self.rows)} groups of numbers over {self.steps} steps of {self.dt:g} s: "
        wrong = (
            f"WRONG for {', '.join(self.wrong)}." if self.wrong else "every derivative is right."
        )
        percent = f"{100 * self.step_change:.3g} %"
        limit = f"{100 * self.step_tolerance:g} %"
        if self.fine_enough:
            dt = f"Halving dt changes the motion by {percent} (tolerance {limit}): short enough."
        else:
            dt = (
                f"Halving dt changes the motion by {percent}, more than {limit}: fitted parameters would absorb "
                f"that. Shorten dt{self.finer}."
            )
        return "\n".join(filter(None, (f"{count}{wrong}", dt, self.contact)))


@check_arguments
def check_gradients(
    model: Model,
    state: StateLike,
    controls: AnyArray | Sequence[Any] | Control | None,
    dt: Number,
    *,
    steps: int | None = None,
    tolerance: float = 1e-6,
    step_tolerance: float = 0.01,
    **options: Any,
) -> GradientReport:
    """Compares forward mode, reverse mode and differences of the end of a rollout, always in float64.

    For every leaf of the model, the weights of its networks, the initial state and the torques: `agrees`, `no
    effect`, `kink here` (the slope differs to either side) or `WRONG`. `tolerance` is relative to `max(|difference|,
    typical loss / typical number)`. Also tells by how much halving `dt` [s] changes the motion. `steps` (50 without
    controls) and further options as in `rollout`. `print` the report.
    """
    state = check_state(model, state)
    default = 50 if steps is None and controls is None else steps
    given, steps = prepare(model, controls, default)
    with jax.enable_x64(True):
        groups = _groups(model, state)
        weights = np.cos(1.0 + np.arange(model.nq + model.dof))

        def loss(numbers: dict[str, AnyArray]) -> Scalar:
            motion = rollout(*_assembled(model, state, given, numbers, steps), dt, steps, **options)
            return jnp.concatenate([motion.q[-1], motion.v[-1]]) @ weights

        speed = float(np.min(model.joint_friction_speed, initial=np.inf))
        rows = compare(loss, groups, widths={"state/v": speed / 100.0}, tolerance=tolerance)
        order = {name: k for k, name in enumerate(groups)}
        rows = tuple(sorted(rows, key=lambda row: order[row.name]))
        change = _step_change(model, state, given, dt, steps, options)
        contact = _contact(model, state, given, dt, steps, options)
    finer = or_rk4(model, float(dt), _scheme(options)) if change > step_tolerance else ""
    return GradientReport(rows, steps, float(dt), change, step_tolerance, contact, finer)


def _scheme(options: dict[str, Any]) -> Integrator:
    """The integrator that options of `rollout` choose."""
    names = options.keys() & {"integrator", "explicit", "substeps"}
    return integrator_of(**{name: options[name] for name in names})


def _contact(
    model: Model, state: State, control: Control, dt: Number, steps: int, options: dict[str, Any]
) -> str:
    """Impacts within the steps, and impulses that were not found."""
    if "impulse" not in model.contact_kinds:
        return ""
    given = control if jax.tree.leaves(control) else None
    names = ("contact/time", "contact/residual")
    signals = rollout(model, state, given, dt, steps, names, **options).signals
    impacts = int(np.sum(np.asarray(signals["contact/time"])[:steps] > 0.0))
    off = float(np.max(signals["contact/residual"]))
    many = "1 impact" if impacts == 1 else f"{impacts} impacts"
    told = [
        f"{many} in these steps: derivatives hold as long as none comes, goes or changes its order."
    ]
    if off > NOT_SOLVED:
        told.append(
            f"Impulses miss their conditions by up to {off:.2g} m/s (contact/residual): raise sweeps= of with_contact "
            "or contact/softness."
        )
    return " ".join(told[0 if impacts else 1 :])


def _groups(model: Model, state: State) -> dict[str, AnyArray]:
    """All numbers that the motion may depend on, by name; of the controls, a constant added to each column."""
    leaves = {spec.name: np.asarray(getattr(model, field)) for field, spec in leaf_fields()}
    weights = {
        f"network/{wired.name}": np.asarray(ravel_pytree(wired.net)[0]) for wired in model.networks
    }
    return {
        **{name: value for name, value in (leaves | weights).items() if value.size},
        "state/q": np.asarray(state.q), "state/v": np.asarray(state.v), "controls": np.zeros(model.dof),
    }  # fmt: skip


def _assembled(
    model: Model, state: State, control: Control, numbers: dict[str, AnyArray], steps: int
) -> tuple[Model, State, Control]:
    """Model, state and controls that have these numbers."""
    leaves: dict[str, Any] = {
        f: numbers[spec.name] for f, spec in leaf_fields() if spec.name in numbers
    }
    leaves["networks"] = tuple(_reweighted(wired, numbers) for wired in model.networks)
    moved = State(numbers["state/q"], numbers["state/v"], state.memory, state.time)
    torque = numbers["controls"][None] + (
        np.zeros((steps, model.dof)) if control.torque is None else control.torque
    )
    return dataclasses.replace(model, **leaves), moved, dataclasses.replace(control, torque=torque)


def _reweighted(wired: Wired, numbers: dict[str, AnyArray]) -> Wired:
    """A network with these weights."""
    flat, unravel = ravel_pytree(wired.net)
    return dataclasses.replace(
        wired, net=unravel(jnp.asarray(numbers.get(f"network/{wired.name}", flat)))
    )


def _step_change(
    model: Model, state: State, control: Control, dt: Number, steps: int, options: dict[str, Any]
) -> float:
    """Largest change of any position when every step is made in two, relative to how far that coordinate goes."""
    given = control if jax.tree.leaves(control) else None
    if model.delay_steps:  # commands that arrive late count in steps
        names = options.keys() & {"integrator", "explicit", "substeps"}
        rest = {name: value for name, value in options.items() if name not in names}
        coarse = _scheme(options)
        fine = dataclasses.replace(coarse, substeps=2 * coarse.substeps)
        plain, finer = (
            np.asarray(rollout(model, state, given, dt, steps, integrator=each, **rest).q)
            for each in (coarse, fine)
        )
    else:  # two motions of one length, so that one program makes both
        rows = np.arange(2 * steps)
        taken = lambda index: jax.tree.map(lambda x: np.asarray(x)[index], given)
        run = lambda index, h: rollout(model, state, taken(index), h, 2 * steps, **options).q
        plain = np.asarray(run(np.minimum(rows, steps - 1), dt))[: steps + 1]
        finer = np.asarray(run(rows // 2, 0.5 * dt))[::2]
    travel = np.max(np.ptp(finer, axis=0), initial=1e-12)
    return float(np.max(np.abs(plain - finer), initial=0.0) / travel)


def _line(row: Row, wide: int) -> str:
    forward = f"{'none':>12}" if row.forward is None else f"{row.forward:12.5g}"
    numbers = f"{forward} {row.reverse:12.5g} {row.difference:12.5g}"
    if row.verdict is Verdict.NO_EFFECT:
        return f"{row.name:{wide}}  {row.verdict.value}"
    place = (
        f" at [{', '.join(map(str, row.index))}]"
        if row.index and row.verdict is not Verdict.AGREES
        else ""
    )
    return f"{row.name:{wide}}  {row.verdict.value:9}  {numbers} {row.error:8.1e}{place}"
