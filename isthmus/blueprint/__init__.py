"""Which networks read which signals and correct which: written by the user, apart from the physics.

`wire.py` and `blueprint.py` are what users write; `resolve.py` and `checks.py` turn it into plans for
one model before the first step. What then runs inside the step is `isthmus.networks`.
"""
