"""Networks in a fit: held-out motion judges them, and nothing else looks at it."""

from __future__ import annotations

import dataclasses
import functools
import warnings

import jax
import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadOption, FitWarning
from isthmus.identify import cross
from isthmus.identify.cross import Tried, set_aside, try_penalties
from isthmus.identify.predict import Prediction
from isthmus.study.run import earlier
from tests.identify.motions import DT, SINGLE

WIRE = ist.Wire("joint/passive_torque", reads=["joint/velocity"], net=ist.MLP(width=3, depth=1))
PHYSICS = [ist.Free("link/*/mass", low=0.5, high=2.0), ist.Free("joint/*/damping")]
EVERYTHING = [*PHYSICS, ist.Free("network/*")]
SEARCH = ist.LevenbergMarquardt(steps=30)
COMPLETE = SINGLE.set("link/mass", 1.3)
LACKING = COMPLETE.set("joint/friction", 0.6)


def driven(truth: ist.Model, seed: int, drive: float = 1.0) -> ist.Motion:
    """Two seconds of a driven pendulum, with noise."""
    rng = np.random.default_rng(seed)
    t = DT * np.arange(201)[:, None]
    u = drive * (np.sin((2.0 + seed) * t + seed) + 0.5 * np.sin(7.3 * t))
    clean = ist.rollout(truth, ist.State([0.8 - 0.3 * seed], [0.0]), u[:-1], DT)
    q, v = (x + s * rng.standard_normal(x.shape) for x, s in ((clean.q, 1e-3), (clean.v, 1e-2)))
    return ist.Motion(clean.t, q, v, {"joint/control": u})


@functools.cache
def hybrid() -> ist.Model:
    return ist.Blueprint([WIRE]).attach(SINGLE, key=jax.random.key(0))


def problem(truth: ist.Model, **options) -> ist.Problem:
    """Two runs to fit and one that is held out."""
    given = {
        "loss": ist.Windows(20),
        "noise": 1e-3,
        "free": EVERYTHING,
        "heldout": [driven(truth, 2)],
    }
    model = SINGLE if options.get("free") is PHYSICS else hybrid()
    return ist.Problem(model, [driven(truth, seed) for seed in range(2)], **given | options)


def faster() -> ist.Motion:
    """Motion that is nothing like the fitted one."""
    return driven(LACKING, 2, drive=3.0)


def fitted(asked: ist.Problem) -> ist.Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return ist.fit(asked, SEARCH)


@pytest.fixture(scope="module")
def kept() -> ist.Fit:
    """A fit in which a network stands for the friction that the model lacks."""
    return fitted(problem(LACKING, weight_penalty="cross"))


@pytest.fixture(scope="module")
def judged_by_faster_motion() -> ist.Fit:
    """The same, but for what is held out."""
    heldout = {"heldout": [faster()], "keep_networks": True}
    return fitted(problem(LACKING, weight_penalty="cross", **heldout))


def test_where_physics_is_complete_the_answer_is_that_without_the_network(tmp_path):
    asked = problem(COMPLETE)
    with pytest.warns(
        FitWarning, match="do not lower the error of held-out motion: they were left"
    ):
        found = ist.fit(asked, SEARCH)
    plain = ist.fit(problem(COMPLETE, free=PHYSICS), SEARCH)
    assert found.model.networks == ()
    assert found.estimates == plain.estimates
    assert found.heldout == plain.heldout
    np.testing.assert_array_equal(found.covariance, plain.covariance)
    without, with_ = found.networks.errors["joint/position"]
    assert without == plain.heldout["joint/position"][1] < with_ / 0.95
    first = "Held out, without the networks and with them: joint/position"
    assert str(found).startswith(
        f"{first} {without:.4g} without, {with_:.4g} with; the networks are left out"
    )
    again = ist.Fit.load(found.save(tmp_path / "fit"))
    assert again.networks == found.networks
    assert str(again) == str(found)
    first_row, second_row = earlier(asked, tmp_path / "fit")  # to resume from
    weights = asked.parameters.is_weight()
    np.testing.assert_array_equal(first_row[weights], second_row[weights])
    np.testing.assert_allclose(second_row[~weights], [e.value for e in found.estimates.values()])
    assert first in ist.export_report(again, tmp_path / "fit.html", problem=asked).read_text()


