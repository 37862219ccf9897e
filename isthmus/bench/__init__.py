"""How fast isthmus is on this machine, beside other engines: `isthmus bench`.

Start with `run.py` (the list of benchmarks) and `timing.py` (how they are timed: compiling apart from running, peers in
turns). The other files hold the cases and the peers; `rows.py` is a line of the table, `chart.py` the figure.
"""
