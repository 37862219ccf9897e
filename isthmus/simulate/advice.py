"""What messages advise where a time step is too long: nothing that `rollout` refuses or warns against."""

from __future__ import annotations

import warnings

from isthmus.errors import BadOption, StepWarning
from isthmus.model.model import Model
from isthmus.model.state import State
from isthmus.simulate.integrate import RK4, Integrator
from isthmus.simulate.stiffness import warn_if_stiff
from isthmus.simulate.touching import check_contact


def or_rk4(model: Model, dt: float, scheme: Integrator) -> str:
    """` or integrator='rk4'`; empty where `scheme` has several stages already, or friction or contacts forbid it."""
    return " or integrator='rk4'" if scheme.stages == 1 and rk4_suits(model, dt) else ""


def rk4_suits(model: Model, dt: float) -> bool:
    """Whether a rollout by RK4 with steps of `dt` [s] is neither refused nor warned against."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepWarning)
        try:
            check_contact(model, dt, RK4())
            warn_if_stiff(model, State.neutral(model), dt, RK4())
        except (BadOption, StepWarning):
            return False
    return True
