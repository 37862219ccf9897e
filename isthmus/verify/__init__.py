"""Checks the derivatives of a model's motion, and whether its time step is short enough."""
