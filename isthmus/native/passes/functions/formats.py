"""What the functions need to know about float64 and float32: bits, limits, coefficients.

Coefficients: fdlibm (sin, cos, log) and Cephes (tanh, atan) in float64; the others are polynomials that
interpolate the function at Chebyshev points, in 50 digits, before they are rounded.
"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459")
LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525412068001")


def rounded(x: Fraction, mantissa: int) -> float:
    """The nearest number with so many bits behind the leading one."""
    if x == 0:
        return 0.0
    unit = Fraction(2) ** (math.frexp(float(x))[1] - 1 - mantissa)
    return float(round(x / unit) * unit)


def parts(x: Fraction, mantissa: int, count: int, first: int | None = None) -> tuple[float, ...]:
    """`x` as a sum of `count` numbers; the `first` may have fewer bits than the others."""
    found: list[float] = []
    for k in range(count):
        bits = first if first is not None and k == 0 else mantissa
        found.append(rounded(x, bits))
        x -= Fraction(found[-1])
    return tuple(found)


@dataclasses.dataclass(frozen=True)
class Format:
    """One format of numbers; coefficients from the lowest power up."""

    bits: int
    mantissa: int
    bias: int
    huge: float
    """Angles above this are reduced by libm."""
    low: float
    high: float
    """Below and above: eˣ is 0 and infinite."""
    settled: float
    """Below minus this, eˣ − 1 is −1."""
    wide: float
    """Above this, x² + 1 is x²."""
    far: float
    """Above this, erf is 1."""
    gone: float
    """Above this, erfc is 0."""
    smallest: float
    """The smallest number with all its bits."""
    ends: tuple[float, float, float, float]
    """atan2 scales numbers below the first by the second, numbers above the third by the fourth."""
    sin: tuple[float, ...]
    cos: tuple[float, ...]
    exp: tuple[float, ...]
    """(eʳ − 1 − r)/r²."""
    log: tuple[float, ...]
    """(log((1 + s)/(1 − s))/s − 2)/s², by s²."""
    log_rest: tuple[float, ...]
    """The same without its first coefficient, 2/3, and divided by s² once more."""
    tanh: tuple[tuple[float, ...], tuple[float, ...]]
    """(tanh x/x − 1)/x², by x²: numerator and denominator."""
    atan: tuple[tuple[float, ...], tuple[float, ...]]
    asin: tuple[float, ...]
    sinh: tuple[float, ...]
    cosh: tuple[float, ...]
    """(cosh r − 1)/r², by r²."""
    erf: tuple[float, ...]
    """erf(x)/x − 1, by x², up to 1."""
    erfc: tuple[float, ...]
    """e^(x²)·erfc(x)·(1 + 2x), by (x − 4)/(x + 4), from 0.5 on."""

    @property
    def magic(self) -> float:
        """Adding it rounds to an integer, which then sits in the low bits."""
        return 1.5 * 2.0**self.mantissa

    def pi(self, share: int = 1, count: int = 2) -> tuple[float, ...]:
        """π / `share` in `count` parts."""
        return parts(PI / share, self.mantissa, count)

    @property
    def ln2(self) -> tuple[float, float]:
        """ln 2 in two parts; any exponent times the first is exact."""
        first, second = parts(LN2, self.mantissa, 2, first=32 if self.bits == 64 else 14)
        return first, second

    def pair(self, x: Fraction) -> tuple[float, float]:
        """`x` in two parts."""
        first, second = parts(x, self.mantissa, 2)
        return first, second


DOUBLE = Format(
    bits=64,
    mantissa=52,
    bias=1023,
    huge=2.0**30,
    low=-746.0,
    high=710.0,
    settled=40.0,
    wide=2.0**28,
    far=6.0,
    gone=28.0,
    smallest=2.0**-1022,
    ends=(1e-290, 2.0**200, 1e300, 2.0**-60),
    sin=(
        -1.66666666666666324348e-01,
        8.33333333332248946124e-03,
        -1.98412698298579493134e-04,
        2.75573137070700676789e-06,
        -2.50507602534068634195e-08,
        1.58969099521155010221e-10,
    ),
    cos=(
        4.16666666666666019037e-02,
        -1.38888888888741095749e-03,
        2.48015872894767294178e-05,
        -2.75573143513906633035e-07,
        2.08757232129817482790e-09,
        -1.13596475577881948265e-11,
    ),
    exp=tuple(1.0 / math.factorial(k) for k in range(2, 14)),
    log=(
        6.666666666666735130e-01,
        3.999999999940941908e-01,
        2.857142874366239149e-01,
        2.222219843214978396e-01,
        1.818357216161805012e-01,
        1.531383769920937332e-01,
        1.479819860511658591e-01,
    ),
    log_rest=(
        0.4,
        0.28571428571428564,
        0.22222222222228522,
        0.18181818179629897,
        0.15384615765103804,
        0.13333296225749286,
        0.117668264596973,
        0.1045602869316551,
        0.10765127332536494,
    ),
    tanh=(
        (-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1),
        (4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0),
    ),
    atan=(
        (
            -6.485021904942025371773e1,
            -1.228866684490136173410e2,
            -7.500855792314704667340e1,
            -1.615753718733365076637e1,
            -8.750608600031904122785e-1,
        ),
        (
            1.945506571482613964425e2,
            4.853903996359136964868e2,
            4.328810604912902668951e2,
            1.650270098316988542046e2,
            2.485846490142306297962e1,
            1.0,
        ),
    ),
    asin=(
        0.16666666666666669,
        0.07499999999998425,
        0.04464285714637338,
        0.030381944137085216,
        0.0223721730020056,
        0.017352391265909223,
        0.013971235301124577,
        0.011478952690257057,
        0.010324318288746059,
        0.005450878187712878,
        0.017419357964904198,
        -0.014881409392846266,
        0.02877844261261113,
    ),
    sinh=(
        0.16666666666666666,
        0.008333333333333333,
        0.0001984126984126322,
        2.755731924742989e-06,
        2.505207086864797e-08,
        1.608671130891537e-10,
    ),
    cosh=(
        0.5,
        0.041666666666666664,
        0.0013888888888888892,
        2.4801587301575714e-05,
        2.7557319251459746e-07,
        2.087672355241362e-09,
        1.1490919920212255e-11,
    ),
    erf=(
        0.1283791670955126,
        -0.3761263890318375,
        0.11283791670954879,
        -0.026866170645076792,
        0.0052239776248180145,
        -0.000854832698083379,
        0.0001205533111164271,
        -1.4925595266831182e-05,
        1.6461000484121368e-06,
        -1.6350312701054687e-07,
        1.4659775274047388e-08,
        -1.1372848856791498e-09,
        5.957176147748632e-11,
    ),
    erfc=(
        1.2329951186255526,
        -0.13962111684056253,
        0.015379652102619027,
        0.0680970542546948,
        -0.10103906603625375,
        0.09373283499828751,
        -0.06633036581360713,
        0.03716751553818893,
        -0.01619773403826592,
        0.0050319699756138135,
        -0.0007577734486762808,
        -0.00019925671345040716,
        0.00015062249512264785,
        -2.4398983809134553e-05,
        -1.12247322473501e-05,
        5.7086428044048145e-06,
        2.9955790685567077e-07,
        -8.22559563206072e-07,
        6.702452833728971e-08,
        1.0568025135820959e-07,
        -1.2224048303152388e-08,
        -1.0476718674668371e-08,
    ),
)
"""float64."""

SINGLE = Format(
    bits=32,
    mantissa=23,
    bias=127,
    huge=2.0**18,
    low=-104.5,
    high=89.0,
    settled=18.0,
    wide=2.0**13,
    far=4.0,
    gone=11.0,
    smallest=2.0**-126,
    ends=(1e-28, 2.0**60, 1e37, 2.0**-20),
    sin=(-0.166666642, 0.0083326837, -0.000195743647),
    cos=(0.0416666642, -0.00138882385, 2.45343872e-05),
    exp=(0.5, 0.166666672, 0.041666463, 0.00833331142, 0.00139337638, 0.000198903712),
    log=(0.666666865, 0.399887323, 0.295821577),
    log_rest=(0.400000006, 0.285715312, 0.222046897, 0.191224307),
    tanh=((-0.333333284, 0.133327693, -0.0538508482, 0.0209968947, -0.00609629974), (1.0,)),
    atan=(
        (
            -0.333333313,
            0.199998528,
            -0.142802134,
            0.110322811,
            -0.0853617787,
            0.0556878559,
            -0.0205965918,
        ),
        (1.0,),
    ),
    asin=(0.166666657, 0.0750009492, 0.0445993207, 0.0311017279, 0.017143717, 0.0337007269),
    sinh=(0.166666672, 0.00833331048, 0.00019891141),
    cosh=(0.5, 0.041666463, 0.00139337848),
    erf=(
        0.128379166,
        -0.37612626,
        0.112835944,
        -0.0268542115,
        0.00518908724,
        -0.00080168643,
        7.87587487e-05,
    ),
    erfc=(
        1.23299515,
        -0.139621094,
        0.0153795676,
        0.0680955127,
        -0.101039387,
        0.0937609375,
        -0.0662970692,
        0.0369945876,
        -0.0164928772,
        0.00533093605,
    ),
)
"""float32."""

FORMATS = {64: DOUBLE, 32: SINGLE}
"""By their number of bits."""
