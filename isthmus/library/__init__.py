"""Models that we ship, differentiable in their numbers.

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
