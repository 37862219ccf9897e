"""A model and its networks in one file: the same to the bit; what is no such file is refused in one sentence."""

from __future__ import annotations

import dataclasses
import json
import struct
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

import isthmus as ist
from isthmus.describe.description import EXTRAS
from isthmus.errors import BadFile, BadOption, MissingFile

ROBOT = ist.library.pendulum(2, damping=0.1)
START = ist.State(q=[0.5, -0.3], v=[0.2, 0.1])
MOTION = ["joint/position", "joint/velocity"]


class MyNet(eqx.Module):
    """A network of the user's: other modules, a function, a number and text in it."""

    inner: eqx.nn.MLP
    weights: dict[str, list]
    act: object
    slope: float
    most: object
    kind: str = eqx.field(static=True)

    def __call__(self, x):
        return self.act(self.inner(x)) * self.slope + self.weights["a"][0]


def wobble(x):
    """A function of the user's."""
    return jnp.sin(x) * x


def my_net(key, act=wobble, most=np.inf):
    return MyNet(eqx.nn.MLP(4, 2, 3, 1, key=key), {"a": [jnp.ones(2)]}, act, 0.1, most, "ä")


def wires(key) -> dict[str, ist.Wire]:
    torque = "joint/passive_torque"
    return {
        "MLP": ist.Wire(torque, MOTION, ist.MLP(4, 2, "elu"), angles="raw", output_scale=2.5),
        "Linear": ist.Wire("joint/torque", ["previous/joint/acceleration"], ist.Linear()),
        "Spline": ist.Wire("joint/damping", "joint/velocity", ist.Spline(high=2.5), rows="each"),
        "Constant": ist.Wire("link/mass[rod_1]", (), ist.Constant(), mode="scale"),
        "GRU": ist.Wire(torque, MOTION, ist.GRU(3), rows="each"),
        "Filter": ist.Wire("joint/torque", ["joint/torque", "extra/heat"], ist.Filter(2)),
        "replace": ist.Wire("joint/motor_torque", ["time"], ist.MLP(2, 0), mode="replace"),
        "Dissipative": ist.Wire(torque, MOTION, ist.Dissipative(ist.MLP(3, 1), coupled=True)),
        "Conservative": ist.Wire(torque, "joint/position", ist.Conservative(ist.MLP(3, 1))),
        "Internal": ist.Wire("link/external_force", MOTION, ist.Internal(ist.Linear(), ("rod_1", "rod_2"))),
        "Lagrangian": ist.Wire("joint/armature", "joint/position", ist.Lagrangian(ist.MLP(3, 1))),
        "eqx.nn.MLP": ist.Wire(torque, MOTION, eqx.nn.MLP(6, 2, 3, 2, jax.nn.gelu, key=key)),
        "own": ist.Wire(torque, MOTION, ist.Dissipative(my_net(key)), angles="raw", name="own"),
    }  # fmt: skip


def trained(*wires: ist.Wire, key) -> ist.Model:
    """The robot with these wires, all of whose numbers say something."""
    hybrid = ist.Blueprint(wires).attach(ROBOT, key=key)
    leaves, tree = jax.tree.flatten(hybrid.networks)
    noise = np.random.default_rng(0)
    leaves = [x + 0.02 * noise.standard_normal(x.shape) for x in leaves]
    return eqx.tree_at(lambda m: m.networks, hybrid, jax.tree.unflatten(tree, leaves))


def swing(model: ist.Model) -> ist.Motion:
    torque, heat = np.ones((20, 2)), np.linspace(0.0, 1.0, 20)
    control = ist.Control(torque=torque, extra={"heat": heat})
    return ist.rollout(model, START, control, dt=0.01, record=["joint/torque"])


OWN = {"MyNet": MyNet, "wobble": wobble}


