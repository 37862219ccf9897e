"""What stands in the viewer: models with their motions, as pictures, and how they are simulated again."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from isthmus.entry import described
from isthmus.errors import BadMotion, BadOption, IsthmusError, IsthmusWarning
from isthmus.identify.fit import Fit
from isthmus.model.contacts import with_contact
from isthmus.model.coordinates import normalise
from isthmus.model.model import Model
from isthmus.model.state import Control, State
from isthmus.motion.fields import CONTROL, EXTRA, FORCE
from isthmus.motion.motion import Motion
from isthmus.report.gather import Run, as_fitted, runs_of
from isthmus.report.scene import can_be_drawn, scene
from isthmus.scene.along import (
    CONTACT,
    Contacts,
    contacts_at,
    contacts_in,
    poses_along,
    signals_at,
    velocities_along,
)
from isthmus.scene.scene import Take
from isthmus.simulate.rollout import rollout
from isthmus.simulate.standing import on_the_ground
from isthmus.simulate.touching import warn_if_deep

RATE, LONGEST = 60.0, 3000
"""Pictures each second, and of one motion, at most."""
MOST_WORLDS = 16
"""Worlds side by side, at most."""
SECONDS, DT = 2.0, 1e-3
"""Of a motion that nobody gave."""
FLOATS = "Nothing carries this model, so it is shown at rest: --ground 0 (ist.with_contact) lets it fall onto a plane."
POSE = "link/pose"


@dataclasses.dataclass(frozen=True, eq=False)
class World:
    """A mechanism with one motion."""

    model: Model
    take: Take
    motion: Motion | None = None
    """The rows behind the pictures; None: only pictures are known."""
    still: bool = False
    """Whether the motion is yet to be simulated."""

    @property
    def pictures(self) -> int:
        """How many there are."""
        return len(self.take.poses[0])


def worlds_of(
    model: Model, shown: Motion | Fit | Sequence[Motion] | None, measured: Motion | None = None
) -> list[World]:
    """The worlds that `ist.view` shows, side by side."""
    if shown is None:
        return [still(model)]
    if isinstance(shown, Fit):
        return _of_fit(shown, model)
    given = [shown] if isinstance(shown, Motion) else list(shown)
    if wrong := [x for x in given if not isinstance(x, Motion)]:
        raise BadOption(f"view shows motions, a fit, or nothing, but not {described(wrong[0])}.")
    runs = [run for motion in given for run in _single(motion)]
    if not runs or len(runs) > MOST_WORLDS:
        raise BadOption(
            f"view shows from 1 to {MOST_WORLDS} worlds, but {len(runs)} motions were given."
        )
    ghost = None if measured is None else checked(model, measured)
    return [of_motion(model, checked(model, run), ghost=ghost) for run in runs]


def _single(motion: Motion) -> list[Motion]:
    """A batch of motions one by one."""
    if np.ndim(motion.t) < 2 and np.ndim(motion.q) < 3:
        return [motion]
    pick = lambda k: jax.tree.map(lambda x: np.asarray(x)[k], motion)
    return [pick(k) for k in range(len(np.asarray(motion.q)))]


def checked(model: Model, motion: Motion) -> Motion:
    """A motion of this model, with the joints in its order."""
    if motion.q is None:
        raise BadMotion("a motion without positions cannot be viewed.")
    ordered = motion.matched(model) if motion.joints else motion
    if np.shape(ordered.q)[-1] != model.nq or len(np.asarray(ordered.q)) == 0:
        raise BadMotion(
            f"this motion has positions of shape {np.shape(ordered.q)}, and {model.name!r} has {model.nq} coordinates."
        )
    return ordered


def _of_fit(fit: Fit, model: Model) -> list[World]:
    """Held-out runs first, predicted with the fitted model; measured ones as ghosts."""
    problem = fit.problem
    if problem is None:
        raise BadOption(
            "a fit that was loaded has no motions: view(fit.model, motion) shows one of yours."
        )
    runs = [run for run in runs_of(fit, as_fitted(fit, problem)) if can_be_drawn(run)]
    if not runs:
        raise BadOption("this fit has no run with positions that could be viewed.")
    shown = sorted(runs, key=lambda run: not run.heldout)
    return [
        World(model, take, _log(model, run))
        for take, run in zip(scene(model, runs).takes, shown, strict=False)
    ]


def _log(model: Model, run: Run) -> Motion | None:
    """What was measured in a run, from which it can be simulated again; None: no positions were."""
    if run.q is None or not np.isfinite(run.q[0]).all():
        return None
    signals = {} if run.control.torque is None else {CONTROL: run.control.torque}
    v = velocities_along(model, run.q, run.dt)
    return Motion(run.dt * np.arange(run.rows), run.q, v, signals)


# pictures --------------------------------------------------------------------------------------------------------


def of_motion(model: Model, motion: Motion, *, ghost: Motion | None = None) -> World:
    """A motion as pictures; `ghost`: what is drawn over it, at the same times."""
    q = np.asarray(motion.q, dtype=np.float64)
    dt = step_of(motion)
    every = max(1, round(1.0 / (RATE * dt)), -(-len(q) // LONGEST))
    poses = motion.signals.get(POSE)
    seen = poses_along(model, q[::every]) if poses is None else np.asarray(poses)[::every]
    touching = contacts_in(model, motion.signals)
    if touching is not None:
        touching = Contacts(*(x[::every] for x in touching))
    elif model.contact_kinds and motion.v is not None:
        v = np.asarray(motion.v, dtype=np.float64)[::every]
        touching = contacts_at(model, q[::every], v, acting(model, motion, every), dt)
    measured = None if ghost is None else _at_times(model, ghost, every * dt, len(seen))
    name = motion.about.name or model.name
    return World(model, Take(name, every * dt, seen, measured, touching), motion)


def _at_times(model: Model, motion: Motion, seconds: float, pictures: int) -> np.ndarray:
    """Poses of a motion at the times of another one's pictures; it stays where it ends."""
    rows = np.round(seconds * np.arange(pictures) / step_of(motion)).astype(int)
    return poses_along(model, np.asarray(motion.q)[np.minimum(rows, len(motion) - 1)])


