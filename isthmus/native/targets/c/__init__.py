"""The scalar program -> C99 for a controller: `to_c.py` is the public function, `emit.py` writes the statements."""
