"""What may change in a fit, and the vector that a search moves.

`free.py` is what users write and the place to start. `resolve.py` finds what its names mean, with `leaves.py` and
`sensors.py`; each makes `Group`s of numbers, which change a `Setting` (`groups.py`). `parameters.py` joins them.
"""
