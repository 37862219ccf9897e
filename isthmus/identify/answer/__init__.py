"""What is said about a result: standard errors, undetermined directions, fit quality, tables, files.

`sensitivity.py` is the place to start.
"""