def step_of(motion: Motion) -> float:
    """Time between two rows [s]."""
    t = np.asarray(motion.t, dtype=np.float64)
    return float((t[-1] - t[0]) / (len(t) - 1)) if len(t) > 1 and t[-1] > t[0] else DT


def acting(model: Model, motion: Motion, every: int = 1) -> Control:
    """What acted during a motion, every so many rows; what was not measured is zero."""
    rows: dict[str, Any] = {
        k: np.nan_to_num(np.asarray(x))[::every] for k, x in motion.signals.items()
    }
    extra = {k.removeprefix(EXTRA): x for k, x in rows.items() if k.startswith(EXTRA)}
    return Control(torque=rows.get(CONTROL), force=rows.get(FORCE), extra=extra)


def still(model: Model) -> World:
    """The model at rest in its neutral position, free bodies on the ground: one picture, from which it can move."""
    touching = model if model.contact_kinds else _touching(model)
    q = on_the_ground(touching, np.asarray(State.neutral(model).q))
    poses = poses_along(model, q[None])
    motion = Motion(np.zeros(1), q[None], np.zeros((1, model.dof)))
    return World(model, Take(model.name, DT, poses), motion, still=True)


def _touching(model: Model) -> Model:
    """The model with contacts for all its shapes; as it is, where it has no shape or no plane."""
    try:
        return with_contact(model, "*")
    except IsthmusError:
        return model


def floats(model: Model) -> bool:
    """Whether nothing carries the model, so that it would only fall out of the picture."""
    return model.joint_kinds[:1] == ("free",) and not model.contact_kinds


def titles_of(worlds: Sequence[World]) -> list[str]:
    """Names of worlds, all different; held-out runs say so."""
    takes = [world.take for world in worlds]
    names = [f"{take.name} (held out)" if take.heldout else take.name for take in takes]
    alike = len(set(names)) < len(names)
    return [f"{k + 1}: {name}" if alike else name for k, name in enumerate(names)]


def notes_on(worlds: Sequence[World]) -> tuple[str, ...]:
    """What has to be said about worlds without a motion: that they rest, or that bodies start inside each other."""
    at_rest = [(w.model, w.motion.q[0]) for w in worlds if w.still and w.motion is not None]
    notes = [FLOATS] if any(floats(model) for model, _ in at_rest) else []
    with warnings.catch_warnings(record=True) as told, jax.enable_x64(True):
        warnings.simplefilter("always")
        for model, q in at_rest:
            warn_if_deep(model, np.asarray(q))
    return (*notes, *(str(warning.message) for warning in told))


# simulated again -------------------------------------------------------------------------------------------------


def simulated(world: World, model: Model, q: np.ndarray) -> World:
    """The world's motion again with the numbers of `model` from the positions `q`; what it was is the ghost."""
    motion = world.motion
    if motion is None:
        raise BadOption("only pictures of this motion are known, so it cannot be simulated again.")
    v = np.zeros(model.dof) if motion.v is None else np.asarray(motion.v)[0]
    start = State(np.asarray(normalise(model, q)), np.nan_to_num(v))
    dt = DT if world.still else step_of(motion)
    given = None if world.still else acting(model, motion)
    given = None if given is None or not jax.tree.leaves(given) else given
    if given is not None:
        given = jax.tree.map(lambda x: x[:-1], given)
    steps = (1 if floats(model) else round(SECONDS / DT)) if world.still else len(motion) - 1
    record = [POSE, *(CONTACT if model.contact_kinds else ())]
    with warnings.catch_warnings(), jax.enable_x64(True):
        warnings.simplefilter("ignore", IsthmusWarning)
        found = rollout(model, start, given, dt, steps if given is None else None, record)
    now = of_motion(model, found)
    return dataclasses.replace(now, take=dataclasses.replace(now.take, measured=_ghost(world, now)))


def _ghost(world: World, now: World) -> np.ndarray | None:
    """What was measured, else what was shown first, at the times of the new pictures."""
    before = world.take.measured if world.take.measured is not None else world.take.predicted
    if world.still or before is None:
        return None
    rows = np.round(np.arange(now.pictures) * now.take.seconds / world.take.seconds).astype(int)
    return before[np.minimum(rows, len(before) - 1)]


def signal_along(world: World, name: str) -> np.ndarray:
    """A signal at every row of the world's motion, (rows, …)."""
    motion = world.motion
    if motion is None:
        raise BadOption("only pictures of this motion are known, so its signals cannot be drawn.")
    own: Mapping[str, Any] = {
        "time": motion.t, "joint/position": motion.q, "joint/velocity": motion.v, **motion.signals
    }  # fmt: skip
    if own.get(name) is not None:
        return np.asarray(own[name], dtype=np.float64)
    if motion.v is None:
        raise BadOption(f"{name} needs velocities: motion.velocities() computes them.")
    q, v = np.asarray(motion.q, dtype=np.float64), np.asarray(motion.v, dtype=np.float64)
    found = signals_at(world.model, q, v, acting(world.model, motion), step_of(motion), [name])
    if name not in found:
        raise IsthmusError(f"{name} is not known anywhere in this motion.")
    return found[name]
