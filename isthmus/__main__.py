"""`python -m isthmus`: the command line."""

import runpy

if __name__ == "__main__":
    runpy.run_module("isthmus.cli.main", run_name="__main__", alter_sys=True)
