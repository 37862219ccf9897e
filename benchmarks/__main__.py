"""`python -m benchmarks [--quick] [NAME …]`: all tables, or those that are named."""

from __future__ import annotations

import argparse
import importlib
import os

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false"
)  # fair to XLA on small work

TABLES = ("importing", "engine", "native")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TABLES)}")
    parser.add_argument("--quick", action="store_true", help="fewer worlds and repeats")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in TABLES]:
        parser.error(f"no table is called {unknown[0]!r}; there are {', '.join(TABLES)}.")
    for name in options.names or TABLES:
        importlib.import_module(f"benchmarks.{name}").main(options.quick)
