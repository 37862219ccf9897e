"""Elementary functions out of plain arithmetic, in float64 and float32, within 2 ulp.

`formats.py` has what depends on the width of a number. Each other file has a family: angles, exponentials,
logarithms and powers, the error function.
"""

from isthmus.native.passes.functions.angles import acos, asin, atan2, cos, sin, tan
from isthmus.native.passes.functions.exponentials import (
    cosh,
    exp,
    exp2,
    expm1,
    logistic,
    sinh,
    tanh,
)
from isthmus.native.passes.functions.gauss import erf, erfc
from isthmus.native.passes.functions.logarithms import (
    acosh,
    asinh,
    atanh,
    cbrt,
    log,
    log1p,
    log2,
    pow,
)

FUNCTIONS = {
    function.__name__: function
    for function in (
        *(sin, cos, tan, asin, acos, atan2),
        *(exp, exp2, expm1, sinh, cosh, tanh, logistic),
        *(log, log2, log1p, asinh, acosh, atanh, pow, cbrt),
        *(erf, erfc),
    )
}
"""Operation of the program -> how it is written out."""
