"""Motions as logs to fit: evenly spaced rows, what acted, what was measured.

`log.py` is the only place that reads a `Motion`; `faults.py` says what is wrong with a log before anything
is compiled.
"""
