"""Surfaces: closed, turned outwards, and as small as asked for."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus.describe.meshes import Triangles, triangles_of_file
from isthmus.scene import triangles
from tests.scene.robots import write_obj, write_stl

TETRAHEDRON = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]])


def volume(mesh: Triangles) -> float:
    """Of a closed surface that is turned outwards."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


@pytest.mark.parametrize(
    ("mesh", "expected", "within"),
    [
        (triangles.box(np.array([1.0, 2.0, 3.0])), 48.0, 1e-12),
        (triangles.cylinder(0.5, 1.0), np.pi / 2, 0.02),
        (triangles.capsule(0.5, 0.0), np.pi / 6, 0.05),
        (triangles.capsule(0.5, 1.0), np.pi / 2 + np.pi / 6, 0.05),
        (triangles.hull(TETRAHEDRON), 1 / 6, 1e-12),
        (triangles.rod(np.ones(3), np.array([1.0, 1.0, 4.0]), 0.1), 3 * np.pi * 0.01, 0.12),
    ],
)
def test_a_surface_encloses_the_volume_of_its_shape(mesh, expected, within):
    assert volume(mesh) == pytest.approx(expected, rel=within)
    edges = np.concatenate([mesh.faces[:, [i, (i + 1) % 3]] for i in range(3)])
    assert {tuple(e) for e in edges} == {tuple(e[::-1]) for e in edges}  # closed


def test_a_reduced_mesh_has_at_most_the_stated_size_and_keeps_its_extent():
    fine = triangles.turned_outline(np.array([0.0, 1, 1, 0]), np.array([0.0, 0, 3, 3]), around=4000)
    coarse = triangles.reduced(fine, 300)
    assert 50 < len(coarse.faces) <= 300
    np.testing.assert_allclose(np.ptp(coarse.vertices, axis=0), [2, 2, 3], rtol=0.25)
    assert triangles.reduced(coarse, 300) is coarse


def test_mesh_files_give_the_surface_that_was_written(tmp_path):
    mesh = triangles.box(np.array([1.0, 2.0, 3.0]))
    write_stl(mesh, tmp_path / "a.stl")
    write_obj(mesh, tmp_path / "a.obj")
    for name in ("a.stl", "a.obj"):
        found = triangles_of_file(tmp_path / name)
        assert volume(found) == pytest.approx(48.0)
        assert len(found.faces) == len(mesh.faces)


def test_flat_points_are_seen_from_both_sides():
    mesh = triangles.hull(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]))
    assert len(mesh.faces) == 4
    assert volume(mesh) == pytest.approx(0.0)
