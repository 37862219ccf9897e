"""Model to URDF and back: the same numbers; what URDF has not is said; other programs read it."""

from __future__ import annotations

import dataclasses
import tempfile
import warnings
from pathlib import Path

import jax
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings

import isthmus as ist
from isthmus.describe.description import EXTRAS, Frame, Mimic, Shape
from isthmus.describe.poses import quaternion_of_rpy, rpy_of_quaternion
from isthmus.dynamics import mass_matrix
from isthmus.errors import BadFile, BadModel, BadOption, DescriptionWarning, NotExpressible
from isthmus.export.urdf import to_urdf
from isthmus.spatial.rotations import matrix
from tests import trees
from tests.export.round_trip import differences, exported, loaded

LIBRARY = {
    "pendulum": ist.library.pendulum,
    "cart_pole": lambda: ist.library.cart_pole(damping=0.1),
    "arm": lambda: ist.library.arm(payload=0.5, friction=0.3),
    "empty arm": ist.library.arm,
    "quadruped": lambda: ist.library.quadruped(ground=False),
    "swimmer": lambda: ist.library.swimmer(3, armature=0.0, limits=True),
    "cube": lambda: ist.library.cube(ground=False),
}
KINDS = tuple(kind for kind in trees.KINDS if kind != "spherical")


@pytest.mark.parametrize("name", LIBRARY)
def test_a_model_of_the_library_comes_back_whole_and_without_a_word(name: str, tmp_path: Path):
    model = LIBRARY[name]()
    back, lost = exported(ist.export_urdf, model, tmp_path / "robot.urdf")
    assert not lost
    assert (model.name, model.link_names, model.joint_names) == (
        back.name, back.link_names, back.joint_names,
    )  # fmt: skip
    assert (model.joint_kinds, model.limited, model.saturated) == (
        back.joint_kinds, back.limited, back.saturated,
    )  # fmt: skip
    assert (model.point_names, model.shape_names) == (back.point_names, back.shape_names)
    assert differences(model, back) == set()


@settings(max_examples=25)
@given(trees.random_trees)
def test_any_tree_comes_back_and_what_does_not_is_told(tree):
    model = ist.compile_model(trees.random_tree(**tree, kinds=KINDS))
    with tempfile.TemporaryDirectory() as folder:
        back, lost = exported(ist.export_urdf, model, Path(folder) / "tree.urdf")
    differ = differences(model, back)
    assert (model.link_names, model.joint_names) == (back.link_names, back.joint_names)
    assert differ == {"gravity"}
    assert "gravity" in lost
    assert ("armature (only isthmus reads it in a URDF)" in lost) == model.joint_armature.any()


