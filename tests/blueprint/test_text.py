"""Blueprints as TOML: the same after writing and reading; every fault of a text in one message."""

from __future__ import annotations

import equinox as eqx
import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isthmus as ist
from isthmus.errors import BadBlueprint, BadFile, BadOption, BadWiring, MissingFile

ROBOT = ist.library.pendulum(2)
FRICTION = ist.Wire(
    "joint/passive_torque",
    ["joint/position", "joint/velocity"],
    ist.Dissipative(ist.MLP(width=8, depth=1), coupled=True),
    name="friction",
)
TEXT = """\
[[wire]]
target = "joint/passive_torque"
reads = ["joint/position", "joint/velocity"]
net = { kind = "Dissipative", net = { kind = "MLP", width = 8, depth = 1, activation = "tanh" }, coupled = true }
mode = "add"
name = "friction"
"""

sizes = st.integers(1, 1000)
recipes = st.one_of(
    st.builds(
        ist.MLP, sizes, st.integers(0, 9), st.sampled_from("tanh elu relu softplus sine".split())
    ),
    st.builds(ist.Linear),
    st.builds(ist.Constant),
    st.builds(ist.GRU, sizes),
    st.builds(ist.Filter, sizes, st.floats(1e-300, 1.0), st.floats(1.0, allow_infinity=False)),
    st.builds(ist.Spline, st.integers(2, 99), st.floats(-1e300, -1e-9), st.floats(1e-9, 1e300)),
)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
guarded = st.one_of(
    st.builds(ist.Dissipative, recipes, st.booleans()),
    st.builds(ist.Conservative, recipes),
    st.builds(ist.Internal, recipes, st.tuples(names, names)),
    st.builds(ist.Lagrangian, recipes, st.booleans()),
)
options = st.fixed_dictionaries(
    {
        "target": names,
        "reads": st.lists(names),
        "net": st.one_of(recipes, guarded),
        "mode": st.sampled_from(["add", "scale", "replace"]),
        "rows": st.sampled_from(["all", "each"]),
        "angles": st.sampled_from([None, "sincos", "raw"]),
        "output_scale": st.none()
        | st.floats(min_value=0.0, exclude_min=True, allow_infinity=False),
        "name": st.none() | names.filter(lambda name: name and not {*"/*"} & {*name}),
    }
)


@given(st.lists(options, max_size=4))
def test_a_blueprint_is_the_same_after_writing_and_reading(wires):
    blueprint = ist.Blueprint([ist.Wire(**wire) for wire in wires])
    text = blueprint.to_toml()
    assert ist.Blueprint.from_toml(text) == blueprint
    assert ist.Blueprint.from_toml(text).to_toml() == text


def test_a_file_reads_as_people_would_write_it(tmp_path):
    assert ist.Blueprint([FRICTION]).to_toml() == TEXT
    short = '[[wire]]\ntarget = "joint/torque"\nreads = "joint/velocity"\nnet = { kind = "GRU" }\n'
    expected = ist.Blueprint([ist.Wire("joint/torque", ["joint/velocity"], ist.GRU())])
    assert ist.Blueprint.from_toml(short.replace("\n", "\r\n")) == expected
    ist.Blueprint([FRICTION]).save(tmp_path / "friction.toml")
    assert (tmp_path / "friction.toml").read_bytes() == TEXT.encode()
    assert ist.Blueprint.load(tmp_path / "friction.toml") == ist.Blueprint([FRICTION])
    assert [path.name for path in tmp_path.iterdir()] == ["friction.toml"]


def test_what_is_read_can_be_attached(key):
    read, written = ist.Blueprint.from_toml(TEXT), ist.Blueprint([FRICTION])
    assert eqx.tree_equal(read.attach(ROBOT, key=key), written.attach(ROBOT, key=key))


