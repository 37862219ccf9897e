"""Where a model lacks something, on which inputs it depends, and by which formula.

Start with `discover.py` (from a problem to a `Discovery`). In the order of their imports: `linearise.py` has the native
Jacobians of single steps, `record.py` the rows and windows of logs, `candidates.py` what is tried, `score.py` the
whitened score test, `stages.py` the fits, `formula.py` the formulas, `result.py` what is told.
The package is not called `discover`: `ist.discover` is the function, and Python would replace it by the package.
"""