@pytest.mark.parametrize("kind", list(wires(jax.random.key(0))))
def test_a_saved_hybrid_is_the_same_simulator_to_the_bit(kind, key, tmp_path):
    hybrid = trained(wires(key)[kind], key=key)
    ist.save(hybrid, tmp_path / "hybrid.safetensors")
    again = ist.load(tmp_path / "hybrid.safetensors", networks=OWN)
    assert eqx.tree_equal(hybrid, again)
    assert jax.tree.structure(hybrid) == jax.tree.structure(again)
    assert ist.Blueprint.of(again) == ist.Blueprint.of(hybrid)
    assert again.networks[0].plan == hybrid.networks[0].plan
    for leaf in jax.tree.leaves(again):
        assert leaf.dtype == np.float64
        assert leaf.flags.writeable


def test_all_networks_together_move_as_before_to_the_bit(key, tmp_path):
    every = [dataclasses.replace(wire, name=f"n{k}") for k, wire in enumerate(wires(key).values())]
    hybrid = trained(*every, key=key)
    ist.save(hybrid, tmp_path / "hybrid.safetensors")
    again = ist.load(tmp_path / "hybrid.safetensors", networks=OWN)
    motion = swing(hybrid)
    assert np.all(np.isfinite(motion.q))
    assert eqx.tree_equal(swing(again), motion)


@pytest.mark.parametrize("name", ["arm", "cart_pole", "cube", "pusher", "quadruped", "swimmer"])
def test_every_model_of_the_library_comes_back_with_every_number(name, tmp_path):
    model = getattr(ist.library, name)()
    ist.save(model, tmp_path / "model.safetensors")
    assert eqx.tree_equal(model, ist.load(tmp_path / "model.safetensors"))


