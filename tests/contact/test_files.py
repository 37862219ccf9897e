"""Contact in files: what MJCF and URDF say of it is read or named, and what a model has comes back."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadDescription, BadOption, DescriptionWarning, UnknownName
from isthmus.files.touching import with_contact_of_library
from tests.contact.bodies import ball, block
from tests.export.round_trip import differences, exported

BALL = """<mujoco model="ball"><worldbody>
  <geom name="floor" type="plane" size="0 0 1" {}/>
  <body name="ball" pos="0 0 0.09"><freejoint name="flight"/><geom name="it" size="0.1" mass="1" {}/></body>
</worldbody></mujoco>"""
LEG = """<robot name="leg"><link name="body">{inertial}
    <collision name="trunk"><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="shin">{inertial}
    <collision name="bone"><geometry><capsule radius="0.1" length="1"/></geometry></collision></link>
  <link name="left_foot">{inertial}<contact>{contact}</contact>
    <collision name="toe"><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="knee" type="revolute"><parent link="body"/><child link="shin"/><limit effort="1" velocity="1"/></joint>
  <joint name="ankle" type="fixed"><parent link="shin"/><child link="left_foot"/></joint>{others}
</robot>"""
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
STATIC = ("contact_kinds", "contact_corners", "contact_order", "contact_sweeps", "contact_newton")


def leg(folder, numbers='<lateral_friction value="0.3"/>', others="", **options):
    path = folder / "leg.urdf"
    path.write_text(LEG.format(inertial=INERTIAL, contact=numbers, others=others), "utf-8")
    return ist.load(path, base="free", **options)


def mujoco_friction(path) -> float:
    """Of the one contact at the start; zero where MuJoCo computes none."""
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    (found,) = d.contact
    return float(found.friction[0]) if found.dim > 1 else 0.0


@pytest.mark.parametrize(
    ("floor", "it"),
    [
        ("", ""), ("", 'friction="0.3"'), ('friction="0.2"', 'friction="0.3"'), ('friction="0.4"', 'friction="0.3"'),
        ('friction="0.4"', 'friction="0.3" priority="1"'), ('friction="0.4" priority="2"', 'friction="0.7"'),
        ('condim="1"', 'condim="1"'), ('condim="1"', ""), ("", 'condim="1" priority="1"'),
    ],
)  # fmt: skip
def test_friction_of_an_mjcf_is_what_mujoco_combines(floor, it, tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(BALL.format(floor, it), "utf-8")
    model = ist.load(path, contact="impulse")
    np.testing.assert_allclose(model.contact_friction, mujoco_friction(path))
    own = ist.load(path, contact=ist.Contact(friction=0.6))
    np.testing.assert_array_equal(own.contact_friction, 0.6)


def test_contact_numbers_of_mjcf_without_meaning_here_are_named_once(tmp_path):
    path = tmp_path / "ball.xml"
    odd = 'friction="0.3 0.1 0.1" condim="6" solref="0.01 1" solimp="0.8 0.9 0.01" margin="0.01" gap="0.01" solmix="2"'
    path.write_text(BALL.format("", odd), "utf-8")
    with pytest.warns(DescriptionWarning) as caught:
        ist.load(path)
    (sentence,) = [str(w.message) for w in caught]
    for word in ("torsional and rolling friction", "condim", "solref", "solimp", "margin", "gap"):
        assert f"{word} of geom 'it'" in sentence


def test_contact_numbers_of_other_programs_in_a_urdf_are_read_or_named_once(tmp_path):
    alien = '<gazebo reference="shin"><mu1>0.9</mu1><kp>1e6</kp></gazebo>'
    numbers = '<lateral_friction value="0.3"/><restitution value="0.2"/><stiffness value="1e4"/>'
    with pytest.warns(DescriptionWarning) as caught:
        model = leg(tmp_path, numbers, alien, ground=True, contact="toe")
    (sentence,) = [str(w.message) for w in caught]
    assert "stiffness of link 'left_foot'" in sentence
    assert "mu1, kp in <gazebo> of 'shin'" in sentence
    np.testing.assert_array_equal(model.contact_friction, 0.3)
    np.testing.assert_array_equal(model.contact_restitution, 0.2)


def test_by_default_the_last_links_touch_and_the_others_are_told(tmp_path):
    with pytest.warns(
        DescriptionWarning, match=r"1 of 3 shapes may touch the ground, with 1 point:"
    ):
        model = leg(tmp_path, ground=True)
    assert [*model.rows("contact")] == ["toe"]
    assert "contact toe on ground: 1 point, impulse" in str(model)


@pytest.mark.parametrize(
    ("contact", "touching"),
    [
        ("*", ["trunk", "bone", "toe"]), ("penalty", ["trunk", "bone", "toe"]), ("*_foot", ["toe"]),
        ("body", ["trunk"]), ("[tb]*", ["trunk", "bone", "toe"]),
        (ist.Contact(shapes=["shin", "toe"]), ["bone", "toe"]),
    ],
)  # fmt: skip
def test_shapes_are_chosen_by_their_names_or_by_those_of_their_links(contact, touching, tmp_path):
    assert [*leg(tmp_path, ground=0.0, contact=contact).rows("contact")] == touching


def test_a_name_that_no_shape_has_is_refused_with_its_neighbour(tmp_path):
    with pytest.raises(UnknownName, match=r"no shape or link is called 'penalti'.*'penalty'"):
        leg(tmp_path, ground=True, contact="penalti")


def test_a_model_of_the_library_stands_on_the_ground_that_is_asked_for():
    model = with_contact_of_library(ist.library.cube(), 0.25, "penalty")
    assert set(model.contact_kinds) == {"penalty"}
    np.testing.assert_array_equal(model.get("shape/ground/origin"), [0.0, 0.0, 0.25])


CONTACTS = {
    "springs": lambda: block(ist.Contact("penalty", friction=0.3, radius=0.01)).set(
        "contact/friction", np.linspace(0.1, 0.8, 8)
    ),
    "impulses": lambda: ball(
        ist.Contact(friction=0.3, restitution=0.4),
        ground=ist.Ground(-0.01, (0.1, -0.05)), order="plain", sweeps=12, newton=2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTACTS)
def test_contact_comes_back_from_mjcf_and_mujoco_reads_its_friction(name, tmp_path):
    model = CONTACTS[name]()
    back, told = exported(ist.export_mjcf, model, tmp_path / "it.xml")
    assert "but for sliding friction (only isthmus reads" in told
    assert differences(model, back) == set()
    for field in STATIC:
        assert getattr(back, field) == getattr(model, field)
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "it.xml"))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    mean = float(np.mean(np.asarray(model.contact_friction)))
    assert {round(float(x), 12) for x in d.contact.friction[:, 0]} == {round(mean, 12)}


def test_a_file_is_kept_and_gains_ground_and_contact_and_loses_them_again(tmp_path):
    source, path, again = (tmp_path / name for name in ("ball.xml", "out.xml", "again.xml"))
    text = BALL.format('friction="0.5"', "").replace(
        '<geom name="floor"', '<!-- mine -->\n  <geom name="floor"'
    )
    source.write_text(text, "utf-8")
    ground = ist.Ground(0.5, (0.1, 0.0), "shelf")
    model = ist.load(source, ground=ground, contact=ist.Contact("penalty", "it", friction=0.3))
    back, _ = exported(ist.export_mjcf, model, path)
    assert "<!-- mine -->" in path.read_text("utf-8")
    assert differences(model, back) == set()
    assert back.contact_kinds == model.contact_kinds == ("penalty", "penalty")
    ist.export_mjcf(ist.without_contact(back), again)
    assert "contact" not in again.read_text("utf-8")


def test_damaged_custom_data_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "ball.xml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ist.export_mjcf(ball(ist.Contact(friction=0.3)), path)
    text = path.read_text("utf-8")
    for old, new in (('data="impulse"', 'data="glue"'), ("contact/erp of", "contact/glue of")):
        path.write_text(text.replace(old, new), "utf-8")
        with pytest.raises(BadDescription, match="custom data on contact") as caught:
            ist.load(path)
        assert "\n" not in str(caught.value)
    assert ist.load(path, contact=False).contact_kinds == ()


def test_a_saved_model_takes_no_contact(tmp_path):
    ist.save(ball("impulse"), tmp_path / "ball.safetensors")
    with pytest.raises(BadOption, match="which stays as it is"):
        ist.load(tmp_path / "ball.safetensors", contact="penalty")
