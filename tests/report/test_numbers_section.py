"""What a fit found, in words and figures."""

from __future__ import annotations

import numpy as np

import isthmus as ist
from isthmus.report.numbers_section import islands, shown_unit, signal_unit
from isthmus.report.run_section import code
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
    assert shown_unit(cart, f"joint/{slide}/damping", "N·m·s/rad|N·s/m") == "N·s/m"
    assert shown_unit(cart, f"joint/{hinge}/damping", "N·m·s/rad|N·s/m") == "N·m·s/rad"
    assert signal_unit(cart, "joint/position") == "rad|m"
    assert signal_unit(ist.library.pendulum(1), "joint/position") == "rad"


def test_the_search_is_called_as_users_call_it():
    inner = {"search": "isthmus.identify.lbfgs:LBFGS", "steps": 7}
    outer = {"search": "isthmus.identify.horizon:LengtheningHorizon", "inner": inner}
    fit = made_up(1)
    written = code(made_up(1, settings=fit.settings | {"search": outer}))
    assert "ist.fit(problem, ist.LengtheningHorizon(inner=ist.LBFGS(steps=7)))" in written
