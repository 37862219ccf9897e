"""A model to formats of other programs: URDF, MJCF, C.

`urdf.py`, `mjcf.py` and `c.py` have one public function each; `description.py` turns a model back into
the records that the first two write. Our own format is in `isthmus.files`.
"""
