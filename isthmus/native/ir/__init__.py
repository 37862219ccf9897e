"""The scalar program: what tracing writes, passes change and targets read.

`program.py` is the place to start: single-assignment values in nested blocks, loops, arrays in memory.
`fold.py` and `identities.py` simplify an operation when it is written, `origins.py` remembers the lines
of code that it came from, `listing.py` prints it.
"""
