"""Compiled functions as users call them, and how they are made.

`compile.py` has the public function, `pipeline.py` goes from function to program, `call.py` the compiled
function in NumPy, `jax_call.py` in JAX, `jacobian.py` with its derivative, `to_c.py` as C text; `codes.py`
compiles for a target, `store.py` keeps code on disk.
"""
