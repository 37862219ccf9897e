"""The command line: `isthmus info | simulate | check | fit | export | reproduce | bench`.

Start with `main.py` (exit status and errors; `start.py` calls it) and `arguments.py` (which class is which command).
Each command is a dataclass in the file of its name: the fields are its options, `run` does the work. So that `--help`
is instant, array libraries load inside `run`; `output.py` has what all commands print with.
"""
