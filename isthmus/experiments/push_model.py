"""A pushed object and its tip in isthmus: a planar body on springs under a 2 cm grid, a prescribed tip, free numbers.

Every object has the same program: as many edges of its outline and as many points of its sole as the template has, and
those it lacks are far away and carry nothing. So all pushes, of all objects and all points of a search, run side by
side in native lanes. The load of a point of the sole is its spring's stiffness, since the table holds the object's
height.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings

import jax
import numpy as np

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.errors import StepWarning
from isthmus.experiments.push_data import ROWS, Pushes, Shape, grid_inside
from isthmus.experiments.push_tip import clearance
from isthmus.experiments.tosses_model import Number
from isthmus.model.builder import Builder
from isthmus.model.contacts import Contact, Ground, with_contact
from isthmus.model.model import Model
from isthmus.model.pairs import Pair
from isthmus.model.state import Control, State
from isthmus.networks.recipes import MLP
from isthmus.simulate.many import rollout_many

GRAVITY = 9.81
GRID = 0.02
"""Spacing of the points under the object [m]."""
EDGES, SOLE = 24, 60
"""Most edges and points of an object: of an outline with more edges, those count that are next to where the tip starts;
a larger object has a coarser grid."""
DEPTH, HEIGHT = 1e-3, 0.01
"""How deep the sole is in the springs of the table, and where the tip touches [m]."""
THIN = 1e-6
"""Radius of an edge [m]."""
STEP, SEGMENT = 1e-3, 250
"""Time step [s], and steps of one call of native code."""
STILL, AFTER = 2e-4, 0.15
"""The tip moves once it is so far [m] from its start; so long [s] after it stops, nothing moves any more."""
LANES = 640
"""Pushes that one call takes at most."""
WORLDS = (
    "shape_origin", "shape_size", "shape_orientation", "shape_points", "link_mass", "link_inertia", "contact_stiffness",
    "contact_friction", "contact_friction_speed",
)  # fmt: skip
"""Leaves that have a row for each push and each point of a search."""

NUMBERS = {
    "tip_friction": Number(0.25, 0.05, 0.02, 1.5), "tip_speed": Number(0.02, 0.5, 2e-3, 0.5, log=True),
    "ground_friction": Number(0.3, 0.05, 0.05, 1.0), "spread": Number(0.0, 0.3, -3.0, 3.0),
}  # fmt: skip
"""Free numbers that all objects share, besides those of the tip, which are measured: friction at the tip and its speed
[m/s], friction of the ground, and whether the load is near the rim (above zero) or the middle."""
GROUND_SPEED, STIFFNESS, DAMPING = 0.01, 3e4, 10.0
"""Speed [m/s] within which the ground's friction is smoothed; spring of the tip [N/m], and its damping [s/m]."""
READS = ("contact/velocity", "contact/normal_force", "contact/depth", "contact/point")
NETWORKS = {
    "ground": Wire("contact/sole/friction_force", [r.replace("contact/", "contact/sole/") for r in READS], MLP(4, 1),
                   mode="scale", rows="each", name="friction", fade=False),
    "tip": Wire("contact/tip+*/friction_force", [r.replace("contact/", "contact/tip+*/") for r in READS[:3]], MLP(4, 1),
                mode="scale", rows="each", name="friction", fade=False),
}  # fmt: skip
"""What scales the lateral friction of the points of the sole, or of the tip: from velocity, normal force, depth and, on
the ground, place."""


def sizes(pushes: Pushes) -> tuple[int, int]:
    """How many edges and points the largest object has; of a part of the pushes, as of all."""
    shapes = [shape.outline for shape in pushes.shapes.values()]
    return min(EDGES, max(map(len, shapes))), max(len(sole_points(x)) for x in shapes)


