"""Motion to parameters: which numbers are free, what the data says of them, and how they are found."""

from isthmus.identify.base_parameters import BaseParameters, base_parameters
from isthmus.identify.regressor import parameter_names, parameter_vector, regressor
from isthmus.identify.torque import TorqueFit, start_from_torque, torque_fit

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
