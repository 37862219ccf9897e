"""Recorded motion -> physical parameters, with their uncertainty.

Start with `problem.py` (the question) and `fit.py` (from a problem and a search to a `Fit`). In the order of their
imports: `parameters` is what may change and `logs` what was recorded, `evaluate` simulates windows of logs and
differentiates them, `search` holds the searches, `answer` what is said about a result, `preflight.py` looks at a
problem before a fit. `torque`, the linear start from measured torques, stands alone.
"""

from typing import TYPE_CHECKING

from isthmus.later import at_first_use

if TYPE_CHECKING:
    from isthmus.identify.torque.base_parameters import BaseParameters, base_parameters
    from isthmus.identify.torque.regressor import parameter_names, parameter_vector, regressor
    from isthmus.identify.torque.result import TorqueFit
    from isthmus.identify.torque.start import start_from_torque, torque_fit

__all__ = [
    "BaseParameters",
    "TorqueFit",
    "base_parameters",
    "parameter_names",
    "parameter_vector",
    "regressor",
    "start_from_torque",
    "torque_fit",
]

__getattr__ = at_first_use(
    __name__,
    {
        "BaseParameters": "torque.base_parameters",
        "TorqueFit": "torque.result",
        "base_parameters": "torque.base_parameters",
        "parameter_names": "torque.regressor",
        "parameter_vector": "torque.regressor",
        "regressor": "torque.regressor",
        "start_from_torque": "torque.start",
        "torque_fit": "torque.start",
    },
)
