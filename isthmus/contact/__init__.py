"""Contact of points with the ground: springs (penalty) and impulses, behind one record, `Touch`.

`geometry.py` says where points are, how deep and how fast; `penalty.py` turns that into forces inside
`simulate/forces.py`; `impulse.py` into a change of velocity at the end of a step. It poses a complementarity problem,
which `solution.py` answers and differentiates by the solvers of `solve.py` (friction in a disc) and `box_friction.py`.
`lemke.py` is the classic solver with a friction pyramid, for comparison.
"""
