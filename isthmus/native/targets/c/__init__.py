"""The scalar program -> C99, or a dialect of it (`dialect.py`).

`emit.py` writes the statements, `operations.py` the formulas, `function.py` the function around them, `files.py` the
header and the test program of C99. `runtime/to_c.py` is the public function.
"""
