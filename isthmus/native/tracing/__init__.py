"""A JAX function -> the scalar program.

`trace.py` is the place to start: it traces with JAX, then translates equation by equation with `rules/`.
`arrays.py` and `dense.py` say how arrays are held meanwhile: as values, as functions of an index, in memory.
"""
