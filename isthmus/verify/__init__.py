"""Are the derivatives of this model right, and is its time step short enough?

`gradients.py` has `check_gradients`; `compare.py` compares forward mode, reverse mode and differences of any
function, `evaluators.py` computes them by native code or XLA.
"""
