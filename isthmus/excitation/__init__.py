"""Motions that determine the numbers of a robot well: experiment design.

Start with `design.py` (what users call). `fourier.py` has the motions that are searched, `limits.py` what they must
keep to, `apart.py` the distances of bodies, `information.py` what a motion tells of the numbers, `search.py` the
optimisation, `result.py` what users get.
The package is not called `design`: `ist.design` is the function, and Python would replace it by the package.
"""
