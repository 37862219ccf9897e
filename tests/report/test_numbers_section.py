"""What a fit found, in words and figures."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

import isthmus as ist
from isthmus.identify.answer.abstract_fit import Estimate
from isthmus.networks.names import unit_at
from isthmus.report.numbers_section import (
    Grade,
    convergence,
    doubts,
    headline,
    islands,
    signal_unit,
)
from isthmus.report.run_section import again, code, setting_lines
from tests.report.fits import Outline, made_up, real


def test_islands_are_drawn_and_those_that_agree_are_counted():
    ends = ((9.0, 3.0, 1.0), (8.0, 1.5, 1.005), (7.0, 6.0, 5.0), (np.nan, np.nan, np.nan))
    drawn = islands(made_up(1, islands=ends))
    Outline(drawn)
    assert "2 of 4 searches ended within 1% of the lowest loss" in drawn
    assert "island 3" in drawn
    assert islands(made_up(1)) is None


def test_many_starts_are_islands_and_survive_on_disk(tmp_path):
    fit = ist.fit(real().problem, start=np.array([[1.0, 0.3], [1.8, 0.6]]))
    assert len(fit.islands) == 2
    assert min(island[-1] for island in fit.islands) == fit.loss == fit.history[-1]
    assert ist.Fit.load(fit.save(tmp_path)).islands == fit.islands


def test_a_unit_is_decided_by_the_kind_of_the_joint():
    cart = ist.library.cart_pole()
    slide, hinge = (cart.joint_names[cart.joint_kinds.index(k)] for k in ("prismatic", "revolute"))
    assert unit_at(cart, f"joint/{slide}/damping", "N·m·s/rad|N·s/m") == "N·s/m"
    assert unit_at(cart, f"joint/{hinge}/damping", "N·m·s/rad|N·s/m") == "N·m·s/rad"
    assert signal_unit(cart, "joint/position") == "rad|m"
    assert signal_unit(ist.library.pendulum(1), "joint/position") == "rad"
    body = ist.library.quadruped()
    assert (
        signal_unit(body, "joint/position")
        == unit_at(body, "joint/trunk/position", "rad|m")
        == "rad|m"
    )
    assert unit_at(body, "joint/trunk/position[2]", "rad|m") == "m"
    assert unit_at(body, "joint/trunk/velocity[3]", "rad/s|m/s") == "rad/s"


def test_the_search_is_called_as_users_call_it():
    inner = {"search": "isthmus.identify.search.lbfgs:LBFGS", "steps": 7}
    outer = {"search": "isthmus.identify.search.horizon:LengtheningHorizon", "inner": inner}
    fit = made_up(1)
    written = code(made_up(1, settings=fit.settings | {"search": outer}))
    assert "ist.fit(problem, ist.LengtheningHorizon(inner=ist.LBFGS(steps=7)))" in written


def rounds(count: int) -> dict:
    """Settings of a search in rounds."""
    local = {"search": "isthmus.identify.search.lbfgs:LBFGS", "reach": float("inf")}
    search = {"search": "isthmus.identify.search.basin_hopping:BasinHopping", "local": local}
    return real().settings | {"search": search | {"rounds": count}}


def test_rounds_are_called_rounds_and_losses_that_agree_are_not_drawn():
    alike = made_up(
        1, history=(1.001, 1.0001, 1.0), islands=((1.001, 1.0), (1.0, 1.0)), settings=rounds(3)
    )
    said = convergence(alike)
    assert "after 3 rounds" in said
    assert "within 1% of that in the first round already" in said
    assert "<svg" not in said
    assert "<svg" in convergence(made_up(1, history=(9.0, 2.0, 1.0), settings=rounds(3)))


def test_more_than_noise_is_a_reason_for_doubt():
    settings = real().settings | {"noise": {"joint/position": 1e-3}}
    assert "12 times the noise" in doubts(made_up(1, noise=12.0, settings=settings))
    windows = doubts(made_up(1, noise=12.0, settings=settings | {"loss": {"kind": "Windows"}}))
    assert "but not that noisy starts bias estimates: compare with MultipleShooting" in windows
    torque = doubts(made_up(1, noise=12.0, settings=settings | {"loss": {"kind": "TorqueLoss"}}))
    assert "the model lacks something. The errors include what that does." in torque
    assert "times the noise" not in doubts(made_up(1, noise=1.1, settings=settings))
    unknown = real().settings | {"noise": {"joint/position": 1.0}}
    assert "times the noise" not in doubts(made_up(1, noise=12.0, settings=unknown))


def test_errors_are_not_said_to_include_what_they_do_not():
    """What a model lacks is looked for only where no weights of networks are free."""
    settings = real().settings | {"noise": {"joint/position": 1e-3}}
    plain = made_up(1, noise=12.0, settings=settings)
    assert "The errors include what that does" in doubts(plain)
    weight = {"network/friction/bias[0]": Estimate(0.1, 0.1, "", 0.0)}
    trained = dataclasses.replace(plain, estimates=plain.estimates | weight)
    assert "the errors do not include what that does" in doubts(trained)


def test_only_a_good_fit_is_green():
    good = Grade(before=1.0, after=0.01, still=2.0, noisy=False)
    colour = lambda **changes: dataclasses.replace(good, **changes).colour
    assert good.colour == "good"
    assert colour(noisy=True) == colour(after=0.5) == colour(still=math.nan) == ""
    assert colour(after=1.0) == colour(before=9.0, after=1.1) == colour(after=math.inf) == "bad"


def test_a_poor_fit_is_called_one_and_has_nothing_green():
    fit = dataclasses.replace(real(), heldout={"joint/position": (0.9, 0.8)}, noise=800.0)
    top = headline(fit, real().problem, "a title")
    assert "times the error of predicting that nothing moves: a poor fit" in top
    assert "good" not in top
    assert "fine" not in doubts(fit)
    assert 'class="good"' in headline(real(), real().problem, "a title")


def test_settings_are_said_as_people_say_them():
    free = {
        "name": "link/*/mass",
        "low": 0.1,
        "high": None,
        "prior": None,
        "start": 2.0,
        "shared": True,
        "shape": [],
    }
    assert setting_lines("free", [free]) == ["link/*/mass, 0.1 …, start 2, shared"]
    assert setting_lines("dt", [0.01, 0.01]) == ["0.01 s"]
    assert setting_lines("huber", None) == ["none"]
    assert setting_lines("noise", {"joint/position": 0.002}) == ["joint/position: 0.002"]
    page = again(made_up(1, settings=rounds(3)), (), None)
    assert "BasinHopping(local=LBFGS(reach=float(&quot;inf&quot;)), rounds=3)" in page
    assert "null" not in page
