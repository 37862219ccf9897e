"""Mesh files to convex points, and finding them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from isthmus.describe import meshes
from isthmus.describe.files import find_file
from isthmus.describe.meshes import hull, hull_of_file
from isthmus.describe.urdf import parse_urdf, read_urdf
from isthmus.errors import BadFile, DescriptionWarning, MissingExtra

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 4.0)])
CUBE = [CORNERS[[i, j, k]] for i in range(8) for j in range(i) for k in range(j)]
"""More triangles than a box needs; their corners are the box's."""


def binary_stl(triangles: list[np.ndarray], header: bytes = b"made by hand") -> bytes:
    rows = [struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in triangles]
    return header.ljust(80, b" ") + struct.pack("<I", len(rows)) + b"".join(rows)


def ascii_stl(triangles: list[np.ndarray]) -> bytes:
    corner = lambda row: f"      vertex {row[0]:e} {row[1]} {row[2]}\n"
    facet = lambda t: "  facet normal 0 0 0\n    outer loop\n" + "".join(map(corner, t))
    ends = "    endloop\n  endfacet\n"
    return ("solid box\n" + "".join(facet(t) + ends for t in triangles) + "endsolid box\n").encode()


def obj(triangles: list[np.ndarray]) -> bytes:
    rows = [f"v {x} {y} {z} 0.5 0.5 0.5" for x, y, z in np.concatenate(triangles)]
    return "\n".join(["# box", "vn 9 9 9", "vt 9 9", *rows, "f 1 2 3"]).encode()


FILES = {
    "binary.stl": binary_stl(CUBE),
    "solid.STL": binary_stl(CUBE, b"solid but binary"),
    "text.stl": ascii_stl(CUBE),
    "box.obj": obj(CUBE),
}


def robot(file: str, scale: str = "1 1 1") -> str:
    mesh = f"<collision><geometry><mesh filename='{file}' scale='{scale}'/></geometry></collision>"
    inertia = "<inertia ixx='1' iyy='1' izz='1'/>"
    inertial = f"<inertial><mass value='1'/>{inertia}</inertial>"
    return f"<robot name='r'><link name='a'>{inertial}{mesh}</link></robot>"


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_corners_of_the_box(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(FILES[name])
    found = hull_of_file(tmp_path / name)
    np.testing.assert_array_equal(found[np.lexsort(found.T[::-1])], CORNERS)


@given(st.integers(0, 2**32 - 1), st.integers(5, 60))
def test_all_points_lie_inside_the_hull_of_few(seed: int, count: int):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    inwards = points + 1e-6 * (points.mean(axis=0) - points)
    assert (Delaunay(hull(points)).find_simplex(inwards) >= 0).all()


def test_flat_and_straight_meshes_have_a_hull_too():
    rng = np.random.default_rng(0)
    flat = rng.uniform(-1, 1, (50, 2)) @ rng.normal(size=(2, 3)) + 5.0
    assert 3 <= len(hull(flat)) < 50
    line = rng.uniform(-1, 1, (50, 1)) * np.array([1.0, 2.0, 3.0])
    assert len(hull(line)) == 2
    assert len(hull(np.ones((50, 3)))) == 1


def test_scale_stretches_and_mirrors_the_points(tmp_path: Path):
    (tmp_path / "box.obj").write_bytes(FILES["box.obj"])
    (shape,) = parse_urdf(robot("box.obj", "2 -1 0.5"), folder=tmp_path).shapes
    assert shape.kind == "points"
    np.testing.assert_array_equal(np.max(shape.points, axis=0), [2.0, 0.0, 2.0])
    np.testing.assert_array_equal(np.min(shape.points, axis=0), [0.0, -2.0, 0.0])


def test_a_missing_mesh_is_a_warning_that_names_it():
    with pytest.warns(DescriptionWarning, match=r"not found.*'package://p/no\.stl' of link 'a'"):
        assert parse_urdf(robot("package://p/no.stl")).shapes == ()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.stl", b"", "no STL file, or cut off"),
        ("a.stl", binary_stl(CUBE)[:-7], "no STL file, or cut off"),
        ("a.stl", b"solid x\nvertex 1 2 three\n", "not three numbers"),
        ("a.stl", b"solid x\nendsolid", "has no vertices"),
        ("a.obj", b"v 1 2 nan\n", "nan or infinite"),
        ("a.obj", b"hello", "has no vertices"),
        ("a.ply", b"hello", "cannot be read"),
    ],
)
def test_broken_meshes_are_refused_and_warned_of(tmp_path, name, content, words):
    if name == "a.ply":
        pytest.importorskip("trimesh")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadFile, match=words):
        hull_of_file(tmp_path / name)
    with pytest.warns(DescriptionWarning, match=f"could not be read.*{words}.*link 'a'"):
        assert parse_urdf(robot(name), folder=tmp_path).shapes == ()


def test_formats_that_need_an_extra_say_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_module(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(meshes, "import_module", no_module)
    (tmp_path / "a.dae").write_bytes(b"")
    with pytest.raises(MissingExtra, match=r"isthmus\[mesh\]"):
        hull_of_file(tmp_path / "a.dae")
    with pytest.warns(DescriptionWarning, match=r"isthmus\[mesh\].*'a\.dae' of link 'a'"):
        assert parse_urdf(robot("a.dae"), folder=tmp_path).shapes == ()


def test_other_formats_are_read_by_trimesh(tmp_path: Path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((2.0, 4.0, 6.0)).export(tmp_path / "box.ply")
    assert abs(hull_of_file(tmp_path / "box.ply")).max(axis=0).tolist() == [1.0, 2.0, 3.0]


def test_packages_are_found_above_beside_and_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    mesh = tmp_path / "ws" / "arm" / "meshes" / "a.stl"
    urdf = tmp_path / "ws" / "arm" / "urdf"
    shared = tmp_path / "install" / "share" / "hand" / "b.stl"
    for file in (mesh, urdf / "x", shared):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    inside = lambda name, **options: find_file(name, urdf, **options)
    assert inside("package://arm/meshes/a.stl") == mesh
    assert inside("../meshes/a.stl").samefile(mesh)
    assert inside(f"file://{mesh}") == mesh
    assert inside(str(mesh)) == mesh
    assert inside("package://renamed/meshes/a.stl") == mesh
    assert find_file("package://arm/meshes/a.stl", tmp_path / "ws" / "other") == mesh
    away = tmp_path / "install"
    assert find_file("package://arm/meshes/a.stl", away) is None
    assert find_file("package://arm/meshes/a.stl", away, [tmp_path / "ws"]) == mesh
    assert find_file("package://arm/meshes/a.stl", away, [tmp_path / "ws" / "arm"]) == mesh
    assert inside("package://hand/b.stl") is None
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "install"))
    assert inside("package://hand/b.stl") == shared
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ws"))
    assert find_file("package://arm/meshes/a.stl", away) == mesh
    assert inside("a\0b") is None


def test_meshes_are_found_from_the_files_folder(tmp_path: Path):
    (tmp_path / "box.obj").write_bytes(FILES["box.obj"])
    (tmp_path / "r.urdf").write_text(robot("box.obj"))
    assert len(read_urdf(tmp_path / "r.urdf").shapes[0].points) == 8