def test_several_networks_keep_names_order_and_odd_numbers(key, tmp_path):
    robot = ROBOT.set("joint/upper", [np.inf, 2.0])
    some = [wires(key)[kind] for kind in ("MLP", "GRU", "Constant", "eqx.nn.MLP")]
    hybrid = ist.detach(ist.Blueprint(some).attach(robot, key=key), "passive_torque")
    bits = np.array([0x7FF8DEADBEEF0001, 0x8000000000000001, 0x7FF0000000000000], np.uint64)
    hybrid = eqx.tree_at(lambda m: m.gravity, hybrid, bits.view(np.float64))
    ist.save(hybrid, tmp_path / "a.safetensors")
    again = ist.load(tmp_path / "a.safetensors")
    assert [wired.name for wired in again.networks] == [
        "passive_torque_2",
        "mass",
        "passive_torque_3",
    ]
    assert again.gravity.view(np.uint64).tolist() == bits.tolist()
    ist.save(again, tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.safetensors", "b.safetensors"]


def test_the_content_and_not_the_name_says_what_a_file_is(key, tmp_path):
    hybrid = trained(wires(key)["MLP"], key=key)
    ist.save(hybrid, tmp_path / "hybrid.safetensors")
    (tmp_path / "hybrid.safetensors").rename(tmp_path / "hybrid.urdf")
    assert eqx.tree_equal(ist.load(tmp_path / "hybrid.urdf"), hybrid)
    with pytest.raises(BadOption, match="a saved model, which stays as it is"):
        ist.load(tmp_path / "hybrid.urdf", base="free")
    with pytest.raises(BadOption, match=r"must end in \.safetensors"):
        ist.save(hybrid, tmp_path / "hybrid.urdf")


# what is refused -----------------------------------------------------------------------------------------


def test_classes_and_functions_of_the_users_are_asked_for_by_name(key, tmp_path):
    path = tmp_path / "own.safetensors"
    ist.save(trained(wires(key)["own"], key=key), path)
    with pytest.raises(
        BadOption, match=r"needs your function 'wobble': load it with networks=\{'wobble': wobble\}"
    ):
        ist.load(path, networks={"MyNet": MyNet})
    with pytest.raises(BadOption, match=r"needs your class 'MyNet'.*Did you mean 'MyNett'"):
        ist.load(path, networks={"MyNett": MyNet, "wobble": wobble})
    with pytest.raises(BadOption, match=r"networks\['MyNet'\] must be the class itself"):
        ist.load(path, networks={"MyNet": my_net(key), "wobble": wobble})
    with pytest.raises(BadOption, match=r"networks\['wobble'\] must be a function"):
        ist.load(path, networks={"MyNet": MyNet, "wobble": 3})

    class Other(eqx.Module):
        """A class that is not what it was."""

        inner: eqx.nn.MLP

    with pytest.raises(BadFile, match=r"class 'MyNet' has changed since: .*'act'"):
        ist.load(path, networks={"MyNet": Other, "wobble": wobble})


def test_what_has_no_form_in_a_file_is_named(key, tmp_path):
    path = tmp_path / "model.safetensors"
    for net, what in (
        (my_net(key, act=lambda x: x), "net/module/act' is a function without a name"),
        (my_net(key, most=1j), "net/module/most' is a complex, which cannot be saved"),
    ):
        wire = ist.Wire("joint/torque", MOTION, net, angles="raw")
        with pytest.raises(BadOption, match=what):
            ist.save(ist.Blueprint([wire]).attach(ROBOT, key=key), path)
    batch = eqx.tree_at(lambda m: m.link_mass, ROBOT, np.ones((3, 2)))
    with pytest.raises(BadOption, match="not a batch"):
        ist.save(batch, path)
    with pytest.raises(BadOption, match="traced"):
        jax.jit(lambda m: ist.save(m, path))(ROBOT)
    assert not path.exists()


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "hybrid.safetensors"
    key = jax.random.key(0)
    ist.save(trained(wires(key)["MLP"], key=key), path)
    return path


def refused(data: bytes, path: Path) -> str:
    """The sentence by which these bytes are refused."""
    path.write_bytes(data)
    with pytest.raises(BadFile) as bad:
        ist.load(path)
    sentence = str(bad.value)
    assert path.name in sentence
    assert "\n" not in sentence
    return sentence


def test_a_part_of_a_file_is_refused(saved, tmp_path):
    data = saved.read_bytes()
    for length in (0, 1, 7, 8, 9, 100, len(data) // 2, len(data) - 8, len(data) - 1):
        what = "is empty" if length == 0 else "is no saved model, or was not written to its end"
        assert what in refused(data[:length], tmp_path / "part.safetensors")
    assert "not written to its end" in refused(data + b"\0" * 8, tmp_path / "more.safetensors")


def test_a_damaged_file_is_refused_wherever_the_damage_is(saved, tmp_path):
    data = saved.read_bytes()
    places = np.random.default_rng(1).integers(0, len(data), 60)
    for place in (0, 3, 8, 9, *places, len(data) - 1):
        flipped = bytearray(data)
        flipped[place] ^= 1 << int(place) % 7
        refused(bytes(flipped), tmp_path / "damaged.safetensors")


def test_other_files_are_refused(saved, tmp_path):
    noise = np.random.default_rng(2).bytes(5000)
    assert "is no saved model" in refused(noise, tmp_path / "noise.safetensors")
    assert "is no saved model" in refused(b"<robot/>", tmp_path / "robot.safetensors")
    other = write_tensors({"a": np.zeros(3)})
    assert "no model that isthmus saved" in refused(other, tmp_path / "other.safetensors")
    with pytest.raises(MissingFile, match=r"Did you mean 'hybrid\.safetensors'"):
        ist.load(saved.with_name("hybird.safetensors"))


def rewritten(saved: Path, change, change_arrays=lambda arrays: None) -> bytes:
    """The file after somebody changed it by hand and mended the checksum."""
    from isthmus.files.save import _checksum

    data = saved.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["isthmus"])
    arrays = read_tensors(data)
    change(header["content"])
    change_arrays(arrays)
    header["checksum"] = _checksum(header["content"], arrays)
    return write_tensors(arrays, {"isthmus": json.dumps(header, ensure_ascii=False)})


def test_a_file_of_a_newer_version_is_refused_with_its_version(saved, tmp_path):
    newer = rewritten(saved, lambda c: c.update(format=9, versions={"isthmus": "9.1"}))
    assert "saved by isthmus 9.1 in format 9, and this version reads up to 2" in refused(
        newer, tmp_path / "newer.safetensors"
    )


def test_a_file_of_format_1_is_read_with_the_numbers_that_it_lacks_switched_off(saved, tmp_path):
    def before(content):
        content.update(format=1)
        for field in ("current_driven", "biased", "sticking", "load_rubbing", "cogging", "playing"):
            del content["model"][field]
        for field in [name for name in content["model"] if name.startswith("contact_")]:
            del content["model"][field]

    def without(arrays):
        for name in [f"joint/{n}" for n in EXTRAS] + [
            n for n in arrays if n.startswith("contact/")
        ]:
            del arrays[name]

    older = tmp_path / "older.safetensors"
    older.write_bytes(rewritten(saved, before, without))
    assert eqx.tree_equal(ist.load(older), ist.load(saved))


def set_net(**fields):
    """Puts something into the first layer of the network."""
    return lambda c: c["networks"][0]["net"]["fields"]["layers"]["tuple"][0].update(fields)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda c: c["model"].update(parents=[-1, 7]), "'parents' names a row 7"),
        (lambda c: c["model"].update(parents=[0, 0]), "comes before its parent"),
        (lambda c: c["model"].update(link_names=["a"]), "differ in length"),
        (lambda c: c["model"].update(link_names="ab"), "'link_names' cannot be ab"),
        (lambda c: c["model"].update(joint_kinds=["revolute", "odd"]), "no joint of kind 'odd'"),
        (lambda c: c["model"].update(joint_kinds=["revolute", "free"]), "has shape (2,)"),
        (lambda c: c["model"].pop("parents"), "should differ in ['parents']"),
        (lambda c: c.update(model=3), "it has no topology"),
        (lambda c: c.update(networks=[]), "is damaged"),
        (lambda c: c.pop("networks"), "is damaged"),
        (lambda c: c.update(blueprint="[[wire]"), "this is no TOML"),
        (lambda c: c.update(blueprint=c["blueprint"].replace("velocity", "speed")), "no signal is called"),
        (lambda c: c["networks"][0]["plan"].update(rows=[0]), "was wired otherwise"),
        (lambda c: c["networks"][0]["net"].update({"class": "isthmus.Layer"}), "has changed since"),
        (set_net(**{"class": "os.system"}), "there is no class 'os.system'"),
        (set_net(**{"class": "equinox.nn.relu"}), "there is no class 'equinox.nn.relu'"),
        (set_net(fields={"weight": {"array": "gravity"}, "bias": {"array": "gravity"}}), "not fit its wire"),
        (set_net(fields={"weight": {"array": "nowhere"}, "bias": None}), "lacks the numbers 'nowhere'"),
        (set_net(fields={"weight": {"function": "os.system"}, "bias": 0}), "no function 'os.system'"),
        (set_net(fields={"weight": {"evil": 1}, "bias": 0}), "says nothing"),
    ],
)  # fmt: skip
def test_a_file_that_was_changed_by_hand_is_refused_and_runs_nothing(change, what, saved, tmp_path):
    assert what in refused(rewritten(saved, change), tmp_path / "changed.safetensors")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda a: a.pop("link/mass"), "lacks the numbers 'link/mass'"),
        (lambda a: a.update({"link/mass": np.ones(3)}), "'link/mass' has shape (3,)"),
        (lambda a: a.update({"link/mass": np.ones(2, np.float32)}), "not float64"),
        (lambda a: a.update({"network/passive_torque/gain": np.ones(3)}), "have the wrong shape"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(change, what, saved, tmp_path):
    data = rewritten(saved, lambda content: None, change)
    assert what in refused(data, tmp_path / "changed.safetensors")
