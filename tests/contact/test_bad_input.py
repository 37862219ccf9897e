"""What contact cannot do is said in one sentence; what it has survives files, or is told as lost."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import isthmus as ist
from isthmus.contact import solve
from isthmus.contact.penalty import advised_substeps
from isthmus.errors import BadModel, BadOption, ExportWarning, IsthmusError, StepWarning
from isthmus.spatial import bodies
from tests.contact.bodies import LEVEL, at, ball, block, on_ground
from tests.export.test_c import exported, needs_a_compiler

REST = at((0.0, 0.0, 0.1))


def no_ground():
    robot = ist.Builder("ball")
    robot.add_link("ball", mass=1.0, inertia=(1e-2,) * 3 + (0.0,) * 3)
    robot.add_joint_free("flight", None, "ball")
    robot.add_shape_sphere("ball", 0.1, name="ball")
    return robot


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ball(ist.Contact(friction=None)), "friction"),
        (lambda: ball(ist.Contact(friction=np.nan)), "nan|finite"),
        (lambda: ball(ist.Contact(friction=-0.1)), "'contact/friction' cannot be -0.1: it must not be negative"),
        (lambda: ball(ist.Contact(stiffness=-1.0)), "'contact/stiffness' cannot be -1: it must not be negative"),
        (lambda: ball(ist.Contact(restitution=1.2)), "'contact/restitution' cannot be 1.2: it must be between 0 and 1"),
        (lambda: ball(ist.Contact(friction_speed=0.0)), "'contact/friction_speed' cannot be 0: it must be positive"),
        (lambda: ball(ist.Contact("penalty", exponent=0.5)), "'contact/exponent' cannot be 0.5: it must not be less"),
        (lambda: ball(ist.Contact("springs")), "'impulse' or 'penalty', not .*'springs'"),
        (lambda: ist.Ground(np.nan), "height and tilt must be finite, not nan"),
        (lambda: ist.Ground(0.0, (0.0, np.inf)), "height and tilt must be finite"),
        (lambda: ist.Ground(0.0, (0.0, 0.1, 0.0)), "height is a number and tilt two of them"),
        (lambda: ist.Ground(0.0, 0.1), "height is a number and tilt two of them"),
        (lambda: ball("impulse", order="late"), "order must be .* not .*'late'"),
        (lambda: ist.with_contact(no_ground().model()), "has no ground to touch"),
        (lambda: ball("impulse", radius=0.0), "has no size"),
        (lambda: ball(ist.Contact(shapes="bal")), "no shape or link is called 'bal'. Did you mean 'ball'"),
        (
            lambda: ist.with_contact(no_ground().add_shape_box(None, (1.0, 1.0, 1.0), name="table").model(),
                                     ist.Contact(shapes="table"), ground=ist.Ground()),
            "'table' is fixed to the world, as the ground is",
        ),
        (lambda: on_ground("b", 1.0, (1.0,) * 3 + (0.0,) * 3, lambda r: None, ist.Ground(), "impulse"), "no shape"),
    ],
)  # fmt: skip
def test_bad_contacts_are_refused_in_one_sentence(make, says):
    with pytest.raises(IsthmusError, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("integrator", ["rk4", "explicit_euler"])
def test_impulses_are_refused_where_a_scheme_has_none(integrator):
    for call in (ist.rollout, ist.rollout_many):
        state = REST if call is ist.rollout else ist.State(REST.q[None], REST.v[None])
        with pytest.raises(BadOption, match=f"by impulses, which '{integrator}' does not have"):
            call(ball("impulse"), state, None, 1e-3, 5, integrator=integrator)
    with pytest.raises(BadOption, match="by impulses"):
        ist.step(ball("impulse"), REST, None, 1e-3, integrator=integrator)


def test_springs_that_are_too_stiff_for_the_step_get_advice_that_holds():
    model = ball(ist.Contact("penalty", stiffness=1e6, friction=0.1))
    with pytest.warns(StepWarning, match=r"take substeps=\d+"):
        ist.rollout(model, REST, None, 1e-3, 0)
    parts = advised_substeps(model, 1e-3)
    assert parts > 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ist.rollout(model, REST, None, 1e-3, 0, substeps=parts)


def test_a_start_in_the_ground_is_told_with_its_depth():
    with pytest.warns(StepWarning, match=r"starts with 'ball' 0\.03 m deep in the ground"):
        ist.rollout(ball("impulse"), at((0.0, 0.0, 0.07)), None, 1e-3, 0)


def test_many_worlds_and_problems_tell_which_start_is_in_the_ground():
    model, q = ball("impulse"), np.tile(REST.q, (3, 1))
    q[1, 2] = 0.07
    says = r"'ball' 0\.03 m deep in the ground in"
    with pytest.warns(StepWarning, match=f"{says} world 1"):
        ist.rollout_many(model, ist.State(q, np.zeros((3, 6))), None, 1e-3, 0)
    heights = ist.with_contact(model, ground=ist.Ground(height=0.03))
    batched = model.set(
        "shape/ground/origin", np.stack([m.shape_origin[-1] for m in (model, heights)])
    )
    with pytest.warns(StepWarning, match=f"{says} world 1"):
        ist.rollout_many(batched, REST, None, 1e-3, 0)
    t = 1e-3 * np.arange(4)
    paths = q[:, None] + t[None, :, None] * np.eye(7)[0]
    logs = [ist.Motion(t, path, np.tile(np.eye(6)[0], (4, 1)), {}) for path in paths]
    with pytest.warns(StepWarning, match=f"{says} log 1"):
        ist.Problem(model, logs, free="contact/*/friction")


def rod(**options):
    """A capsule along its x axis, with a contact at each end."""
    along_x = (1.0, 0.0, 1.0, 0.0)
    add = lambda r: r.add_shape_capsule("rod", 0.05, 0.2, orientation=along_x, name="rod")
    inertia = (1e-3, 1e-2, 1e-2, 0.0, 0.0, 0.0)
    return on_ground("rod", 1.0, inertia, add, ist.Ground(), "impulse", **options)


def test_impulses_that_were_not_found_are_told_with_step_and_residual(monkeypatch):
    monkeypatch.setattr(solve, "ROUNDS", 1)  # further rounds would find them
    start = at((0.0, 0.0, 0.05), v=(1.0, 0.4, 0.0, 0.3, 0.0, 0.5))
    coarse = rod(sweeps=1, newton=0)
    says = r"'rod' were not found in \d+ steps: in step \d+{} velocities are off by \S+ m/s"
    with pytest.warns(StepWarning, match=says.format("")):
        motion = ist.rollout(coarse, start, None, 1e-3, 20)
    assert "contact/residual" not in motion.signals
    with pytest.warns(StepWarning, match=says.format(" of world 0")):
        ist.rollout_many(coarse, ist.State(start.q[None], start.v[None]), None, 1e-3, 20)
    with pytest.warns(StepWarning, match=says.format("")):
        motion = ist.rollout(coarse, start, None, 1e-3, 20, record="contact/residual")
    assert motion.signals["contact/residual"].max() > 1e-8
    ist.rollout(rod(), start, None, 1e-3, 20)  # says nothing


def test_the_loss_of_torques_refuses_impulses():
    model = ball("impulse")
    motion = ist.rollout(
        model, at((0.0, 0.0, 0.2)), np.random.default_rng(0).normal(size=(50, 6)), 1e-3
    )
    with pytest.raises(BadOption, match="the loss of torques cannot see the impulses"):
        ist.Problem(model, [motion], free=[ist.Free("link/mass")], loss="torque")


def test_contact_survives_a_saved_model(tmp_path):
    model = block([ist.Contact("penalty", friction=0.3, radius=0.01)]).set(
        "contact/friction", np.linspace(0.1, 0.8, 8)
    )
    ist.save(model, tmp_path / "block.safetensors")
    back = ist.load(tmp_path / "block.safetensors")
    assert back.contact_kinds == model.contact_kinds
    assert back.contact_order == model.contact_order
    np.testing.assert_array_equal(back.contact_friction, model.contact_friction)
    np.testing.assert_array_equal(back.contact_radius, model.contact_radius)


def test_a_file_that_cannot_hold_contact_says_so(tmp_path):
    with pytest.warns(ExportWarning, match="how it touches the ground"):
        ist.export_urdf(ball("impulse"), tmp_path / "ball.urdf")


def test_a_moving_plane_is_no_ground():
    robot = no_ground().add_shape_plane("ball", name="tray")
    with pytest.raises(BadModel, match="the plane 'tray' is fixed to a link that moves"):
        ist.with_contact(robot.model())


def test_friction_is_found_from_a_sled_that_slides_to_a_stop():
    """On four points, which share its load."""
    points = [[x, y, -0.05] for x in (-0.1, 0.1) for y in (-0.08, 0.08)]
    add = lambda robot: robot.add_shape_points("sled", points, name="sled")
    inertia = bodies.box(2.0, 0.2, 0.16, 0.1)
    sled = lambda mu: on_ground("sled", 2.0, inertia, add, LEVEL, ist.Contact(friction=mu))
    start = at((0.0, 0.0, 0.05), v=(0.5, 0.0, 0.0, 0.0, 0.0, 0.0))
    motion = ist.rollout(sled(0.37), start, None, 2e-3, 40)
    free = [ist.Free("contact/*/friction", shared=True)]
    problem = ist.Problem(sled(0.6), [motion], free=free)
    found = ist.fit(problem)
    np.testing.assert_allclose(np.asarray(found.model.contact_friction), 0.37, rtol=1e-4)


def test_the_loss_of_torques_sees_the_springs_of_the_ground():
    """A leg that pushes itself up: without the springs, its mass could not be found from the motor force."""
    robot = ist.Builder("leg")
    robot.add_link("foot", mass=1.0, inertia=(1e-2,) * 3 + (0.0,) * 3)
    robot.add_joint_prismatic("leg", None, "foot", axis=(0.0, 0.0, 1.0))
    robot.add_shape_sphere("foot", 0.1, name="foot")
    contact = ist.Contact("penalty", stiffness=2e3, exponent=1.0)
    model = ist.with_contact(robot.model(), contact, ground=ist.Ground(-0.1))
    t = np.arange(60) * 0.01
    q = -0.004 + 0.003 * np.sin(9.0 * t)
    v, a = 0.027 * np.cos(9.0 * t), -0.243 * np.sin(9.0 * t)
    spring = 2e3 * -q * np.maximum(0.0, 1.0 - v)
    motion = ist.Motion(
        t, q[:, None], v[:, None],
        {"joint/motor_torque": (1.0 * (a + 9.81) - spring)[:, None], "joint/acceleration": a[:, None]},
    )  # fmt: skip
    free = [ist.Free("link/foot/mass")]
    problem = ist.Problem(model.set("link/mass", [1.4]), [motion], free=free, loss="torque")
    np.testing.assert_allclose(np.asarray(ist.fit(problem).model.link_mass), 1.0, rtol=2e-2)


@needs_a_compiler
def test_a_ball_touches_the_ground_in_c_too(tmp_path):
    exported(tmp_path, ball(ist.Contact(restitution=0.5), ground=ist.Ground(10.0)), dt=1e-3)
