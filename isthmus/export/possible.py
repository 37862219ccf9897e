"""Inertias that a body can have: impossible ones are refused by name, or repaired on request."""

from __future__ import annotations

import dataclasses

import numpy as np

from isthmus.describe.description import Description, Link
from isthmus.describe.inertias import nearest_inertia
from isthmus.describe.notes import quoted
from isthmus.describe.options import must_be_one_of
from isthmus.describe.poses import numbers_of
from isthmus.errors import BadModel
from isthmus.spatial.inertia import inertia_of_second, second_moment, symmetric

ROUNDING = 1e-9
"""How far below zero the least second moment may be, as a share of the largest."""
REPAIRS = ("none", "nearest")


def with_possible_inertias(description: Description, repair: str) -> Description:
    """The description, whose links could all be made of matter; points and thin rods are at the edge of that.

    Raises:
        BadModel: they could not, and `repair` is `none`.
    """
    must_be_one_of("repair", repair, REPAIRS)
    bad = {link.name for link in description.links if is_impossible(link)}
    if bad and repair == "none":
        names = quoted(sorted(bad))
        raise BadModel(
            f"no body can have the inertia of links {names} (a principal moment is negative, or larger than the "
            "sum of the others). Write the nearest possible ones with repair='nearest'."
        )
    links = tuple(_repaired(link) if link.name in bad else link for link in description.links)
    return dataclasses.replace(description, links=links)


def _second_moment(link: Link) -> np.ndarray:
    """About the centre of mass [kg·m²]."""
    return np.asarray(second_moment(symmetric(np.asarray(link.inertia, float))))


def is_impossible(link: Link) -> bool:
    """Whether a second moment is negative beyond rounding."""
    values = np.linalg.eigvalsh(_second_moment(link))
    return bool(values[0] < -ROUNDING * abs(values).max())


def raised(link: Link, least: float) -> Link:
    """The link with second moments of at least `least` [kg·m²]; untouched where they are."""
    values, axes = np.linalg.eigh(_second_moment(link))
    least = least + 4.0 * np.finfo(float).eps * abs(values).max()
    if values[0] >= least:
        return link
    moment = (axes * np.maximum(values, least)) @ axes.T
    return dataclasses.replace(link, inertia=numbers_of(inertia_of_second(moment)))


def _repaired(link: Link) -> Link:
    mass = float(np.asarray(link.mass))
    return dataclasses.replace(link, inertia=nearest_inertia(link.inertia, mass))
