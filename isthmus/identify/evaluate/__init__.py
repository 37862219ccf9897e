"""Cost, gradient and Gauss-Newton matrix of a problem, by native code.

`window.py` is the place to start: the residuals of one window as a pure function; `windows_from_logs.py` cuts windows.
`programs.py` has the functions that are compiled, `compiled.py` when; `batch.py` runs them over windows and points,
`evaluation.py` is what a search calls. `*matrix.py` are the forms of a Gauss-Newton matrix.
"""
