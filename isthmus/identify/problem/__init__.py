"""The question of a fit: a model, logs, free parameters, and how they are compared.

`problem.py` is the place to start. `free.py` is what users write, `resolve.py` finds what its names mean,
`parameters.py` maps free numbers to the vector that a search moves, `windows_from_logs.py` cuts logs.
"""