def test_everything_that_urdf_has_not_is_told_in_one_sentence(tmp_path: Path):
    description = trees.menagerie()
    keep = tuple(j for j in description.joints if j.kind != "spherical")
    plane = Shape("floor", "plane", None)
    hull = Shape(
        "hull", "points", "cart", points=((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    )
    description = dataclasses.replace(
        description, joints=keep, links=tuple(k for k in description.links if k.name != "ball"),
        shapes=(plane, hull), gravity=(0.0, 0.0, -1.6),
    )  # fmt: skip
    model = ist.compile_model(description).set("joint/elbow/limit_width", 0.5)
    model = model.set("joint/elbow/gear", 3.0).set("joint/table/damping", (0.1, 0.2, 0.3))
    back, lost = exported(ist.export_urdf, model, tmp_path / "robot.urdf")
    for words in (
        "gravity", "stiffness (only isthmus reads it in a URDF) of joint 'rail', 'elbow'",
        "prescribed, of joint 'drive'", "ends of travel of joint 'table'", "motor of joint 'elbow'",
        "shape of kind 'plane' (load it with ground=) 'floor'",
        "shape of kind 'points' 'hull'", "differences of damping (the mean was written) within joint 'table'",
    ):  # fmt: skip
        assert words in lost
    assert back.get("joint/table/damping") == pytest.approx([0.2, 0.2, 0.2])
    assert back.mimics == model.mimics
    assert differences(model, back) == {
        "gravity", "joint/gear", "joint/damping", "joint/lower", "joint/upper",
        "shape/origin", "shape/orientation", "shape/size", "shape/points",
    }  # fmt: skip
    assert back.get("joint/elbow/limit_width") == 0.5


def test_ends_of_travel_may_be_one_sided_or_missing(tmp_path: Path):
    make = ist.Builder()
    for i, ends in enumerate(({}, {"lower": -1.0}, {"upper": 2.0, "effort": 7.0}, {"effort": 3.0})):
        for kind in ("revolute", "prismatic"):
            name = f"{kind}{i}"
            make.add_link(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
            getattr(make, f"add_joint_{kind}")(name, None, name, **ends)
    model = make.model()
    back, lost = exported(ist.export_urdf, model, tmp_path / "robot.urdf")
    assert not lost
    assert differences(model, back) == set()
    assert (back.limited, back.saturated) == (model.limited, model.saturated)


def test_a_loaded_urdf_is_written_without_a_world_and_comes_back(tmp_path: Path):
    first, second = tmp_path / "a.urdf", tmp_path / "b.urdf"
    first.write_text(
        '<robot name="r"><link name="base"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>'
    )
    model = ist.load(first)
    ist.export_urdf(model, second)
    assert "world" not in second.read_text()
    assert ist.load(second, base="free").joint_kinds == ("free",)
    assert differences(model, ist.load(second)) == set()


def test_a_free_base_comes_back_free_whatever_base_is_asked_for(tmp_path: Path):
    path = tmp_path / "cube.urdf"
    ist.export_urdf(ist.library.cube(ground=False), path)
    assert loaded(path).joint_kinds == ("free",)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        assert ist.load(path, base="free").joint_kinds == ("free",)


def test_names_of_any_kind_survive_and_the_text_is_always_the_same(tmp_path: Path):
    make = ist.Builder('a<b & "c"')
    make.add_link("l'été <&>", mass=1.0, inertia=(1.0, 1.0, 1.0))
    make.add_joint_revolute('"j"\n2', None, "l'été <&>").add_point("µ>p", "l'été <&>")
    model = make.model()
    back, _ = exported(ist.export_urdf, model, tmp_path / "robot.urdf")
    assert (back.name, back.link_names, back.joint_names, back.point_names) == (
        model.name, model.link_names, model.joint_names, model.point_names,
    )  # fmt: skip
    assert to_urdf(model)[0] == to_urdf(back)[0]


def test_a_mimicking_joint_comes_back_in_pinocchio_too(tmp_path: Path):
    description = trees.pendulum(2)
    model = ist.compile_model(
        trees.with_joint(description, "hinge2", mimic=Mimic("hinge1", -0.5, 0.2))
    )
    path = tmp_path / "robot.urdf"
    back, lost = exported(ist.export_urdf, model, path)
    assert not lost
    assert (back.mimics, differences(model, back)) == (((1, 0),), set())


@pytest.mark.parametrize("name", ["arm", "cart_pole"])
def test_pinocchio_has_the_same_inertia_matrix(name: str, tmp_path: Path):
    model, path = LIBRARY[name](), tmp_path / "robot.urdf"
    ist.export_urdf(model, path)
    theirs = pin.buildModelFromUrdf(str(path))
    q = np.linspace(-1.0, 1.0, model.dof)
    H = pin.crba(theirs, theirs.createData(), _as_pinocchio(theirs, model, q))
    H = np.triu(H) + np.triu(H, 1).T
    np.testing.assert_allclose(jax.jit(mass_matrix)(model, q), H, rtol=1e-12, atol=1e-12)


def _as_pinocchio(theirs, model: ist.Model, q: np.ndarray) -> np.ndarray:
    """Pinocchio has a cosine and a sine for a joint without ends."""
    out = pin.neutral(theirs)
    for name, angle in zip((n for n, rows in model.rows("dof").items() if rows), q, strict=True):
        joint = theirs.joints[theirs.getJointId(name)]
        out[joint.idx_q : joint.idx_q + joint.nq] = (
            [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        )
    return out


# what is refused


def test_spherical_joints_are_refused_with_a_remedy(tmp_path: Path):
    path = tmp_path / "robot.urdf"
    with pytest.raises(
        NotExpressible, match=r"spherical joints, as 'joint_1', 'joint_2' are.*`export_mjcf`"
    ):
        ist.export_urdf(ist.library.pendulum(2, joints="spherical"), path)
    assert not path.exists()


def test_inertias_that_no_body_can_have_are_refused_or_mended(tmp_path: Path):
    impossible = np.array([[1.0, 1.0, third, 0.0, 0.0, 0.0] for third in (1.0, 3.0)])
    model = dataclasses.replace(ist.library.pendulum(2), link_inertia=impossible)
    path = tmp_path / "robot.urdf"
    with pytest.raises(BadModel, match=r"of links 'rod_2'.*repair='nearest'"):
        ist.export_urdf(model, path)
    ist.export_urdf(model, path, repair="nearest")
    a, b, c = np.sort(loaded(path).get("link/rod_2/inertia")[:3])
    assert c <= a + b
    assert differences(model, loaded(path)) == {"link/inertia"}


def test_point_masses_and_thin_rods_may_be_written(tmp_path: Path):
    model = ist.library.pendulum(2).set("link/rod_1/inertia", 0.0)
    model = model.set("link/rod_2/inertia", (1.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    back, _ = exported(ist.export_urdf, model, tmp_path / "robot.urdf")
    assert differences(model, back) == set()


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("nowhere/robot.urdf", BadFile, "there is no folder"),
        ("robot.txt", BadOption, "must end in .urdf or .xml"),
        (".", BadOption, "must end in"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_in_a_sentence(path, error, words, tmp_path):
    with pytest.raises(error, match=words):
        ist.export_urdf(ist.library.pendulum(1), tmp_path / path)


def test_numbers_that_are_none_are_refused_and_the_old_file_stays(tmp_path: Path):
    path = tmp_path / "robot.urdf"
    path.write_text("old")
    model = ist.library.pendulum(1)
    broken = dataclasses.replace(model, link_mass=np.array([np.nan]))
    with pytest.raises(ValueError, match="mass of link 'rod_1' is nan"):
        ist.export_urdf(broken, path)
    many = jax.tree.map(lambda x: np.stack([x, x]), model)
    with pytest.raises(BadOption, match="batch of models"):
        ist.export_urdf(many, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["robot.urdf"]


def test_a_link_called_world_and_a_name_that_is_no_text_are_refused(tmp_path: Path):
    for name, words in (
        ("world", "a link is called 'world'"),
        ("a\x00", "characters that XML loses"),
    ):
        make = ist.Builder().add_link(name, mass=1.0).add_joint_fixed("j", None, name)
        with pytest.raises(NotExpressible, match=words):
            ist.export_urdf(make.model(), tmp_path / "robot.urdf")


def test_points_that_share_the_name_of_a_link_are_told(tmp_path: Path):
    make = ist.Builder().add_link("a", mass=1.0, inertia=(1.0, 1.0, 1.0))
    make.add_joint_revolute("a", None, "a").add_point("a", "a", (1.0, 0.0, 0.0))
    back, lost = exported(ist.export_urdf, make.model(), tmp_path / "robot.urdf")
    assert "point (a link has the same name) 'a'" in lost
    assert back.point_names == ()


def test_frames_turned_by_any_angle_come_back():
    draw = np.random.default_rng(3)
    steep = [(0.0, 2**-0.5, 1e-12, -(2**-0.5)), (0.5, 0.5, 0.5, 0.5), (0.5, -0.5, 0.5, -0.5 + 1e-9)]
    for q in [*draw.normal(size=(200, 4)), *np.array(steep), *np.eye(4), *-np.eye(4)]:
        again = quaternion_of_rpy(*rpy_of_quaternion(q.tolist()))
        np.testing.assert_allclose(matrix(np.array(again)), matrix(q), atol=1e-14)
    assert Frame().orientation == quaternion_of_rpy(*rpy_of_quaternion(Frame().orientation))


def test_networks_are_told_not_to_be_in_the_file(tmp_path: Path, key: jax.Array):
    wire = ist.Wire("joint/torque", reads=["joint/velocity"], net=ist.MLP(width=2, depth=1))
    model = ist.Blueprint([wire]).attach(ist.library.cart_pole(), key=key)
    back, lost = exported(ist.export_urdf, model, tmp_path / "robot.urdf")
    assert "networks at named variables" in lost
    assert differences(model, back) == set()


def test_friction_cogging_offsets_and_motor_constants_come_back_and_are_told(tmp_path: Path):
    model = ist.library.pendulum(2)
    for k, name in enumerate(EXTRAS):
        model = model.set(f"joint/{name}", [0.1 + 0.1 * k, 0.2 + 0.1 * k])
    back, lost = exported(ist.export_urdf, model, tmp_path / "robot.urdf")
    assert differences(model, back) == set()
    assert model.cogging == back.cogging == (0, 1)
    assert "stiction (only isthmus reads it) of joint 'joint_1', 'joint_2'" in lost
