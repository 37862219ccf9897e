"""Numbers of a model by name: whole leaves, rows, patterns; and models by leaves, printed, and wrong."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import Model, State, compile_model, library
from isthmus.errors import BadModel, BadShape, UnknownName
from isthmus.model import address, coordinates
from isthmus.model.model import leaf_fields
from tests import trees

minus, normalise, plus, rate = map(
    jax.jit, (coordinates.minus, coordinates.normalise, coordinates.plus, coordinates.rate)
)

ARM = compile_model(trees.arm())
ALL = compile_model(trees.menagerie())


def test_a_row_has_two_names_that_mean_the_same():
    np.testing.assert_array_equal(ARM.get("link/arm2/com"), ARM.get("link/com[arm2]"))
    np.testing.assert_array_equal(ARM.get("link/arm2/com"), ARM.link_com[1])
    np.testing.assert_array_equal(ARM.get("joint/axis4/armature"), ARM.get("joint/armature[axis4]"))
    assert np.shape(ARM.get("link/arm2/mass")) == ()


def test_a_pattern_gives_all_rows_it_matches():
    np.testing.assert_array_equal(ARM.get("link/*/mass"), ARM.link_mass)
    np.testing.assert_array_equal(ALL.get("joint/table/armature"), [0.1, 0.2, 0.05])
    np.testing.assert_array_equal(ALL.get("joint/*l*/damping"), ALL.get("joint/damping[*l*]"))
    assert ARM.get("link/arm7/inertia").shape == (6,)


def test_a_pattern_may_list_characters():
    np.testing.assert_array_equal(ARM.get("link/arm[67]/mass"), ARM.link_mass[5:7])
    np.testing.assert_array_equal(ARM.get("link/mass[arm[5-7]]"), ARM.link_mass[4:7])
    np.testing.assert_array_equal(ARM.get("link/arm[!1-5]/com"), ARM.link_com[5:7])
    assert np.shape(ARM.get("link/arm[6]/mass")) == (1,)
    with pytest.raises(UnknownName, match=r"nothing here is called 'arm\[z-a\]'"):
        ARM.get("link/arm[z-a]/mass")


def test_a_name_with_brackets_is_itself_and_no_pattern():
    assert address.matching("arm[1]", ["arm1", "arm[1]"]) == ["arm[1]"]
    assert address.picks_one("arm[1]", ["arm[1]"])
    assert not address.picks_one("arm[1]", ["arm1"])


def test_every_leaf_can_be_read_and_written_by_its_name():
    cube = library.cube(contact="impulse")
    for field, spec in leaf_fields():
        model = cube if spec.rows == "contact" else ALL
        value = getattr(model, field)
        np.testing.assert_array_equal(model.get(spec.name), value)
        np.testing.assert_array_equal(model.set(spec.name, value).get(spec.name), value)


def test_setting_changes_what_was_named_and_nothing_else():
    changed = (
        ARM.set("link/arm3/mass", 9.0)
        .set("joint/*/damping", 0.5)
        .set("link/com[arm1]", (1.0, 2.0, 3.0))
    )
    assert ARM.get("link/arm3/mass") != 9.0
    np.testing.assert_array_equal(
        changed.link_mass, np.where(np.arange(7) == 2, 9.0, ARM.link_mass)
    )
    np.testing.assert_array_equal(changed.joint_damping, 0.5)
    np.testing.assert_array_equal(changed.link_com[0], [1.0, 2.0, 3.0])
    same = {f for f, _ in leaf_fields()} - {"link_mass", "joint_damping", "link_com"}
    assert all(np.array_equal(getattr(changed, f), getattr(ARM, f)) for f in same)


def test_setting_works_while_tracing():
    slope = jax.grad(lambda m: jnp.sum(jnp.square(ARM.set("link/arm3/mass", m).link_mass)))(3.0)
    np.testing.assert_allclose(slope, 6.0)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ARM.get("link/mas"), UnknownName, r"'link/mas'.*Did you mean 'link/mass'\?"),
        (lambda: ARM.get("link/arm77/mass"), UnknownName, r"'arm77'.*Did you mean 'arm7'\?"),
        (
            lambda: ARM.set("joint/axs3/damping", 1.0),
            UnknownName,
            r"'axs3'.*Did you mean 'axis3'\?",
        ),
        (lambda: ALL.get("joint/weld/damping"), UnknownName, "no number of its own"),
        (lambda: ARM.link("hand7"), UnknownName, "no link is called 'hand7'"),
        (lambda: ARM.joint("axis0"), UnknownName, "Did you mean 'axis"),
        (lambda: ARM.point("hnd"), UnknownName, "Did you mean 'hand'"),
        (
            lambda: ARM.set("link/mass", np.ones(3)),
            BadShape,
            r"'link/mass' has shape \(7,\).*\(3,\)",
        ),
        (lambda: ARM.set("link/arm1/mass", np.nan), BadModel, "must be a finite number"),
        (lambda: ARM.set("link/arm1/mass", np.inf), BadModel, "must be a finite number"),
    ],
)
def test_a_wrong_name_or_value_is_refused_in_words(call, kind, words):
    with pytest.raises(kind, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_every_number_of_a_model_is_a_leaf_in_double_precision():
    leaves = jax.tree.leaves(ALL)
    assert len(leaves) == len(leaf_fields())
    assert all(isinstance(x, np.ndarray) and x.dtype == np.float64 for x in leaves)
    again = jax.tree.map(lambda x: x, ALL)
    assert isinstance(again, Model)
    assert jax.tree.structure(again) == jax.tree.structure(ALL)


def test_models_of_equal_topology_share_compiled_code():
    assert jax.tree.structure(ARM) == jax.tree.structure(ARM.set("link/mass", 1.0))
    assert hash(jax.tree.structure(ARM)) == hash(jax.tree.structure(compile_model(trees.arm())))


def test_a_printed_model_shows_its_tree():
    text = str(ALL)
    assert text.splitlines()[0].startswith(f"menagerie: 8 links, {ALL.dof} degrees of freedom")
    for words in ("arm", "mimics elbow", "prescribed", "fixed", "points: tip, lamp, mark"):
        assert words in text


def test_a_displacement_leads_from_one_position_to_another(key):
    a, b = (State.random(ALL, k).q for k in jax.random.split(key))
    found = plus(ALL, b, minus(ALL, a, b))
    sign = np.sign(np.asarray(found) * np.asarray(a))
    np.testing.assert_allclose(found, np.where(sign < 0, -a, a), atol=1e-12)
    np.testing.assert_allclose(minus(ALL, a, jnp.asarray(a)), 0.0, atol=1e-15)


def test_the_rate_of_positions_is_the_derivative_of_a_displacement(key):
    state = State.random(ALL, key)
    q, v = jnp.asarray(state.q), jnp.asarray(state.v)
    along = jax.jit(lambda h: jax.jvp(lambda h: plus(ALL, q, h * v), (h,), (jnp.ones(()),))[1])
    np.testing.assert_allclose(rate(ALL, q, v), along(0.0), atol=1e-12)
    np.testing.assert_allclose(normalise(ALL, q), q, atol=1e-15)


def test_neutral_and_random_states_fit_the_model(key):
    neutral = State.neutral(ALL)
    assert neutral.q.shape == (ALL.nq,)
    assert neutral.v.shape == (ALL.dof,)
    np.testing.assert_array_equal(State.random(ALL, key).q, State.random(ALL, key).q)
