"""Pairs in MJCF: read as MuJoCo means them, written so that MuJoCo and isthmus read them again."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import isthmus as ist
from isthmus.cli.models import load_model
from isthmus.errors import DescriptionWarning, ExportWarning
from isthmus.export.mjcf import to_mjcf
from isthmus.study.build import load_robot

mujoco = pytest.importorskip("mujoco")

FILE = """<mujoco model="arm"><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<body name="upper"><joint name="shoulder" axis="0 1 0"/><geom name="upper" type="capsule" size="0.02 0.1"/>
  <body name="lower" pos="0.3 0 0"><joint name="elbow" axis="0 1 0"/>
    <geom name="lower" type="box" size="0.1 0.02 0.02"/></body></body>
<body name="ball" pos="0 0 1"><freejoint/><geom name="ball" size="0.1" contype="0" conaffinity="0"/></body>
</worldbody><contact>
<pair geom1="upper" geom2="lower" friction="0.3 0.3"/>
<pair geom1="ball" geom2="lower" condim="1" {more}/>
<pair geom1="floor" geom2="ball" friction="0.2 0.2"/>
</contact></mujoco>"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(FILE.format(more=""))
    return path


def test_pairs_of_an_mjcf_touch_whatever_masks_and_neighbours_say(arm):
    model = ist.load(arm, contact="impulse")
    assert model.pairs() == (("upper", "lower"), ("lower", "ball"))
    assert set(model.rows("contact")) == {"upper", "lower", "ball", "upper+lower", "lower+ball"}
    assert set(model.get("contact/upper+lower/friction")) == {0.3}
    assert model.get("contact/lower+ball/friction") == 0.0  # condim="1"
    assert model.get("contact/ball/friction") == 0.2  # with the floor
    assert ist.load(arm).contact_kinds == ()
    plain = ist.with_contact(ist.load(arm), [], pairs=True)
    assert set(plain.rows("contact")) == {"upper+lower", "lower+ball"}


def test_pairs_are_named_alike_in_load_studies_and_the_command_line(arm):
    named = ist.Pair("upper", "ball", "penalty", friction=0.7)
    table = {"first": "upper", "second": "ball", "kind": "penalty", "friction": 0.7}
    study = {"robot": str(arm), "logs": "x.csv", "pair": [table]}
    (of_study,) = ist.Study.from_table(study).pairs
    assert of_study == named
    of_study = load_robot(arm.parent, str(arm), pairs=(of_study,))
    of_command = load_model(str(arm), pair=["upper+ball,kind=penalty,friction=0.7"])
    for model in (ist.load(arm, pairs=named), of_study, of_command):
        assert set(model.rows("contact")) == {
            "upper+ball"
        }  # neither the ground nor the file's pairs
        assert (model.contact_kinds, float(model.contact_friction[0])) == (("penalty",), 0.7)
    everything = load_model(str(arm), pair=["*+*"])
    assert set(everything.rows("contact")) == {"upper+lower", "lower+ball"}


def test_a_pair_that_is_named_replaces_that_of_the_file(arm):
    model = ist.load(arm, contact="impulse", pairs=[ist.Pair("lower", "ball", friction=0.5)])
    assert set(model.rows("contact")) == {"upper", "lower", "ball", "upper+lower", "lower+ball"}
    assert set(model.get("contact/upper+lower/friction")) == {0.3}
    assert model.get("contact/lower+ball/friction") == 0.5


BALLS = """<mujoco><worldbody>
<body name="a"><freejoint/><geom name="a" size="0.1" {0}/></body>
<body name="b" pos="0 0 0.19"><freejoint/><geom name="b" size="0.1" {1}/></body></worldbody>{2}</mujoco>"""


@pytest.mark.parametrize(
    ("a", "b", "more"),
    [
        ("", "", ""), ('friction="2"', 'friction="0.3"', ""), ('friction="0.2"', 'friction="0.3"', ""),
        ('friction="2"', 'friction="0.3" priority="1"', ""), ('condim="1"', 'condim="1"', ""),
        ('condim="1"', 'friction="0.3"', ""), ('condim="1" priority="1"', "", ""),
        ("", "", '<contact><pair geom1="b" geom2="a" friction="0.05 0.05"/></contact>'),
    ],
)  # fmt: skip
def test_the_friction_of_two_geoms_that_are_asked_for_is_what_mujoco_combines(a, b, more, tmp_path):
    path = tmp_path / "balls.xml"
    path.write_text(BALLS.format(a, b, more))
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    (met,) = data.contact
    theirs = met.friction[0] if met.dim > 1 else 0.0
    friction = lambda **given: ist.load(path, **given).get("contact/a+b/friction").item()
    for given in ({}, {"contact": "impulse", "ground": True}, {"contact": False}):
        assert friction(pairs=[("*a", "b")], **given) == theirs
    assert friction(pairs=ist.Pair("a", "b", friction=0.7)) == 0.7
    own = friction(pairs=[("*a", "b")], contact=[ist.Contact(shapes="a", friction=0.6)], ground=0.0)
    assert own == (
        theirs if more else 0.6
    )  # a pair of the file is nearer than the material of a shape


