"""Posteriors: which numbers of a model agree with the logs, as samples, not as one answer.

Start with `infer.py`: `ist.posterior`. `density.py` is the log density that all methods share, in the coordinates of
`coordinates.py`; `laplace.py`, `smc.py`, `nuts.py` and `mixture.py` are the methods; `posterior.py` is the result.
"""
