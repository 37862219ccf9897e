"""`isthmus posterior` and `isthmus randomise`: a study -> samples, a page, models; stopped, resumed, refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

import isthmus as ist
from isthmus.cli import sampling
from isthmus.cli.main import main
from isthmus.posteriors import infer

STUDY = """robot = "robot.safetensors"
logs = ["log.csv"]

[loss]
kind = "whole_run"
noise = 5e-3

[[free]]
name = "link/*/mass"
low = 0.2
high = 3.0

[[free]]
name = "joint/*/damping"
low = 0.0
high = 1.0
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a study of a driven pendulum."""
    monkeypatch.chdir(tmp_path)
    model = ist.library.pendulum(1, damping=0.2)
    torque = 2.0 * np.sin(0.1 * np.arange(80))[:, None]
    m = ist.rollout(model, ist.State([0.5], [0.0]), torque, 0.02)
    rng = np.random.default_rng(0)
    q = np.asarray(m.q) + 5e-3 * np.concatenate([np.zeros((1, 1)), rng.standard_normal((80, 1))])
    table = np.concatenate(
        [np.asarray(m.t)[:, None], q, m.v, np.append(torque, [[0.0]], 0)], axis=1
    )
    np.savetxt("log.csv", table, delimiter=",", comments="", header="t,q1,v1,tau1", fmt="%.12g")
    ist.save(model, "robot.safetensors")
    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.setitem(infer.NAMES, "laplace", lambda: ist.Laplace(draws=200))
    return tmp_path


def written_masses(place) -> list[float]:
    """The masses in the files that the index names, which are those in the index."""
    found = []
    for line in (place / "models" / "index.csv").read_text().splitlines()[1:]:
        name, mass, _ = line.split(",")
        assert f'<mass value="{float(mass):.6g}'[:18] in (place / "models" / name).read_text()
        found.append(float(mass))
    return found


def test_samples_are_printed_written_drawn_and_become_models(place, capsys):
    assert main(["posterior", "study.toml"]) == 0
    out = capsys.readouterr().out
    assert "joint/joint_1/damping" in out
    assert (
        "wrote posterior: posterior.json, posterior.npz, model.safetensors, posterior.html" in out
    )
    text = (place / "posterior" / "posterior.html").read_text()
    assert ">joint_1 [rad]<" in text  # coordinates have their names and units
    assert "q[0]" not in text
    assert "Predictions" in text
    assert "Pairs" in text
    turned = re.findall(
        r"rotate\(-90\)[^>]*>([^<]*)<", text.split("Pairs")[1].split("Predictions")[0]
    )
    assert turned  # their room is the height of a picture, some 19 letters
    assert max(map(len, turned)) <= 18
    assert main(["posterior", "study.toml"]) == 2
    assert "--resume goes on, --replace overwrites it" in capsys.readouterr().err
    assert main(["posterior", "study.toml", "--resume", "--method", "smc"]) == 2
    assert "resume it with --method laplace" in capsys.readouterr().err

    assert main(["randomise", "posterior", "--count", "3"]) == 0
    said = capsys.readouterr()
    assert "wrote models: 3 models and index.csv" in said.out
    assert len(set(written_masses(place))) == 3
    assert main(["randomise", "posterior", "--count", "3"]) == 2
    assert "holds models already" in capsys.readouterr().err
    assert main(["randomise", "posterior", "--count", "300", "--out", "other"]) == 2
    assert "300 models cannot be drawn" in capsys.readouterr().err


def test_models_are_drawn_from_the_errors_of_a_fit(place, capsys):
    assert main(["fit", "study.toml", "--no-check"]) == 0
    assert main(["randomise", "fit", "--count", "40", "--to", "urdf"]) == 0
    fit = ist.Fit.load("fit")
    masses = np.array(written_masses(place))
    e = fit["link/rod_1/mass"]
    assert abs(masses.mean() - e.value) < e.error
    assert 0.6 < masses.std() / e.error < 1.5


def test_ctrl_c_keeps_the_samples_and_resume_goes_on(place, capsys, monkeypatch):
    real = sampling.posterior

    def interrupted(problem, method, *, resume, listen):
        def stop(so_far):
            listen(so_far)
            raise KeyboardInterrupt

        return real(problem, ist.SMC(32), resume=resume, listen=stop)

    monkeypatch.setattr(sampling, "posterior", interrupted)
    assert main(["posterior", "study.toml", "--method", "smc"]) == 130
    assert "the finished samples are written, --resume goes on" in capsys.readouterr().err
    assert len(ist.Posterior.load("posterior").samples) == 32
    monkeypatch.setattr(
        sampling, "posterior", lambda p, m, **options: real(p, ist.SMC(32), **options)
    )
    assert main(["posterior", "study.toml", "--method", "smc", "--resume"]) == 0
    assert ist.Posterior.load("posterior").complete


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["posterior"], "needs a study file"),
        (["posterior", "robot.urdf"], "needs a study file"),
        (["posterior", "study.toml", "--resume"], "holds no posterior to resume"),
        (["posterior", "study.toml", "--method", "gibbs"], "cannot be 'gibbs'"),
        (["randomise"], "needs the folder of a fit or posterior"),
        (["randomise", "nowhere"], "holds neither a fit nor a posterior"),
        (["randomise", "nowhere", "--count", "0"], "--count must be a whole number from 1"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(place, capsys, arguments, said):
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
