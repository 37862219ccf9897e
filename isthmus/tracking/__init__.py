"""Numbers of a model followed while the robot moves: an extended Kalman filter with an alarm.

Start with `tracker.py` (what users call). `step.py` is the filter, one step as a pure function that native code and
C code are made of; `setup.py` makes its constants from what users give; `result.py` is what a tracked log gives.
"""