def test_weights_alone_may_be_left_out_too():
    """Then nothing is fitted, and the answer is the model without the network."""
    log = ist.rollout(SINGLE, ist.State([1.0], [0.0]), None, DT, 60)
    free = [ist.Free("network/*")]
    asked = ist.Problem(hybrid(), [log, log[20:]], free=free, heldout=1, loss=ist.Windows(20))
    with pytest.warns(FitWarning, match="left out"):
        found = ist.fit(asked, ist.LBFGS(steps=1))
    assert found.estimates == {}
    assert jax.tree.structure(found.model) == jax.tree.structure(SINGLE)
    assert str(found)


def test_where_something_is_missing_the_network_stays_and_predicts_better(kept):
    without, with_ = kept.networks.errors["joint/position"]
    assert kept.networks.kept
    assert with_ == kept.heldout["joint/position"][1] < 0.7 * without
    assert [wired.name for wired in kept.model.networks] == ["passive_torque"]


def test_a_fit_gives_its_networks_the_range_of_the_fitted_motions(kept):
    speeds = np.concatenate([driven(LACKING, seed).v for seed in range(2)])
    np.testing.assert_array_equal(kept.model.networks[0].seen.ravel(), [speeds.min(), speeds.max()])


def test_held_out_rows_outside_of_the_range_are_told(judged_by_faster_motion):
    found = judged_by_faster_motion
    low, high = found.model.networks[0].seen.ravel()
    rows = int(np.sum((faster().v < low) | (faster().v > high)))
    assert found.networks.outside == {"passive_torque": (rows, 201)}
    assert rows > 0
    assert found.networks.kept
    assert not found.networks.helps
    assert f"Held out: {rows} of 201 rows outside of the range that the network" in str(found)


def test_rows_of_a_prediction_outside_of_the_range_are_counted(kept, judged_by_faster_motion):
    free = [ist.Free("start/position")]
    asked = ist.Problem(kept.model, faster(), free=free, loss=ist.Windows(20))
    found = Prediction((), 0, asked, np.zeros(0)).as_dict()
    assert found["outside"] == judged_by_faster_motion.networks.outside


def test_the_penalty_is_chosen_without_a_look_at_held_out_rows(kept, judged_by_faster_motion):
    one, two = kept, judged_by_faster_motion
    assert one.settings["penalties_tried"] == two.settings["penalties_tried"]
    assert one.settings["weight_penalty"] == two.settings["weight_penalty"] > 0.0
    np.testing.assert_array_equal(one.x, two.x)
    assert one.estimates == two.estimates
    assert one.heldout != two.heldout


def test_a_quarter_of_every_run_is_set_aside():
    asked = problem(COMPLETE)
    aside = set_aside(asked)[asked.windows[0].weight[..., 0] > 0]
    assert 0.2 < aside.mean() < 0.3


def penalties(monkeypatch, error) -> list[float]:
    """Penalties that are tried where `error(penalty)` remains, the one that is taken first."""
    asked = problem(COMPLETE)
    unit = 1.0 / int(asked.parameters.is_weight().sum())
    made = lambda problem, penalty, *rest: Tried(penalty, error(penalty / unit), np.zeros(1), False)
    monkeypatch.setattr(cross, "_tried", made)
    tried = try_penalties(asked, SEARCH, asked.parameters.start[None], 1.0)
    return [round(t.penalty / unit, 9) for t in tried]


@pytest.mark.parametrize(("best", "count"), [(0.01, 6), (1.0, 5), (100.0, 7)])
def test_stronger_penalties_follow_only_where_the_first_one_is_the_best(monkeypatch, best, count):
    found = penalties(monkeypatch, lambda p: 1.0 + abs(np.log10(p / best)))
    assert found[0] == best
    assert len(found) == count


def test_of_penalties_that_predict_about_equally_well_the_strongest_is_taken(monkeypatch):
    assert (
        penalties(monkeypatch, lambda p: 1.0 if p < 0.005 else 1.04 if p < 5.0 else 2.0)[0] == 1.0
    )


def test_what_becomes_of_networks_is_said(kept):
    """Also where users want to keep them, and where nothing is held out."""
    useless = dataclasses.replace(kept.networks, helps=False)
    assert kept.networks.warning == ""
    assert "they were kept, as keep_networks=True asks for" in useless.warning
    alone = dataclasses.replace(kept, networks=None, heldout=None)
    assert str(alone).startswith("No motion was held out: whether the networks help is not known")


def test_a_penalty_needs_weights_and_a_meaning():
    with pytest.raises(BadOption, match="for weights of networks, and none are free"):
        problem(COMPLETE, free=PHYSICS, weight_penalty="cross")
    with pytest.raises(BadOption, match="weight_penalty must be a number from 0"):
        problem(COMPLETE, weight_penalty="auto")
