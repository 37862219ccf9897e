"""Inertias and friction from measured torques by least squares, without a simulation.

`start.py` is the place to start; `regressor.py` has inverse dynamics as a matrix, `choose.py` what is fitted besides
the links, `realisable.py` the nearest parameters that bodies can have.
"""
