"""`discover` names what was put into a motion, says what it cannot tell, and refuses what would mislead it."""

import dataclasses

import numpy as np
import pytest

import isthmus as ist
from isthmus.discovery.draw import cells_of
from isthmus.errors import BadFile, BadLog, BadOption

ONE = ist.library.pendulum(1)
DAMPER = "joint/joint_1/passive_torque by joint/joint_1/velocity"
DRAG = "link/rod_1/external_force by link/rod_1/velocity"


def recorded(truth, noise=1e-3, steps=1200, dt=0.01, seed=0):
    """A free swing of `truth`, with noise, as a motion."""
    rng = np.random.default_rng(seed)
    start = ist.State(rng.uniform(1.0, 2.5, truth.dof), np.zeros(truth.dof))
    m = ist.rollout(truth, start, None, dt, steps=steps, integrator="rk4", substeps=2)
    noisy = lambda x: np.asarray(x) + noise * rng.standard_normal(np.shape(x))
    return ist.Motion(np.asarray(m.t), noisy(m.q), noisy(m.v))


def problem(model, motion, noise=1e-3, **options):
    given = {"loss": ist.Windows(25), "noise": noise, "integrator": "rk4"}
    return ist.Problem(model, motion, **(given | options))


@pytest.fixture(scope="module")
def damped():
    return recorded(ONE.set("joint/damping", [0.05]))


@pytest.fixture(scope="module")
def found(damped):
    return ist.discover(problem(ONE, damped))


def test_a_damper_is_found_and_what_acts_alike_is_named(found):
    (place,) = found.places
    assert DAMPER in (place.name, *place.alike)
    assert DRAG in (place.name, *place.alike)  # on a single rod, drag is a damper
    assert place.explains > 0.5 > place.error > 0.0


def test_a_discovery_prints_as_a_table_and_as_sentences(found):
    text = str(found)
    assert text.startswith("target")
    assert "would do as well" in text
    assert "% of what remains in windows that were left out" in text


def test_a_discovery_becomes_a_blueprint_that_attaches(found, tmp_path):
    path = found.write(tmp_path / "blueprint.toml")
    blueprint = ist.Blueprint.load(path)
    assert [w.target for w in blueprint] == [p.target for p in found.places]
    assert blueprint.attach(ONE, key=0).networks[0].plan.target == found.places[0].target.replace(
        "/joint_1/", "/"
    ).replace("/rod_1/", "/")


def test_a_discovery_is_read_back_as_it_was_saved(found, tmp_path):
    found.save(tmp_path)
    again = ist.Discovery.load(tmp_path)
    assert (again.places, again.scores, str(again)) == (found.places, found.scores, str(found))
    with pytest.raises(BadOption, match="a discovery that was loaded has no motions"):
        again.formula()
    (tmp_path / "discovery.json").write_text("[1]")
    with pytest.raises(BadFile, match="is no discovery that isthmus wrote"):
        ist.Discovery.load(tmp_path)


def test_the_formula_of_a_damper_is_its_damping(damped):
    tried = ["joint/*/passive_torque by velocity", "link/*/inertial", "gravity"]
    formula = ist.discover(problem(ONE, damped), tried, most=1).formula()[DAMPER]
    assert "viscous" in formula.names
    v = np.array([-2.0, 1.0])
    np.testing.assert_allclose(formula({"joint/joint_1/velocity": v}), -0.05 * v, atol=5e-3)


def test_a_discovery_is_drawn(found, tmp_path):
    found.draw(tmp_path / "discovery.svg")
    assert "joint/joint_1/passive_torque" in (tmp_path / "discovery.svg").read_text()
    with pytest.raises(BadOption, match="nothing was tried"):
        ist.Discovery(()).draw()


def test_inputs_of_the_joint_itself_are_drawn_by_their_quantity_alone():
    own, other = (f"joint/a/passive_torque by joint/{name}/velocity" for name in "ab")
    assert cells_of([own, "gravity"])[own] == ("joint/a/passive_torque", "velocity")
    assert cells_of([own, "gravity"])["gravity"] == ("gravity", "(itself)")
    assert cells_of([own, other])[own] == ("joint/a/passive_torque", "joint/a/velocity")


def test_a_stopped_discovery_keeps_its_places_and_goes_on(damped, found):
    def stop(_):
        raise KeyboardInterrupt

    stopped = ist.discover(problem(ONE, damped), listen=stop)
    assert not stopped.complete
    assert [p.name for p in stopped.places] == [p.name for p in found.places]
    whole = ist.discover(problem(ONE, damped), resume=stopped)
    assert whole.complete
    assert [p.name for p in whole.places] == [p.name for p in found.places]


def test_nothing_is_named_where_nothing_is_missing():
    found = ist.discover(problem(ONE, recorded(ONE, seed=3)))
    assert found.places == ()
    assert str(found).startswith("Nothing is missing that these logs can show.")


def test_numbers_that_are_free_are_no_places():
    motion = recorded(ONE.set("gravity", [0.0, 0.0, -9.0]))
    assert ist.discover(problem(ONE, motion), most=1).places
    assert not ist.discover(problem(ONE, motion, free=["gravity"]), most=1).places


