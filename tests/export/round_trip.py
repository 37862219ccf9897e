"""How tests compare a model with what a file of it loads to."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import isthmus as ist
from isthmus.errors import DescriptionWarning, ExportWarning
from isthmus.model.model import leaf_fields
from isthmus.spatial.rotations import matrix

ORIENTATIONS = ("joint_orientation", "point_orientation", "shape_orientation")
FAMILIES = ("point", "shape", "vertex")
"""Rows that a file has in the order of its links."""


def loaded(path: Path) -> ist.Model:
    """The model in a file that was written on purpose: doubts about massless links are no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        return ist.load(path)


def exported(export, model: ist.Model, path: Path) -> tuple[ist.Model, str]:
    """What comes back, and the warning about what was lost, if there is one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ExportWarning)
        export(model, path)
    words = [str(w.message) for w in caught if issubclass(w.category, ExportWarning)]
    assert len(words) <= 1
    return loaded(path), "".join(words)


def differences(model: ist.Model, back: ist.Model, tolerance: float = 1e-12) -> set[str]:
    """The leaves that differ, among those that change a motion; rows are compared by their names."""
    found = set()
    for field, spec in leaf_fields():
        a, b = getattr(model, field), getattr(back, field)
        if spec.rows in FAMILIES:
            a, b = (_by_name(m, spec, x) for m, x in ((model, a), (back, b)))
        if a.shape != b.shape or not np.allclose(
            _meaning(model, field, a), _meaning(model, field, b), rtol=tolerance, atol=tolerance
        ):
            found.add(spec.name)
    return found


def _by_name(model: ist.Model, spec, leaf) -> np.ndarray:
    rows = model.rows(spec.rows)
    return leaf[[r for name in sorted(rows) for r in rows[name]]]


def _meaning(model: ist.Model, field: str, leaf: np.ndarray) -> np.ndarray:
    """Rotations instead of quaternions, unit axes where an axis matters, springs and stops where there are any."""
    if field in ORIENTATIONS:
        return np.array([matrix(np.asarray(row)) for row in leaf]).reshape(-1, 9)
    if field == "joint_axis":
        axial = np.array([model.kind(i).axial for i in range(len(model.link_names))])
        axes = leaf[axial] if len(leaf) == len(axial) else leaf
        return axes / np.linalg.norm(axes, axis=1, keepdims=True)
    if field == "joint_rest_position" and not model.joint_stiffness.any():
        return np.zeros(0)
    if field.startswith("joint_limit_"):
        return leaf[list(model.limited)]
    return leaf
