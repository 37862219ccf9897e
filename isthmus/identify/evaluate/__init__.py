"""Cost, gradient and Gauss-Newton matrix of a problem, by native code.

`window.py` is the place to start: the residuals of one window as a pure function. `programs.py` has the
functions that are compiled, `compiled.py` when, `evaluation.py` what a search calls.
"""
