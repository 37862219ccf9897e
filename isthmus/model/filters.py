"""Which shapes of a model may touch each other: by names, neighbours, and what its file says."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from isthmus.errors import BadModel, UnknownName, did_you_mean
from isthmus.model import address
from isthmus.model.topology import Topology

Names = tuple[str, str]
Rows = tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True)
class Filters:
    """What a file says of shapes that touch."""

    masks: Rows = ()
    """For each shape the bits of what it is, and of what it touches (contype, conaffinity); empty: all touch."""
    excluded: Rows = ()
    """Pairs of links that do not touch."""
    named: Rows = ()
    """Pairs of shapes that touch whatever the others say."""

    def meet(self, a: int, b: int) -> bool:
        """Whether two shapes are named together, or their masks let them touch."""
        if self.names(a, b) or not self.masks:
            return True
        (is_a, meets_a), (is_b, meets_b) = self.masks[a], self.masks[b]
        return bool(is_a & meets_b) or bool(is_b & meets_a)

    def names(self, a: int, b: int) -> bool:
        """Whether two shapes are named together."""
        return (a, b) in self.named or (b, a) in self.named


def pairs_of(model: Topology, first: str, second: str, filters: Filters) -> tuple[Names, ...]:
    """Names of the pairs of shapes that two patterns pick, of shapes or of their links, each pair once.

    Two names, each of one shape and no pattern, are taken at their word. Where patterns pick, pairs are left out that
    cannot move against each other, that are neighbours in the tree, or that masks of shapes and excluded pairs of links
    keep apart; pairs that the file names stay.
    """
    solid = [s for s, kind in enumerate(model.shape_kinds) if kind != "plane"]
    names = model.shape_names
    picked = [shapes_called(model, pattern, solid) for pattern in (first, second)]
    bodies = welded(model)
    is_one = lambda pattern, shapes: len(shapes) == 1 and address.picks_one(pattern, names)
    both = is_one(first, picked[0]) and is_one(second, picked[1])
    if both:
        _refuse_impossible(model, *picked[0], *picked[1], bodies)
    found: dict[frozenset[int], Names] = {}
    for s in picked[0]:
        for o in picked[1]:
            if s != o and (both or _may_touch(model, bodies, s, o, filters)):
                found.setdefault(frozenset((s, o)), (names[s], names[o]))
    return tuple(found.values())


def shapes_called(
    model: Topology, pattern: str, solid: Sequence[int], also: Sequence[str] = ()
) -> list[int]:
    """Those of the `solid` shapes that a pattern names, by their own names or by those of their links.

    `also`: what else could have been meant by a name that is not there.
    """
    links = {s: model.link_names[model.shape_links[s]] for s in solid if model.shape_links[s] >= 0}
    for names in ({s: model.shape_names[s] for s in solid}, links):
        if found := address.matching(pattern, [*names.values()]):
            return [s for s, name in names.items() if name in found]
    if pattern != "*":
        if bare := address.matching(pattern, model.link_names):
            raise UnknownName(
                f"link {bare[0]!r} has no shape that could touch anything: it has none at all, its mesh was not found, "
                "or its file keeps it apart."
            )
        planes = [
            n for n, k in zip(model.shape_names, model.shape_kinds, strict=True) if k == "plane"
        ]
        if ground := address.matching(pattern, planes):
            raise BadModel(
                f"{ground[0]!r} is a plane: shapes touch it by `contact` (--contact), not by naming it."
            )
        known = dict.fromkeys((*(model.shape_names[s] for s in solid), *links.values(), *also))
        raise UnknownName(f"no shape or link is called {pattern!r}.{did_you_mean(pattern, known)}")
    return []


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


def _refuse_impossible(model: Topology, a: int, b: int, bodies: tuple[int, ...]) -> None:
    first, second = model.shape_names[a], model.shape_names[b]
    if first == second:
        raise BadModel(f"the pair {first!r} and {second!r} is one shape: a pair needs two.")
    if model.shape_links[a] == model.shape_links[b]:
        link = model.shape_links[a]
        on = "the world" if link < 0 else f"the link {model.link_names[link]!r}"
        raise BadModel(f"the shapes {first!r} and {second!r} are both on {on}: they cannot touch.")
    if body_of(model, bodies, a) == body_of(model, bodies, b):
        raise BadModel(
            f"the shapes {first!r} and {second!r} are on links that are welded together: they cannot touch."
        )


def _may_touch(model: Topology, bodies: tuple[int, ...], a: int, b: int, filters: Filters) -> bool:
    one, two = body_of(model, bodies, a), body_of(model, bodies, b)
    if one == two or filters.names(a, b):
        return one != two
    if _neighbours(model, bodies, a, b):
        return False
    links = {model.shape_links[a], model.shape_links[b]}
    return not any(links == {*pair} for pair in filters.excluded) and filters.meet(a, b)


def _neighbours(model: Topology, bodies: tuple[int, ...], a: int, b: int) -> bool:
    """Whether the body of one shape hangs by a joint on that of the other.

    Of what is welded to the world, as the base of an arm is, that is the link next to the joint; all else that stands
    in the world, such as a table, may be touched by what hangs there too.
    """
    shaped = {*model.shape_links}

    def hangs_on(link: int, other: int) -> bool:
        joint = bodies[link] if link >= 0 else -1
        if joint < 0 or other < 0:
            return False
        near = model.parents[joint]
        if bodies[other] >= 0:
            return near >= 0 and bodies[near] == bodies[other]
        while near >= 0 and near not in shaped:
            near = model.parents[near]
        return near == other and model.joint_kinds[joint] != "free"

    one, two = model.shape_links[a], model.shape_links[b]
    return hangs_on(one, two) or hangs_on(two, one)
