"""What is said about a result: standard errors, undetermined directions, fit quality, tables, files.

`abstract_fit.py` has the fields of a fit; `sensitivity.py` computes errors and undetermined directions, which
`null_space_text.py` puts into words; `table.py` prints, `files.py` saves.
"""
