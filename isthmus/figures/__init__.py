"""Figures of motions, with matplotlib.

`plot.py` draws positions and velocities over time, `picture.py` the mechanism itself at several moments. Start with
`plot.py`; the colours are in `isthmus.palette`.
"""
