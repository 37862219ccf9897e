"""Where a model lacks something, on which inputs it depends, and by which formula.

Start with `discover.py` (the stages, from a problem to a `Discovery`). `linearise.py` has the native Jacobians of
single steps, `candidates.py` the places that are tried, `score.py` the whitened score test, `formula.py` the formulas.
The package is not called `discover`: `ist.discover` is the function, and Python would replace it by the package.
"""
