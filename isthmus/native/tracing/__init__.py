"""A JAX function -> the scalar program.

`translate.py` is the place to start: it traces with JAX, then translates equation by equation (`trace.py`) with
the functions of `rules/`.
`arrays.py` and `dense.py` say how arrays are held meanwhile: as values, as functions of an index, in memory.
"""
