"""Control laws: functions `(t, state) -> torques or Control` that become part of a compiled rollout."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import Any

import jax

from isthmus.errors import BadOption
from isthmus.model.model import Model
from isthmus.model.state import Control, State, as_control, check_control, check_prescribed


def commanded(model: Model, law: Callable[[Any, State], Any], here: State) -> Control:
    """What a control law says at one state, checked."""
    try:
        control = as_control(law(here.time, here))
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError) as traced:
        raise BadOption(
            f"the control law {_name(law)!r} needs the value of its time or state{_place(law, traced)}, "
            "which is known only when the rollout runs: write jnp.sin for np.sin or math.sin, jnp.where for if, "
            "or give the torques as an array."
        ) from traced
    check_control(model, control)
    check_prescribed(model, control)
    return control


def check_law(law: Callable) -> None:
    """Refuses a control law that cannot be called with time and state."""
    try:
        inspect.signature(law).bind(0.0, None)
    except TypeError:
        raise BadOption(
            f"the control law {_name(law)!r} must take two arguments, time [s] and State, "
            "and return torques or a Control."
        ) from None
    except ValueError:  # a built-in function without a signature
        return


def _name(law: Callable) -> str:
    return getattr(law, "__name__", type(law).__name__)


def _place(law: Callable, raised: Exception) -> str:
    """The line of the file of a control law at which it raised an exception."""
    code = getattr(law, "__code__", None)
    frames = traceback.extract_tb(raised.__traceback__)
    lines = [f.lineno for f in frames if code is not None and f.filename == code.co_filename]
    return f" in line {lines[-1]}" if lines else ""
