"""What is to be seen of a model and its motions: one description, which the report, saved pages and the viewer draw.

`scene.py` has the records and is the place to start; `solids.py` finds the shapes of links, `triangles.py` makes
surfaces of them, `along.py` computes poses, contacts and forces along a motion, `packed.py` writes a scene as JSON.
"""
