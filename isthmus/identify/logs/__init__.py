"""Recorded motion, ready to be fitted.

`log.py` is the place to start: it reads a `Motion` as a `Log`. `faults.py` refuses logs that cannot be fitted.
"""
