"""A dissipative network takes kinetic energy in every step, whatever its weights, the masses and dt."""

import dataclasses

import equinox as eqx
import hypothesis
import jax
import numpy as np
import pytest
from hypothesis import strategies as st

import isthmus as ist
from isthmus.dynamics import mass_matrix
from isthmus.errors import StepWarning
from tests.blueprint.support import attached

JOINT, LINK = "joint/passive_torque", "link/external_force"
WIRES = {
    "joints": ist.Wire(JOINT, "time", ist.Dissipative(ist.Constant())),
    "one matrix": ist.Wire(JOINT, "time", ist.Dissipative(ist.Constant(), coupled=True)),
    "links": ist.Wire(LINK, "time", ist.Dissipative(ist.Constant())),
    "a matrix for each link": ist.Wire(
        LINK, "time", ist.Dissipative(ist.Constant(), coupled=True), rows="each"
    ),
    "a matrix for all links": ist.Wire(LINK, "time", ist.Dissipative(ist.Constant(), coupled=True)),
}


def chain(*joints, **last):
    """Links one after the other, each half a metre from the last, at these joints; no gravity."""
    robot = ist.Builder("chain")
    for n, (kind, axis) in enumerate(joints):
        robot.add_link(f"link{n}", mass=1.0, com=(0.2, 0.1, -0.1), inertia=(0.02, 0.03, 0.04))
        parent, at = (f"link{n - 1}", (0.5, 0.0, 0.0)) if n else (None, (0.0, 0.0, 0.0))
        options = {} if axis is None else {"axis": axis}
        options |= last if n == len(joints) - 1 else {}
        add = getattr(robot, f"add_joint_{kind}")
        add(f"joint{n}", parent, f"link{n}", position=at, **options)
    return robot.model().set("gravity", 0.0)


X, Y, Z = np.eye(3)
MODELS = {
    "sliders": lambda: chain(("prismatic", X), ("prismatic", X)),
    "hinges": lambda: chain(("revolute", Y), ("revolute", Z)),
    "free and a ball": lambda: chain(("free", None), ("spherical", None)),
    "one that mimics": lambda: chain(
        ("revolute", Y), ("prismatic", X), ("revolute", Z), mimic="joint0"
    ),
    "one that is held": lambda: chain(
        ("revolute", Y), ("prismatic", X), ("revolute", Z), prescribed=True
    ),
}
CASES = [(model, wire) for model in ("sliders", "hinges") for wire in WIRES] + [
    ("free and a ball", "one matrix"),
    ("free and a ball", "a matrix for each link"),
    ("one that mimics", "one matrix"),
    ("one that mimics", "links"),
    ("one that is held", "one matrix"),
    ("one that is held", "a matrix for all links"),
]
EXPONENTS = {"mass": (-1, 1), "speed": (-1, 1), "strength": (-3, 6), "coupling": (-1, 1)}
scales = st.fixed_dictionaries(
    {name: st.floats(*ends) for name, ends in EXPONENTS.items()} | {"seed": st.integers(0, 2**32)}
)


def drawn(model, scale):
    """The model with other masses, of ratios up to 100; outputs of its network; a state."""
    numbers = np.random.default_rng(scale["seed"])
    mass = 10.0 ** (scale["mass"] + numbers.uniform(-1.0, 1.0, len(model.link_mass)))
    nets = []
    for wired in model.networks:
        y = numbers.normal(size=wired.net.value.shape)
        d = wired.plan.numbers  # what follows are entries of L
        y = np.concatenate([10.0 ** scale["strength"] * y[:d], 10.0 ** scale["coupling"] * y[d:]])
        nets.append(eqx.tree_at(lambda w: w.net.value, wired, y))
    model = dataclasses.replace(
        model,
        link_mass=mass * model.link_mass,
        link_inertia=mass[:, None] * model.link_inertia,
        networks=tuple(nets),
    )
    state = ist.State.random(model, jax.random.key(scale["seed"]))
    held = [r for i in model.prescribed for r in range(*model.layout.v[i])]
    v = 10.0 ** scale["speed"] * numbers.normal(size=model.dof)
    v[held] = 0.0
    return model, ist.State(np.asarray(state.q), v)


def kinetic(model, q, v):
    H = np.asarray(jax.jit(mass_matrix)(dataclasses.replace(model, networks=()), q))
    return 0.5 * np.einsum("...i,ij,...j->...", v, H, v)


def control_of(model, state):
    held = [r for i in model.prescribed for r in range(*model.layout.q[i])]
    return ist.Control(position=state.q[held]) if held else None


@pytest.mark.parametrize(("model", "wire"), CASES)
def test_a_step_with_drag_ends_with_less_kinetic_energy_than_without(model, wire):
    plain = MODELS[model]()
    hybrid = attached(WIRES[wire], model=plain)

    @hypothesis.given(scales, st.floats(1e-4, 1.0))
    def law(scale, dt):
        here, state = drawn(hybrid, scale)
        control = control_of(here, state)
        after = ist.step(here, state, control, dt)
        without = ist.step(dataclasses.replace(here, networks=()), state, control, dt)
        allowed = kinetic(here, state.q, without.v)
        assert kinetic(here, state.q, after.v) <= (1.0 + 1e-9) * allowed

    law()


@pytest.mark.parametrize("wire", WIRES)
def test_drag_alone_never_makes_sliders_faster(wire):
    hybrid = attached(WIRES[wire], model=MODELS["sliders"]())

    @hypothesis.settings(max_examples=10)
    @hypothesis.given(scales, st.floats(1e-4, 1.0), st.sampled_from([1, 3]))
    def law(scale, dt, substeps):
        here, state = drawn(hybrid, scale)
        motion = ist.rollout(here, state, None, dt=dt, steps=10_000, substeps=substeps)
        energy = kinetic(here, state.q, motion.v)
        assert np.all(np.diff(energy) <= 1e-9 * energy[0])

    law()


def test_a_strong_matrix_takes_the_energy_of_unequal_sliders():
    hybrid = attached(WIRES["one matrix"], model=MODELS["sliders"]())
    hybrid = hybrid.set("link/mass", np.array([1.0, 100.0]))
    hybrid = eqx.tree_at(lambda m: m.networks[0].net.value, hybrid, np.array([1e6, 0.0, 0.1]))
    state = ist.State(np.zeros(2), np.array([1.0, 0.0]))
    after = ist.step(hybrid, state, None, 0.01)
    assert kinetic(hybrid, state.q, after.v) < kinetic(hybrid, state.q, state.v)


@pytest.mark.parametrize(
    "options", [{"integrator": "rk4"}, {"integrator": "explicit_euler"}, {"explicit": True}]
)
def test_an_explicit_scheme_says_that_drag_may_create_energy(options):
    hybrid = attached(WIRES["joints"], model=MODELS["sliders"]())
    with pytest.warns(StepWarning, match=r"Dissipative networks \('passive_torque'\) explicitly"):
        ist.step(hybrid, ist.State.neutral(hybrid), None, 0.01, **options)
