"""Which shapes of a model may touch each other: by names, neighbours, and the masks and exclusions of its file."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.errors import BadModel, UnknownName, did_you_mean
from isthmus.model import address
from isthmus.model.topology import Topology

Names = tuple[str, str]


Masks = Sequence[tuple[int, int]]
"""For each shape the bits of what it is, and of what it touches (contype, conaffinity); empty: all touch."""


def pairs_of(
    model: Topology, first: str, second: str, masks: Masks, excluded: Sequence[tuple[int, int]]
) -> tuple[Names, ...]:
    """Names of the pairs of shapes that two patterns pick, each pair once.

    A name that is no pattern is taken at its word. Where patterns pick, pairs are left out that cannot move against
    each other, that are neighbours in the tree, or that masks of shapes and excluded pairs of links keep apart.
    """
    solid = [s for s, kind in enumerate(model.shape_kinds) if kind != "plane"]
    names = [model.shape_names[s] for s in solid]
    picked = [_picked(pattern, names) for pattern in (first, second)]
    bodies = welded(model)
    both = address.picks_one(first, names) and address.picks_one(second, names)
    if both:
        _refuse_impossible(model, first, second, bodies)
    found: dict[frozenset[str], Names] = {}
    for a in picked[0]:
        for b in picked[1]:
            s, o = (model.shape_names.index(name) for name in (a, b))
            if a != b and (both or _may_touch(model, bodies, s, o, masks, excluded)):
                found.setdefault(frozenset((a, b)), (a, b))
    return tuple(found.values())


def welded(model: Topology) -> tuple[int, ...]:
    """For each link, the first link of the rigid body that it is part of; -1: it is fixed to the world."""
    body: list[int] = []
    for i, (parent, kind) in enumerate(zip(model.parents, model.joint_kinds, strict=True)):
        body.append(i if kind != "fixed" else body[parent] if parent >= 0 else -1)
    return tuple(body)


def body_of(model: Topology, bodies: Sequence[int], shape: int) -> int:
    """The rigid body of a shape; -1: the world."""
    link = model.shape_links[shape]
    return bodies[link] if link >= 0 else -1


def _picked(pattern: str, names: list[str]) -> list[str]:
    found = address.matching(pattern, names)
    if not found:
        raise UnknownName(f"no shape is called {pattern!r}.{did_you_mean(pattern, names)}")
    return found


def _refuse_impossible(model: Topology, first: str, second: str, bodies: tuple[int, ...]) -> None:
    if first == second:
        raise BadModel(f"the pair {first!r} and {second!r} is one shape: a pair needs two.")
    a, b = (model.shape_names.index(name) for name in (first, second))
    if model.shape_links[a] == model.shape_links[b]:
        link = model.shape_links[a]
        on = "the world" if link < 0 else f"the link {model.link_names[link]!r}"
        raise BadModel(f"the shapes {first!r} and {second!r} are both on {on}: they cannot touch.")
    if body_of(model, bodies, a) == body_of(model, bodies, b):
        raise BadModel(
            f"the shapes {first!r} and {second!r} are on links that are welded together: they cannot touch."
        )


def _may_touch(
    model: Topology, bodies: tuple[int, ...], a: int, b: int, masks: Masks, excluded: Sequence
) -> bool:
    one, two = body_of(model, bodies, a), body_of(model, bodies, b)
    if one == two or _neighbours(model, bodies, one, two):
        return False
    links = {model.shape_links[a], model.shape_links[b]}
    return not any(links == {*pair} for pair in excluded) and masks_meet(masks, a, b)


def masks_meet(masks: Masks, a: int, b: int) -> bool:
    """Whether the masks of two shapes let them touch."""
    if not masks:
        return True
    (is_a, meets_a), (is_b, meets_b) = masks[a], masks[b]
    return bool(is_a & meets_b) or bool(is_b & meets_a)


def _neighbours(model: Topology, bodies: tuple[int, ...], one: int, two: int) -> bool:
    """Whether one body hangs on the other by a joint; what hangs on the world may touch it."""

    def above(body: int) -> int:
        parent = model.parents[body] if body >= 0 else -1
        return bodies[parent] if parent >= 0 else -1

    return (one >= 0 and one == above(two)) or (two >= 0 and two == above(one))