@functools.cache
def template(edges: int, sole: int, network: str | None = None) -> Model:
    """An object with so many edges and points on the ground, and its tip."""
    robot = Builder("push")
    robot.add_link("slider", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    robot.add_joint_planar("table", None, "slider")
    spots = np.stack([np.arange(sole), np.zeros(sole), np.zeros(sole)], axis=1)
    robot.add_shape_points("slider", spots, name="sole")
    for k in range(edges):
        robot.add_shape_capsule("slider", THIN, 0.01, name=f"edge{k}")
    robot.add_link("tip", mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    robot.add_joint_planar("hand", None, "tip", prescribed=True)
    robot.add_shape_sphere("tip", 0.005, name="tip")
    table = Contact(
        "penalty", shapes="sole", exponent=1.0, damping=0.0, friction_speed=GROUND_SPEED
    )
    tip = Pair("tip", "edge*", "penalty", stiffness=STIFFNESS, exponent=1.0, damping=DAMPING)
    model = with_contact(robot.model(), [table], ground=Ground(), pairs=[tip])
    return model if network is None else Blueprint([NETWORKS[network]]).attach(model, key=0)


def place_of_tip(pushes: Pushes, i: int) -> np.ndarray:
    """Where the tip of a push starts in the frame of its object [m]."""
    x, y, angle = pushes.objects[i, 0]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, sin], [-sin, cos]]) @ (pushes.tips[i][0] - np.array([x, y]))


def geometry(shape: Shape, tip: np.ndarray, model: Model) -> dict[str, np.ndarray]:
    """The leaves of a template that an object's outline and mass decide, for a tip that starts at a place of it."""
    rows = np.flatnonzero([name.startswith("edge") for name in model.shape_names])
    start, end = shape.outline, np.roll(shape.outline, -1, axis=0)
    near = np.argsort(np.linalg.norm(0.5 * (start + end) - tip, axis=1))[: len(rows)]
    start, end, own = start[near], end[near], rows[: len(near)]
    half = 0.5 * np.linalg.norm(end - start, axis=1)
    u = 0.5 * (end - start) / half[:, None]
    origin, size, turn = (
        np.array(getattr(model, f"shape_{n}"), dtype=np.float64) for n in ("origin", "size", "orientation")
    )  # fmt: skip
    origin[rows] = np.stack([5.0 + 0.1 * rows, 0.0 * rows, HEIGHT + 0.0 * rows], axis=1)
    origin[own, :2] = 0.5 * (start + end)
    origin[model.shape_names.index("tip")] = 0.0, 0.0, HEIGHT
    size[own, 1] = half
    # a quarter turn that takes z to the edge
    turn[own] = 0.5**0.5 * np.stack([1 + 0 * half, -u[:, 1], u[:, 0], 0 * half], axis=1)
    spots, sole = np.zeros_like(model.shape_points), sole_points(shape.outline)
    spots[: len(sole), :2] = sole
    spots[:, 2] = -DEPTH
    mass, inertia = np.array(model.link_mass), np.array(model.link_inertia)
    mass[0], inertia[0, 2] = shape.mass, shape.inertia
    return {
        "shape_origin": origin, "shape_size": size, "shape_orientation": turn, "shape_points": spots,
        "link_mass": mass, "link_inertia": inertia,
    }  # fmt: skip


def sole_points(outline: np.ndarray) -> np.ndarray:
    """The points of the grid inside the outline [m]; of a very large object, a coarser grid."""
    spacing = GRID
    while len(points := grid_inside(outline, spacing)) > SOLE:
        spacing *= 1.1
    return points


def loads(shape: Shape, spread: np.ndarray) -> np.ndarray:
    """The force [N] on each point under an object, (points of the search, points of the sole)."""
    square = np.sum(np.square(sole_points(shape.outline)), axis=1)
    far = spread[:, None] * (square / np.mean(square) - 1.0)
    share = np.exp(far - far.max(axis=1, keepdims=True))
    return shape.mass * GRAVITY * share / share.sum(axis=1, keepdims=True)