def test_numbers_of_two_links_of_a_urdf_count_where_they_touch(tmp_path):
    link = lambda name, said: (
        f"""<link name="{name}"><contact>{said}</contact><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
        ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><sphere radius="0.1"/></geometry></collision></link>"""
    )
    first = '<lateral_friction value="0.3"/><restitution value="0.2"/>'
    text = link("a", first) + link("b", '<lateral_friction value="0.1"/>')
    joint = '<joint name="j" type="floating"><parent link="a"/><child link="b"/></joint>'
    path = tmp_path / "two.urdf"
    path.write_text(f'<robot name="two">{text}{joint}</robot>')
    model = ist.load(path, pairs=[("a", "b")])
    assert model.get("contact/a_shape+b_shape/friction").item() == 0.3
    assert model.get("contact/a_shape+b_shape/restitution").item() == 0.2


def test_numbers_of_a_pair_without_meaning_here_are_named_once(arm):
    arm.write_text(FILE.format(more='margin="0.01" solref="0.1 1"'))
    with pytest.warns(
        DescriptionWarning, match=r"margin of pair 'lower\+ball'.*solref of pair"
    ) as told:
        ist.load(arm)
    assert len(told) == 1


def test_a_pair_that_cannot_touch_is_named(arm):
    text = FILE.format(more="").replace(
        "</body></body>", '<geom name="end" size="0.01"/></body></body>'
    )
    arm.write_text(text.replace("</contact>", '<pair geom1="end" geom2="lower"/></contact>'))
    with pytest.warns(
        DescriptionWarning, match="contact pair of geoms 'end and lower'|'lower and end'"
    ):
        model = ist.load(arm)
    assert ("lower", "end") not in model.pairs("*", "*")


def blocks():
    robot = ist.Builder("blocks")
    for name in ("a", "b", "c"):
        robot.add_link(name, mass=1.0, inertia=(1e-3,) * 3)
        robot.add_joint_free(f"{name}_flight", None, name)
        robot.add_shape_box(name, (0.1, 0.1, 0.1), name=name)
    pairs = [
        ist.Pair("b", "a", friction=0.3, points=8),
        ist.Pair("b", "c", "penalty", stiffness=1e4),
    ]
    return ist.with_contact(
        robot.model(), ist.Contact(shapes="a"), ground=ist.Ground(), pairs=pairs
    )


def test_pairs_come_back_from_mjcf_and_mujoco_has_them(tmp_path):
    model, path = blocks(), tmp_path / "blocks.xml"
    with pytest.warns(ExportWarning, match="only isthmus reads"):
        ist.export_mjcf(model, path)
    again = ist.load(path)
    assert again.rows("contact") == model.rows("contact")
    assert again.contact_kinds == model.contact_kinds
    for leaf in ("friction", "stiffness", "erp"):
        np.testing.assert_array_equal(again.get(f"contact/{leaf}"), model.get(f"contact/{leaf}"))
    compiled = mujoco.MjModel.from_xml_path(str(path))
    assert compiled.npair == 2
    assert 0.3 in compiled.pair_friction[:, 0]


def test_a_file_is_kept_and_gains_pairs_and_loses_them_again(arm, tmp_path):
    file = tmp_path / "more.xml"
    model = ist.with_contact(
        ist.load(arm), [], pairs=[("upper", "lower"), ist.Pair("upper", "ball", friction=0.7)]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExportWarning)
        ist.export_mjcf(model, file)
        again = ist.load(file)
        assert file.read_text().startswith(FILE[:40])
        assert again.rows("contact") == model.rows("contact")
        assert again.get("contact/upper+ball/friction") == 0.7
        ist.export_mjcf(ist.without_contact(again), file)
    last = ist.load(file)
    assert last.contact_kinds == ()
    assert 'name="upper+ball"' not in file.read_text()
    assert 'geom1="upper" geom2="lower"' in file.read_text()


def test_masks_exclusions_and_named_pairs_are_in_a_new_file_and_in_a_saved_model(arm, tmp_path):
    text = FILE.format(more="").replace(
        "</contact>", '<exclude body1="upper" body2="ball"/></contact>'
    )
    arm.write_text(text)
    model = ist.load(arm)
    ist.save(model, tmp_path / "arm.safetensors")
    assert ist.load(tmp_path / "arm.safetensors").pairs() == model.pairs()
    (tmp_path / "new.xml").write_text(to_mjcf(model)[0])
    again = ist.load(tmp_path / "new.xml")
    assert again.pairs() == model.pairs()
    assert again.filters == model.filters
