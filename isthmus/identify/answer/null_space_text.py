"""Undetermined directions in words: "only the product a·b", "only ratios of a, b, c", "only the sum a + b".

A direction in which the residuals do not change is a set of relative changes of some numbers. What is determined is
orthogonal to all of them: exponents of a product, or weights of a sum. Which of the two it is, is tried out.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
from jaxtyping import Float

from isthmus.identify.evaluate.evaluation import Evaluation
from isthmus.phases import counted

MIN_SHARE = 0.03
"""Share of a direction below which a number has no part in it."""
MIN_TERM = 0.05
"""Share of the largest term of a sum below which a term is left out."""
MAX_SUMS, MAX_TERMS = 4, 6
"""Sums, and terms of one, beyond which nobody reads them: then they are counted."""
TRIAL_CHANGE = 0.15
"""Relative change by which a direction is tried out."""


@dataclasses.dataclass(frozen=True)
class Undetermined:
    """Parameters of which the data determines only some combinations."""

    names: tuple[str, ...]
    combinations: tuple[str, ...]
    rival: str = ""
    """What else can have the same effect."""
    linear: bool = False
    """Whether the combinations are sums, whose weights hold near the estimates."""
    open_inertias: int = 0
    """How many combinations of the inertias of whole bodies, `names`, are not determined."""

    def __str__(self) -> str:
        if self.rival:
            return f"{', '.join(self.names)} cannot be distinguished from what the {self.rival} can do."
        if self.open_inertias:
            which = f"{counted(self.open_inertias, 'combination')} of the inertias of {', '.join(self.names)}"
            verb = "is" if self.open_inertias == 1 else "are"
            return f"{which} {verb} not determined: only a prior on link/*/inertial chooses among them."
        if not self.combinations:
            have = "has" if len(self.names) == 1 else "have"
            return f"{', '.join(self.names)} {have} no effect on what is compared."
        terms = max(1 + sum(x.count(sign) for sign in (" + ", " − ")) for x in self.combinations)
        if self.linear and (len(self.combinations) > MAX_SUMS or terms > MAX_TERMS):
            named = ", ".join(self.names[:MAX_TERMS]) + ", …" * (len(self.names) > MAX_TERMS)
            return (
                f"of {counted(len(self.names), 'number')} ({named}) only {counted(len(self.combinations), 'sum')} "
                f"{'is' if len(self.combinations) == 1 else 'are'} determined: hold some of them, or give them priors."
            )
        if self.linear and len(self.combinations) > 1:
            return f"only these sums are determined, near the estimates: {'; '.join(self.combinations)}."
        return f"only {' and '.join(self.combinations)} {'is' if len(self.combinations) == 1 else 'are'} determined."


def undetermined(
    evaluation: Evaluation, z: Float[np.ndarray, " p"], null: Float[np.ndarray, "p k"]
) -> tuple[Undetermined, ...]:
    """What is not determined, one entry for each group of coupled parameters."""
    names = evaluation.plan.parameters.names
    if len(names) != len(z):
        return ()
    share = null @ null.T
    found, bodies, open_ = [], {}, 0
    for part in components(np.abs(share) > MIN_SHARE * MIN_SHARE):
        rows = null[part]
        basis = np.linalg.svd(rows, full_matrices=False)
        own = basis[0][:, basis[1] > MIN_SHARE]
        bent = evaluation.bent[part]
        physical = [names[k] for k in part if not names[k].startswith("network/")]
        if len(physical) < len(part):  # weights of networks are always redundant
            found += [Undetermined(tuple(physical), (), "networks")] if physical else []
        elif bent.any():  # their entries of z are not the numbers that their names mean
            others = tuple(names[k] for k in np.array(part)[~bent])
            found += [Undetermined(others, (), "inertias")] if others else []
            bodies |= dict.fromkeys(names[k].rsplit("/", 1)[0] for k in np.array(part)[bent])
            open_ += own.shape[1]
        elif own.size:
            found.append(_in_words(evaluation, z, names, np.array(part), own))
    if open_:
        found.append(Undetermined(tuple(bodies), (), open_inertias=open_))
    return tuple(found)


def components(linked: np.ndarray) -> list[list[int]]:
    """Connected components of a graph; nodes without any link, not even to themselves, are left out."""
    left = {k for k in range(len(linked)) if linked[k, k]}
    found = []
    while left:
        todo, part = [min(left)], set()
        while todo:
            k = todo.pop()
            if k in left:
                left.discard(k)
                part.add(k)
                todo += [int(j) for j in np.flatnonzero(linked[k]) if j in left]
        found.append(sorted(part))
    return found


def _in_words(
    evaluation: Evaluation, z: np.ndarray, names: tuple[str, ...], part: np.ndarray, own: np.ndarray
) -> Undetermined:
    """`own`: basis of the undetermined relative changes of the numbers in `part`."""
    called = tuple(names[k] for k in part)
    rank = own.shape[1]
    if rank == len(part):
        return Undetermined(called, ())
    alike = len({name.rsplit("/", 1)[-1].split("[")[0] for name in called}) == 1
    if rank == 1 and alike and np.ptp(own[:, 0]) < MIN_SHARE and len(part) > 2:
        return Undetermined(called, (f"the ratios of {', '.join(called)}",))
    products = simple(complement(own))
    if products is not None and _is_product(evaluation, z, part, own):
        return Undetermined(called, tuple(as_product(row, called) for row in products))
    values = z[part] * evaluation.plan.parameters.scale[part]
    weights = complement(values[:, None] * own)
    return Undetermined(called, tuple(as_sum(row, called, values) for row in weights), linear=True)


def complement(own: np.ndarray) -> np.ndarray:
    """Rows that are orthogonal to the columns of `own`, each with a leading one (reduced row echelon form)."""
    u, _, _ = np.linalg.svd(own, full_matrices=True)
    rows = u[:, own.shape[1] :].T.copy()
    lead = 0
    for r in range(len(rows)):
        while lead < rows.shape[1] and np.abs(rows[r:, lead]).max() < 1e-6:
            lead += 1
        if lead == rows.shape[1]:
            break
        pivot = r + int(np.argmax(np.abs(rows[r:, lead])))
        rows[[r, pivot]] = rows[[pivot, r]]
        rows[r] /= rows[r, lead]
        for other in range(len(rows)):
            if other != r:
                rows[other] -= rows[other, lead] * rows[r]
        lead += 1
    return rows


def simple(rows: np.ndarray) -> list[list[Fraction]] | None:
    """Rows of small fractions, or None where they are not such."""
    found = [[Fraction(float(x)).limit_denominator(4) for x in row] for row in rows]
    off = max(
        abs(float(f) - x)
        for row, near in zip(rows, found, strict=True)
        for x, f in zip(row, near, strict=True)
    )
    large = max(abs(f) for near in found for f in near)
    return found if off < 0.02 and large <= 4 else None


def _is_product(evaluation: Evaluation, z: np.ndarray, part: np.ndarray, own: np.ndarray) -> bool:
    """Whether numbers may move far by equal factors, rather than by equal amounts, without a change of the cost."""
    if np.any(z[part] == 0.0):
        return False
    move = TRIAL_CHANGE * own[:, 0] / np.abs(own[:, 0]).max()
    X = np.tile(np.concatenate([z, np.zeros(evaluation.size - len(z))]), (3, 1))
    X[1, part] *= np.exp(move)
    X[2, part] *= 1.0 + move
    r, _ = evaluation.residuals(np.clip(X, evaluation.low, evaluation.high))
    change = [float(np.sum(np.square(x - r[0]))) for x in r[1:]]
    nothing = 1e-12 * (1.0 + float(np.sum(np.square(r[0]))))
    return bool(change[0] <= 1.5 * change[1] + nothing)


def as_product(exponents: list[Fraction], names: tuple[str, ...]) -> str:
    """`a·b²/c`."""
    power = lambda name, e: name if e == 1 else f"{name}^{e}"
    above = [power(n, e) for n, e in zip(names, exponents, strict=True) if e > 0]
    below = [power(n, -e) for n, e in zip(names, exponents, strict=True) if e < 0]
    text = " · ".join(above) or "1"
    return text + (
        "" if not below else " / " + (below[0] if len(below) == 1 else f"({' · '.join(below)})")
    )


def as_sum(weights: np.ndarray, names: tuple[str, ...], values: np.ndarray) -> str:
    """`a + 0.5 b − c`: the leading one, then the largest terms first; small terms are left out."""
    size = np.abs(weights * values)
    lead = int(np.argmax(np.abs(weights) > 1e-6))
    order = [lead, *(int(k) for k in np.argsort(-size, kind="stable") if k != lead)]
    parts: list[str] = []
    for k in order:
        w = float(weights[k])
        if k != lead and (size[k] < MIN_TERM * size.max() or abs(w) < 1e-6):
            continue
        factor = "" if abs(abs(w) - 1.0) < 5e-3 else f"{two_digits(abs(w))} "
        sign = ("− " if w < 0 else "+ ") if parts else ("−" if w < 0 else "")
        parts.append(f"{sign}{factor}{names[k]}")
    return " ".join(parts)


def two_digits(x: float) -> str:
    """`0.042`, `9.5`, `120`."""
    return f"{float(f'{x:.2g}'):g}"