def test_every_fault_of_a_text_is_named_at_once():
    text = """
title = "mine"
[[wire]]
taget = "joint/torque"
net = { kind = "MLB", width = 8 }
[[wire]]
target = "joint/torque"
reads = 7
mode = "ad"
net = { kind = "Dissipative", net = { kind = "MLP", widht = 8 } }
[[wire]]
target = "joint/torque"
rows = "some"
net = { kind = "MLP", width = -1 }
"""
    with pytest.raises(BadBlueprint) as bad:
        ist.Blueprint.from_toml(text)
    found = "\n".join(bad.value.faults)
    for sentence in (
        "a blueprint does not know 'title'.",
        "wire 1 does not know 'taget'. Did you mean 'target'?",
        'wire 1 has no target; say target = "joint/passive_torque".',
        "wire 1, net: there is no kind 'MLB'. Did you mean 'MLP'?",
        "wire 2: reads must be a list of texts, not 7.",
        "wire 2, net Dissipative, net MLP does not know 'widht'. Did you mean 'width'?",
        "wire 3, net MLP: MLP: width must be a whole number from 1, not -1.",
    ):
        assert sentence in found
    assert len(bad.value.faults) == 7
    assert str(bad.value).endswith("[IST303]")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "there is no wire in it; each begins with [[wire]]."),
        ("wire = 3", "wire must be a list of tables"),
        ("wire = [3]", "wire 1 must be a table, [[wire]], not 3."),
        (TEXT[:60], "this is no TOML, or half of it: "),
        ("wire = " + "[" * 5000, "nested too deeply"),
        (TEXT.replace("8", '"8"'), "width must be a whole number, not '8'."),
        (TEXT.replace("coupled = true", "coupled = 1"), "coupled must be true or false, not 1."),
        (TEXT.replace('"add"', '"ad"'), "mode cannot be 'ad'. Did you mean 'add'?"),
        (TEXT.replace('"tanh"', '"tan"'), "no activation is called 'tan'. Did you mean 'tanh'?"),
        (TEXT.replace('kind = "MLP", ', ""), 'wire 1, net Dissipative, net has no kind; say kind = "MLP"'),
        (TEXT.replace("MLP", "Dissipative"), "there is no kind 'Dissipative'."),
        (TEXT + "output_scale = inf", "output_scale must be positive and finite, not inf."),
        ("[[wire]]\ntarget = 'time'\nnet = { kind = 'Spline', high = inf }", "low < high, both finite."),
        ("[[wire]]\ntarget = 'time'\nnet = { kind = 'Filter', slow = nan }", "slow must be a number, not nan."),
        (TEXT.replace('"friction"', "[1]"), "name must be text in quotes, not [1]."),
    ],
)  # fmt: skip
def test_a_wrong_text_is_refused_in_one_sentence(text, what):
    with pytest.raises(BadBlueprint) as bad:
        ist.Blueprint.from_toml(text)
    assert what in bad.value.faults[-1]


def test_a_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "half.toml").write_text(TEXT[:100])
    with pytest.raises(BadFile, match="is not text"):
        ist.Blueprint.load(tmp_path / "binary.toml")
    with pytest.raises(BadBlueprint, match=r"half\.toml: this is no TOML"):
        ist.Blueprint.load(tmp_path / "half.toml")
    with pytest.raises(MissingFile, match=r"Did you mean 'half\.toml'"):
        ist.Blueprint.load(tmp_path / "hlaf.toml")
    with pytest.raises(BadOption, match=r"must end in \.toml"):
        ist.Blueprint([FRICTION]).save(tmp_path / "friction.txt")


def test_a_network_of_ones_own_goes_by_its_name(key):
    mine = eqx.nn.MLP(2, 2, 4, 1, key=key)
    blueprint = ist.Blueprint([ist.Wire("joint/torque", ["joint/velocity"], mine)])
    with pytest.raises(
        BadWiring, match=r"'joint/torque' has a network of your own, MLP, .* give it a name"
    ):
        blueprint.to_toml()
    text = blueprint.to_toml(networks={"Mine": mine})
    assert 'net = { kind = "Mine" }' in text
    assert next(iter(ist.Blueprint.from_toml(text, networks={"Mine": mine}))).net is mine
    with pytest.raises(BadBlueprint, match=r"no kind 'Mine'.*networks=\{'Mine': \.\.\.\}"):
        ist.Blueprint.from_toml(text)
    with pytest.raises(BadBlueprint, match="it takes no options here"):
        ist.Blueprint.from_toml(
            text.replace('"Mine"', '"Mine", width = 3'), networks={"Mine": mine}
        )
    hybrid = blueprint.attach(ROBOT, key=jax.random.key(1))
    (wire,) = kept = ist.Blueprint.of(hybrid)
    with pytest.raises(BadWiring, match="called MLP as one of isthmus is: give it another name"):
        kept.to_toml()
    assert kept.to_toml(networks={"Mine": wire.net}) == text


def test_old_names_work_and_say_what_they_are_called_now(tmp_path):
    path = tmp_path / "friction.toml"
    with pytest.warns(DeprecationWarning, match=r"Blueprint\.write is now Blueprint\.save"):
        ist.Blueprint([FRICTION]).write(path)
    with pytest.warns(DeprecationWarning, match=r"Blueprint\.read is now Blueprint\.load"):
        assert ist.Blueprint.read(path) == ist.Blueprint([FRICTION])
