"""The swimmer study runs from end to end in its small version; its truth is MuJoCo's."""

import json

import numpy as np
import pytest

import isthmus as ist
from isthmus.cli.main import main
from isthmus.errors import BadOption
from isthmus.experiments import swimmer
from isthmus.experiments.baselines import in_head, out_of_head
from isthmus.experiments.run import Settings
from isthmus.experiments.swimmer import METHODS
from isthmus.experiments.swimmer_truth import INNER, MEDIA, ROW, Medium, swim

pytest.importorskip("mujoco")


def test_in_vacuum_the_unknown_system_is_our_own():
    model = ist.library.swimmer(3).set("gravity", 0.0)
    truth = swim(model, Medium("vacuum", 0.0, 0.0), 40, seed=1)
    torque = ist.Control(torque=truth.signals["joint/control"][:-1])
    own = ist.rollout(model, truth.state(0), torque, ROW, substeps=round(ROW / INNER))
    np.testing.assert_allclose(own.q, truth.q, atol=1e-10)


def test_water_takes_energy_that_air_leaves():
    model = ist.library.swimmer(3).set("gravity", 0.0)
    speed = {
        name: np.abs(swim(model, MEDIA[name], 300, seed=0).v[:, 3:]).mean()
        for name in ("water5", "air")
    }
    assert speed["water5"] < 0.7 * speed["air"]


def test_velocities_turn_into_the_head_and_back():
    q, v = np.random.default_rng(0).normal(size=(2, 7, 5))
    np.testing.assert_allclose(out_of_head(q, in_head(q, v)), v, atol=1e-12)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.compiles_much("a whole study")
@pytest.mark.loose
def test_the_study_writes_its_table_its_figures_and_its_numbers(tmp_path, capsys):
    assert main(["reproduce", "swimmer", "--quick", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert all(method in printed for method in METHODS)
    errors = json.loads((tmp_path / "numbers.json").read_text())["numbers"]["median"]["water, 5 °C"]
    assert errors["hybrid"]["q 1-200"] < 0.5 * errors["plain"]["q 1-200"]
    assert {p.name for p in tmp_path.glob("*.png")} == {"motion_1.png", "errors.png"}
    assert {p.stem for p in tmp_path.glob("*.safetensors")} == {
        "water5_hybrid", "water5_hybrid_dissipative",
    }  # fmt: skip


def test_saved_models_are_judged_on_a_file_of_the_published_format(shared_data, tmp_path):
    with np.load(shared_data / "swimmer03_mujoco.npz") as file:
        np.savez(tmp_path / "few.npz", density3000=file["density3000"][:2, :41])
    model = ist.library.swimmer(3).set("gravity", 0.0)
    damped = model.set("joint/*/damping", 1e-4)
    settings = Settings(judge=str(tmp_path / "few.npz"))
    found = swimmer.judged(settings, {"vacuum": model, "damped": damped}, {"links": 3})
    errors = found.numbers["errors"]
    assert errors["vacuum"] == errors["plain"]
    assert errors["damped"] != errors["plain"]
    with pytest.raises(BadOption, match="5 degrees of freedom, the saved models 6"):
        swimmer.judged(settings, {}, {"links": 4})


def test_an_unknown_study_or_medium_is_refused_by_name(capsys):
    assert main(["reproduce", "swmmer"]) == 2
    assert "Did you mean 'swimmer'" in capsys.readouterr().err
    assert main(["reproduce", "swimmer", "--set", "media=oil"]) == 2
    assert "'oil'" in capsys.readouterr().err
