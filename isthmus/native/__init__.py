"""Any traced JAX function as machine code; knows no physics."""

from isthmus.native.c import CCode, to_c
from isthmus.native.call import Native
from isthmus.native.compile import compile
from isthmus.native.jacobian import jacobian
from isthmus.native.stats import Stats

__all__ = ["CCode", "Native", "Stats", "compile", "jacobian", "to_c"]
