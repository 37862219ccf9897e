"""Figures of motions, fits and posteriors, with matplotlib.

`plot.py` draws positions and velocities over time, `prediction.py` measured and predicted signals, `histograms.py`
samples of a posterior, `picture.py` the mechanism itself at several moments. Start with `plot.py`; the colours are in
`isthmus.palette`.
"""