def built(pushes: Pushes, numbers: dict[str, np.ndarray], network: str | None = None) -> Model:
    """The objects of all pushes with all points of a search, their leaves (points · pushes, …)."""
    edges, sole = sizes(pushes)
    model, count, many = template(edges, sole, network), len(numbers["delay"]), len(pushes)
    own = [
        geometry(pushes.shapes[n], place_of_tip(pushes, i), model)
        for i, n in enumerate(pushes.names)
    ]
    leaves = {
        leaf: np.concatenate([np.stack([x[leaf] for x in own])] * count) for leaf in WORLDS[:6]
    }
    spread = lambda x: np.repeat(x, many, axis=0)
    leaves["shape_size"][:, model.shape_names.index("tip"), 0] = spread(numbers["radius"])
    rows = len(model.contact_kinds)
    ground = np.arange(rows) < sole
    pressed = {name: loads(pushes.shapes[name], numbers["spread"]) / DEPTH for name in pushes.kinds}
    stiffness = np.full((count, many, rows), STIFFNESS)
    stiffness[..., :sole] = 0.0
    for i, name in enumerate(pushes.names):
        stiffness[:, i, : pressed[name].shape[1]] = pressed[name]
    friction = np.where(
        ground, numbers["ground_friction"][:, None], numbers["tip_friction"][:, None]
    )
    speed = np.where(ground, GROUND_SPEED, numbers["tip_speed"][:, None])
    made = dataclasses.replace(
        model, contact_stiffness=stiffness.reshape(-1, rows), contact_friction=spread(friction),
        contact_friction_speed=spread(speed), **leaves,
    )  # fmt: skip
    return made if network is None else with_weights(made, numbers, many)


def weights_of(network: str) -> dict[str, float]:
    """The weights that a network starts from, by the names that `built` reads."""
    leaves = jax.tree.leaves(template(4, 4, network).networks[0].net)
    return {f"w{k}": float(x) for k, x in enumerate(np.concatenate([np.ravel(x) for x in leaves]))}


def with_weights(model: Model, numbers: dict[str, np.ndarray], many: int) -> Model:
    """The model with a network for each point of the search, repeated for `many` pushes."""
    wired = model.networks[0]
    leaves, tree = jax.tree.flatten(wired.net)
    ends = np.cumsum([np.size(x) for x in leaves])
    flat = np.repeat(np.stack([numbers[f"w{k}"] for k in range(ends[-1])], axis=1), many, axis=0)
    parts = np.split(flat, ends[:-1], axis=1)
    shaped = [p.reshape(-1, *np.shape(x)) for p, x in zip(parts, leaves, strict=True)]
    worlds = jax.tree.map(lambda x: np.repeat(np.asarray(x)[None], len(flat), axis=0), wired)
    net = dataclasses.replace(worlds, net=jax.tree.unflatten(tree, shaped))
    return dataclasses.replace(model, networks=(net,))


