"""Functions that C lacks, in double or in float; a file gets those that it uses."""

from __future__ import annotations

from string import Template

from isthmus.native.targets.c.dialect import TYPES


def words(width: int) -> dict[str, str]:
    """What templates of C text have in place of `$real`, `$whole` …, for numbers of `width` bits."""
    return {
        "real": TYPES[width]["f"],
        "whole": TYPES[width]["i"],
        "bits": str(width),
        "last": str(width - 1),
        "limit": f"{1 << (width - 1)}.0",
        "f": "" if width == 64 else "f",
        "tolerance": "1e-12" if width == 64 else "1e-5",
    }


def helper_text(name: str, width: int, prefix: str) -> str:
    """The definition of a helper for numbers of `width` bits; `prefix`: what stands before it."""
    head, body = HELPERS[name]
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    return Template(f"{prefix} {head}\n{{\n{indented}\n}}\n").substitute(words(width))


EITHER_NAN = "if (x != x || y != y)\n    return x + y;\n"
UNION = "union { $real number; $whole bits; } both;\n"

HELPERS: dict[str, tuple[str, str]] = {
    "ist_max": (
        "$real ist_max($real x, $real y) /* NaN where either is; -0 is below 0 */",
        f"{EITHER_NAN}return x > y || (x == y && !signbit(x)) ? x : y;",
    ),
    "ist_min": (
        "$real ist_min($real x, $real y) /* NaN where either is; -0 is below 0 */",
        f"{EITHER_NAN}return x < y || (x == y && signbit(x)) ? x : y;",
    ),
    "ist_logistic": (
        "$real ist_logistic($real x) /* 1 / (1 + exp$f(-x)) without overflow */",
        "const $real e = exp$f(-fabs$f(x));\nreturn (x < 0.0$f ? e : 1.0$f) / (1.0$f + e);",
    ),
    "ist_quotient": (
        "$whole ist_quotient($whole x, $whole y) /* x / 0 is -1 */",
        "if (y == -1)\n    return ($whole)(0u - (u$whole)x);\nreturn y == 0 ? -1 : x / y;",
    ),
    "ist_remainder": (
        "$whole ist_remainder($whole x, $whole y) /* x % 0 is x */",
        "if (y == -1)\n    return 0;\nreturn y == 0 ? x : x % y;",
    ),
    "ist_quotient_u": (
        "$whole ist_quotient_u($whole x, $whole y)",
        "return y == 0 ? -1 : ($whole)((u$whole)x / (u$whole)y);",
    ),
    "ist_remainder_u": (
        "$whole ist_remainder_u($whole x, $whole y)",
        "return y == 0 ? x : ($whole)((u$whole)x % (u$whole)y);",
    ),
    "ist_larger": ("$whole ist_larger($whole x, $whole y)", "return x > y ? x : y;"),
    "ist_smaller": ("$whole ist_smaller($whole x, $whole y)", "return x < y ? x : y;"),
    "ist_shift_left": (
        "$whole ist_shift_left($whole x, $whole n)",
        "return n < 0 || n > $last ? 0 : ($whole)((u$whole)x << n);",
    ),
    "ist_shift_right_u": (
        "$whole ist_shift_right_u($whole x, $whole n)",
        "return n < 0 || n > $last ? 0 : ($whole)((u$whole)x >> n);",
    ),
    "ist_shift_right": (
        "$whole ist_shift_right($whole x, $whole n) /* keeps the sign */",
        "const $whole m = n < 0 || n > $last ? $last : n;\nreturn x < 0 ? ~(~x >> m) : x >> m;",
    ),
    "ist_below_u": (
        "bool ist_below_u($whole x, $whole y)",
        "return (u$whole)x < (u$whole)y;",
    ),
    "ist_truncate": (
        "$whole ist_truncate($real x) /* the nearest integer there is; 0 for NaN */",
        "if (x != x)\n    return 0;\nif (x >= $limit$f)\n    return INT${bits}_MAX;\n"
        "return x < -$limit$f ? INT${bits}_MIN : ($whole)x;",
    ),
    "ist_bits": ("$whole ist_bits($real x)", f"{UNION}both.number = x;\nreturn both.bits;"),
    "ist_unbits": ("$real ist_unbits($whole x)", f"{UNION}both.bits = x;\nreturn both.number;"),
}
"""Name -> head and body."""
