"""Contact between two bodies: normal, points and depths for every pair of kinds of shapes.

`solids.py` says what a shape is in the world; `closed.py`, `boxes.py` and `distance.py` find the normal of a pair
(`patches.py`: how it moves where a cylinder is one of them); `manifold.py` the points along it; `narrow.py` puts them
together; `collect.py` does so for all pairs of a model.
"""
