"""Passes over the scalar program, each from program to program.

`prune.py` drops what is not needed, `residuals.py` stores less for reverse mode, `lower.py` writes elementary
functions (`functions/`) as arithmetic; `uniform.py` and `ranges.py` find facts that targets use.
`runtime/pipeline.py` says in which order they run.
"""
