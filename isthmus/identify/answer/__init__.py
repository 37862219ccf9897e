"""The result of a fit: standard errors, undetermined directions, fit quality, its table and files.

`abstract_fit.py` lists what a fit holds; `sensitivity.py` computes the standard errors.
"""