def predict(
    pushes: Pushes, numbers: dict[str, np.ndarray], network: str | None = None
) -> np.ndarray:
    """Poses (points, pushes, ROWS, 3), with an array of each number, one for each point of a search."""
    size = max(1, LANES // len(pushes))
    count = len(numbers["delay"])
    parts = [{name: x[k : k + size] for name, x in numbers.items()} for k in range(0, count, size)]
    return np.concatenate([
        rolled(built(pushes, part, network), pushes, part) for part in parts
    ])  # fmt: skip


def rolled(model: Model, pushes: Pushes, numbers: dict[str, np.ndarray]) -> np.ndarray:
    """Poses (points, pushes, ROWS, 3) of a model whose leaves are (points · pushes, …)."""
    count, many = len(numbers["delay"]), len(pushes)
    begin, steps = np.array(
        [moving(t, x) for t, x in zip(pushes.times, pushes.tips, strict=True)]
    ).T
    tip = _paths(pushes, numbers, begin, steps)
    order = np.argsort(-np.tile(steps, count), kind="stable")
    left = np.tile(steps, count)[order]
    model = taken(model, order)
    start = np.tile(pushes.objects[:, 0], (count, 1))[order]
    q, v = np.concatenate([start, tip[order, 0]], axis=1), np.zeros((count * many, 6))
    made = [start[:, None]]
    for first in range(0, int(steps.max()), SEGMENT):
        going = int(np.sum(left > first))
        model, q, v = taken(model, np.arange(going)), q[:going], v[:going]
        path = tip[order[:going], first : first + SEGMENT + 1]
        speed = np.diff(path, axis=1) / STEP
        control = Control(position=path[:, :-1], velocity=speed, acceleration=0.0 * speed)
        with (
            warnings.catch_warnings()
        ):  # a search tries numbers that are too stiff for its steps, too
            warnings.simplefilter("ignore", StepWarning)
            motion = rollout_many(model, State(q, v), control, STEP)
        moved = np.asarray(motion.q)
        q, v = moved[:, -1], np.asarray(motion.v)[:, -1]
        rest = np.repeat(made[-1][going:, -1:], SEGMENT, axis=1)
        made.append(np.concatenate([moved[:, 1:, :3], rest]))
    whole = np.concatenate(made, axis=1)[np.argsort(order)].reshape(count, many, -1, 3)
    return _at_rows(whole, pushes, begin)


def taken(model: Model, rows: np.ndarray) -> Model:
    """Some of the worlds of a model that `built` made."""
    some = {leaf: getattr(model, leaf)[rows] for leaf in WORLDS}
    networks = jax.tree.map(lambda x: x[rows], model.networks)
    return dataclasses.replace(model, networks=networks, **some)


def single(model: Model) -> Model:
    """The first world of a model that `built` made, as a model of one world."""
    first = {leaf: getattr(model, leaf)[0] for leaf in WORLDS}
    return dataclasses.replace(
        model, networks=jax.tree.map(lambda x: x[0], model.networks), **first
    )


def moving(t: np.ndarray, tip: np.ndarray) -> tuple[float, int]:
    """When [s] the tip begins to move, and after how many steps nothing moves any more."""
    far = np.linalg.norm(tip - tip[0], axis=1) > STILL
    near = np.linalg.norm(tip - tip[-1], axis=1) > STILL
    begin = t[max(int(np.argmax(far)) - 5, 0)] if far.any() else 0.0
    end = min(t[-1], t[len(t) - 1 - int(np.argmax(near[::-1]))] + AFTER) if near.any() else begin
    return float(begin), max(int(np.ceil((end - begin) / STEP)), 1)


def _paths(
    pushes: Pushes, numbers: dict[str, np.ndarray], begin: np.ndarray, steps: np.ndarray
) -> np.ndarray:
    """x, y and angle of the tip, (points · pushes, steps of the longest push + 1, 3)."""
    count = len(numbers["delay"])
    longest = SEGMENT * int(np.ceil(steps.max() / SEGMENT))
    made = np.zeros((count, len(pushes), longest + 1, 3))
    since = STEP * np.arange(longest + 1)
    for i, (t, tip) in enumerate(zip(pushes.times, pushes.tips, strict=True)):
        at = begin[i] + since[None] + numbers["delay"][:, None]
        for k, name in enumerate(("offset_x", "offset_y")):
            made[:, i, :, k] = np.interp(at, t, tip[:, k]) + numbers[name][:, None]
    made[..., :2] += clearance(pushes, made[:, :, 0, :2], numbers["radius"])[:, :, None]
    return made.reshape(-1, longest + 1, 3)


def _at_rows(poses: np.ndarray, pushes: Pushes, begin: np.ndarray) -> np.ndarray:
    """The poses at the rows that are compared."""
    last = poses.shape[2] - 1
    made = np.empty((*poses.shape[:2], ROWS, 3))
    for i, t in enumerate(pushes.times):
        step = np.round((np.linspace(0.0, t[-1], ROWS) - begin[i]) / STEP).astype(int)
        made[:, i] = poses[:, i, np.clip(step, 0, last)]
    return made