def test_a_free_number_stays_within_its_bounds_and_a_rival_candidate_cannot_run_away(damped):
    """A free damper does what the candidate by velocity does: huge coefficients could cancel it."""

    def made(p):
        assert p["damping"][0] >= 0.0
        return ONE.set("joint/damping", p["damping"])

    free = ist.Free("damping", low=0.0, high=1.0, start=[0.0], shape=1)
    found = ist.discover(
        ist.Problem(
            make=made, motions=damped, free=free, loss=ist.Windows(25), noise=1e-3, integrator="rk4"
        )
    )
    assert found.places == ()
    assert found.stand is not None
    assert 0.03 < float(found.stand.model().joint_damping[0]) < 0.07


def puck(friction):
    """A ball on a rail that slides over the ground on springs."""
    robot = ist.Builder("puck")
    robot.add_link("rail", mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
    robot.add_link("puck", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    robot.add_joint_prismatic("along", None, "rail", axis=(1.0, 0.0, 0.0))
    robot.add_joint_prismatic("up", "rail", "puck", axis=(0.0, 0.0, 1.0))
    robot.add_shape_sphere("puck", 0.05, name="puck")
    springs = ist.Contact("penalty", friction=friction)
    return ist.with_contact(robot.model(), springs, ground=ist.Ground(height=0.0))


def test_friction_of_a_contact_is_named():
    t = 0.002 * np.arange(800)
    push = [8 * np.sin(8.2 * t) + 3 * np.sin(19.5 * t), 4 * np.sin(12.6 * t)]
    push, rng = np.stack(push, axis=1), np.random.default_rng(0)
    start = ist.State([0.0, 0.06], [1.0, 0.0])
    m = ist.rollout(puck(0.6), start, push, 0.002, substeps=8)
    noisy = lambda x: np.asarray(x) + 1e-3 * rng.standard_normal(np.shape(x))
    commands = {"joint/control": np.concatenate([push, push[-1:]])}
    log = ist.Motion(np.asarray(m.t), noisy(m.q), noisy(m.v), commands)
    given = {"integrator": "semi_implicit", "substeps": 8, "loss": ist.Windows(20)}
    found = ist.discover(problem(puck(0.3), log, **given), most=1)
    assert [p.target for p in found.places] == ["contact/friction_force"]


def test_a_fit_discovers_from_where_it_ended(damped):
    fit = ist.fit(problem(ONE, damped, free=["link/*/mass"]))
    assert DAMPER in {name for p in fit.discover(most=1).places for name in (p.name, *p.alike)}
    with pytest.raises(BadOption, match="a fit that was loaded has no motions"):
        dataclasses.replace(fit, problem=None).discover()


def test_noise_and_velocities_that_are_missing_are_estimated_and_told():
    motion = recorded(ONE.set("joint/damping", [0.3]), dt=0.005)
    found = ist.discover(problem(ONE, dataclasses.replace(motion, v=None), noise=None), most=1)
    said = " ".join(found.notes)
    assert "Velocities were not measured" in said
    estimated = float(said.partition("joint/position ")[2].split()[0].rstrip(",."))
    assert estimated == pytest.approx(1e-3, rel=0.2)
    assert DAMPER in {name for p in found.places for name in (p.name, *p.alike)}


def test_a_joint_that_hardly_moves_cannot_be_judged():
    rng = np.random.default_rng(0)
    q, v = 1e-3 * rng.standard_normal((2, 601, 1))
    found = ist.discover(problem(ONE, ist.Motion(0.01 * np.arange(601), q, v)), most=1)
    assert "Joint joint_1 hardly moves: what it lacks cannot be judged." in found.notes
    assert DAMPER in found.unjudged


@pytest.mark.parametrize(
    ("options", "call", "error", "words"),
    [
        ({"loss": ist.Windows(100)}, {}, BadOption, r"needs 20 windows.*Windows\((\d+)\) \(steps = \1 under"),
        ({"noise": 1e-10}, {}, BadOption, r"time step is too long.*Take substeps=\d+"),
        ({}, {"candidates": "joint/*/pasive_torque"}, BadOption, "no candidate of 'pendulum_1' is called"),
        ({}, {"most": 0}, BadOption, "most must be a whole number from 1"),
    ],
)  # fmt: skip
def test_what_would_mislead_is_refused(damped, options, call, error, words):
    with pytest.raises(error, match=words):
        ist.discover(problem(ONE, damped, **options), **call)


def test_a_log_without_positions_is_refused(damped):
    tip = np.stack([np.sin(damped.q[:, 0]), 0.0 * damped.t, -np.cos(damped.q[:, 0])], axis=1)
    motion = ist.Motion(damped.t, None, None, {"point/tip/position": tip})
    start = ["start/position", "start/velocity"]
    with pytest.raises(BadLog, match="has no joint positions"):
        ist.discover(problem(ONE, motion, signals=["point/tip/position"], free=start))
