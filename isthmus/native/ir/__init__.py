"""The scalar program: what tracing writes, passes change and targets read.

`program.py` is the place to start: single-assignment values in nested blocks, loops, arrays in memory.
`ops.py` is the table of operations; `fold.py`, `identities.py` and `intervals.py` are what its rows refer to.
`walk.py` visits loops, branches and operations in order: passes, targets and `listing.py` derive from it.
`origins.py` remembers the lines of code that an operation came from.
"""
