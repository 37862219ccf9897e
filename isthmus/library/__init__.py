"""Models that come with isthmus, differentiable in their numbers; each is a function in the file of its name.

`find.py` finds robots of the package `example-robot-data`; `shipped.py` resolves names such as `library:arm` in text.
Start with `pendulum.py`, which shows how a model is built.

import isthmus as ist
pendulum = ist.library.pendulum(2, lengths=(1.0, 0.5))
"""

from isthmus.library.arm import arm
from isthmus.library.cart_pole import cart_pole
from isthmus.library.cube import cube
from isthmus.library.find import find, names
from isthmus.library.pendulum import pendulum
from isthmus.library.pusher import pusher
from isthmus.library.quadruped import quadruped
from isthmus.library.swimmer import swimmer

__all__ = [
    "arm",
    "cart_pole",
    "cube",
    "find",
    "names",
    "pendulum",
    "pusher",
    "quadruped",
    "swimmer",
]
