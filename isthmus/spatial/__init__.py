"""The algebra of rigid motion: rotations, transforms, inertias, spatial vectors (angular part first).

NumPy arrays in, NumPy arrays out, and JAX arrays likewise: `arrays.py` chooses. Start with `rotations.py` and
`transforms.py`; `inertia.py` has second moments and what inertias a body can have.
"""
