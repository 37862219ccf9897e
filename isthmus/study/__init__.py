"""A fit as a text file: robot, logs, free numbers, loss, search and output folder in TOML.

Start with `study.py` (`Study`: the keys of the file, and the `Problem` made from them) and `run.py` (from a study to
a `Fit`). `build.py` reads robot and logs, `searches.py` turns tables into searches and losses,
`contacts.py` into ground and contact, `results.py` writes
the folder of results, `begin.py` writes a study for a new robot (`isthmus fit --init`).
"""
