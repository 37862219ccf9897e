"""Passes over the scalar program, each from program to program.

`rebuild.py` writes a program anew, which is what every pass does; `prune.py` drops what is not needed,
`residuals.py` stores less for reverse mode, `contract.py` joins products with sums, `lower.py` writes elementary
functions (`functions/`) as arithmetic. `liveness.py`, `uniform.py` and `ranges.py` find facts that others use.
`runtime/pipeline.py` says in which order they run.
"""
