"""Masses and inertias that no real body has: named in warnings, corrected on request.

A body made of matter has a positive semi-definite second moment `Σ = ½ tr(I) 1 − I` (Wensing et al.
2018). Its eigenvalues are not negative exactly when those of `I` obey the triangle inequality.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from isthmus.describe.description import Description, Link
from isthmus.describe.notes import quoted
from isthmus.describe.numbers import is_zero, known
from isthmus.describe.poses import numbers_of
from isthmus.describe.tree import outwards
from isthmus.describe.values import TRIANGLE
from isthmus.spatial.inertia import inertia_of_second, second_moment, symmetric

DONE = {
    "none": "they were loaded as they are (repair='nearest' takes the nearest possible ones)",
    "nearest": "where there is mass, the nearest possible ones were taken",
}
SHARE = 1e-6
"""Least eigenvalue of a mended `Σ`, as a share of the largest."""
GYRATION = 1e-4
"""Radius of gyration of a mended body whose file says that it has no inertia at all [m]."""


def doubts(description: Description, repair: str, frames: tuple[str, ...] = ()) -> Iterator[str]:
    """One sentence for each kind of doubt; `frames` are links without mass that became points."""
    links = description.links
    still = _welded_to_world(description)
    massless = [link.name for link in links if is_zero(link.mass) and link.name not in still]
    if massless or frames:
        yield " ".join(filter(None, (_of_massless(massless), _of_frames(frames))))
    yield from of_adrift(description)
    done = DONE[repair]
    if names := [link.name for link in links if is_not_definite(link)]:
        yield f"inertias that are not positive definite, of links {quoted(names)}: {done}."
    if names := [link.name for link in links if breaks_triangle(link)]:
        yield f"inertias that violate the triangle inequality, of links {quoted(names)}: {done}."


def of_adrift(description: Description) -> Iterator[str]:
    """A sentence where the acceleration of a link is not determined."""
    if names := _adrift(description):
        yield (
            f"links {quoted(names)} move freely but have no mass of their own, nor welded to them: their "
            f"acceleration is not determined (nan)."
        )


def _welded_to_world(description: Description) -> set[str]:
    """Links that never move, so that their mass has no effect."""
    still: set[str] = set()
    for joint in outwards(description.joints):
        if joint.kind == "fixed" and (joint.parent is None or joint.parent in still):
            still.add(joint.child)
    return still


def _adrift(description: Description) -> list[str]:
    """Links on free joints without mass of their own or welded to them: hinges pass on no resistance."""
    heavy = {link.name for link in description.links if not is_zero(link.mass)}
    order = outwards(description.joints)
    for joint in reversed(order):
        if joint.kind == "fixed" and joint.child in heavy and joint.parent is not None:
            heavy.add(joint.parent)
    return [
        j.child for j in order if j.kind == "free" and not j.prescribed
        and is_zero(j.armature) and j.child not in heavy
    ]  # fmt: skip


def _of_massless(names: list[str]) -> str:
    return f"no mass is given for links {quoted(names)}: they stay massless." if names else ""


def _of_frames(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    return f"welded links without mass and shape, {quoted(names)}, became named points."


def is_not_definite(link: Link) -> bool:
    """Whether a principal inertia is zero or negative; massless links do not count."""
    principal = _principal(link)
    return principal is not None and bool(principal[0] <= 0.0)


def breaks_triangle(link: Link) -> bool:
    """Whether a principal inertia exceeds the sum of the two others, all being positive."""
    principal = _principal(link)
    if principal is None or principal[0] <= 0.0:
        return False
    return bool(principal[2] > (principal[0] + principal[1]) * (1.0 + TRIANGLE))


def _principal(link: Link) -> np.ndarray | None:
    """The principal inertias, least first; None where they are traced or all is zero."""
    inertia = known(link.inertia)
    if inertia is None or not np.isfinite(inertia).all():
        return None
    if is_zero(link.mass) and not inertia.any():
        return None
    return np.linalg.eigvalsh(symmetric(inertia))


def mended(description: Description) -> Description:
    """Impossible inertias replaced by the nearest possible ones; mass and centre of mass stay."""
    links = tuple(mended_link(link) for link in description.links)
    return dataclasses.replace(description, links=links)


def mended_link(link: Link) -> Link:
    """The nearest link with a physically possible inertia; massless links stay as they are."""
    mass = known(link.mass)
    if mass is None or mass[0] <= 0 or not (is_not_definite(link) or breaks_triangle(link)):
        return link
    return dataclasses.replace(link, inertia=nearest_inertia(known(link.inertia), float(mass[0])))


def nearest_inertia(inertia: object, mass: float) -> tuple[float, ...]:
    """The possible inertia whose second moment `Σ` is nearest, in the Frobenius norm."""
    values, axes = np.linalg.eigh(second_moment(symmetric(np.asarray(inertia, float))))
    least = SHARE * float(abs(values).max()) or mass * GYRATION**2
    return numbers_of(inertia_of_second((axes * np.maximum(values, least)) @ axes.T))
