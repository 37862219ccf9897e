"""What the push study found, and the tables, numbers and notes that tell it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from isthmus.experiments.push_average import Averaged
from isthmus.experiments.push_data import Pushes, cost, ratio, rms, squares
from isthmus.experiments.push_fits import Learned, Line, predicted
from isthmus.experiments.run import Table

STILL = "never moves"
QUASISTATIC = Line("quasi-static", quasistatic=True)
ANALYTIC = Line("analytic")
HYBRID = "hybrid"
NEW = "hybrid_new"
"""The hybrid for a shape that was not learned from, chosen by shapes left out."""
Off = dict[str, np.ndarray]
"""Of each simulator: mean squares (pushes, 2)."""


@dataclasses.dataclass(frozen=True)
class Fits:
    """What was learned from some pushes."""

    chosen: dict[str, Line]
    """Of each simulator."""
    learned: dict[str, Learned]
    crossed: dict[str, Off]
    """Of each candidate for a hybrid, by cross-validation among the pushes to learn from."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One shape left out; all that was found without it."""

    unseen: str
    rows: np.ndarray
    """The pushes of the other shapes."""
    folds: tuple[Fits, ...]
    """Learned from them, each without one part of them."""
    whole: Fits
    """Learned from all of them."""
    seen_off: Off
    """Of these pushes, each by the fold that had not seen it."""
    unseen_off: Off
    """Of the shape that was left out."""
    paths: dict[str, np.ndarray]
    """Poses of the pushes of seen shapes, predicted by folds."""


def shown(off: np.ndarray) -> str:
    """Errors of some pushes."""
    far, turned = rms(off)
    return f"{far:.2f} mm / {turned:.2f}°"


def said(case: Case) -> str:
    """The errors of a case, in a line."""
    return f"seen {shown(case.seen_off[HYBRID])}, unseen {shown(case.unseen_off[HYBRID])}"


def interval(ratios: list[list[float]]) -> str:
    """Ratios of position and angle with their intervals."""
    show = lambda x: f"{x[0]:.2f} ({x[1]:.2f} … {x[2]:.2f})"
    return f"position {show(ratios[0])}, angle {show(ratios[1])}"


def pooled(cases: list[Case]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of each simulator: mean squares of all judged pushes of seen shapes, and of unseen shapes."""
    join = lambda parts: np.concatenate(parts)
    return {
        name: (join([c.seen_off[name] for c in cases]), join([c.unseen_off[name] for c in cases]))
        for name in cases[0].seen_off
    }


def by_push(cases: list[Case], pushes: Pushes) -> Off:
    """Mean squares of each push over the cases in which its shape was seen: these are not independent."""
    found = {}
    for name in cases[0].seen_off:
        total, count = np.zeros((len(pushes), 2)), np.zeros(len(pushes))
        for case in cases:
            total[case.rows] += case.seen_off[name]
            count[case.rows] += 1
        found[name] = total[count > 0] / count[count > 0, None]
    return found


def ratios(cases: list[Case], pushes: Pushes) -> dict[str, dict[str, list[list[float]]]]:
    """Errors of the hybrid over those of fitted models, with intervals over pushes."""
    seen, off = by_push(cases, pushes), pooled(cases)
    return {
        name: {"seen": ratio(seen[HYBRID], seen[name]), "unseen": ratio(off[HYBRID][1], off[name][1])}
        for name in (QUASISTATIC.name, ANALYTIC.name)
    }  # fmt: skip


def tables(cases: list[Case], final: Case, pushes: Pushes, folds: int) -> tuple[Table, ...]:
    """All of them."""
    return (
        errors_table(cases, pushes, folds), ratios_table(cases, pushes), cases_table(cases),
        crossed_table([*cases, final]), numbers_table(final), own_table(final, pushes),
    )  # fmt: skip


def errors_table(cases: list[Case], pushes: Pushes, folds: int) -> Table:
    """One row for each simulator."""
    rows = [(name, *map(shown, both)) for name, both in pooled(cases).items()]
    seen, unseen = (len(x) for x in pooled(cases)[STILL])
    title = (
        f"RMS error of position on one axis / of the angle; each of {len(cases)} shapes left out in turn, the others "
        f"judged in {folds} folds; {len(pushes)} pushes"
    )
    columns = ("simulator", f"other pushes, seen shapes ({seen})", f"unseen shape ({unseen})")
    return Table(title, columns, tuple(rows))


def ratios_table(cases: list[Case], pushes: Pushes) -> Table:
    """The hybrid beside the fitted models."""
    rows = [
        (name, interval(x["seen"]), interval(x["unseen"]))
        for name, x in ratios(cases, pushes).items()
    ]
    title = "error of the hybrid over that of another simulator, and 95 % interval over pushes"
    return Table(title, ("simulator", "seen shapes", "unseen shape"), tuple(rows))


def cases_table(cases: list[Case]) -> Table:
    """Each shape left out."""
    lines = [QUASISTATIC.name, ANALYTIC.name, HYBRID]
    rows = [
        (case.unseen, part, *(shown(off[name]) for name in lines))
        for case in cases
        for part, off in (("seen shapes", case.seen_off), ("unseen shape", case.unseen_off))
    ]
    return Table("each shape left out", ("left out", "judged", *lines), tuple(rows))


def crossed_table(cases: list[Case]) -> Table:
    """What was chosen by."""
    rows = [
        (case.unseen, part, hybrid, name, shown(off), f"{cost(off):.2f}",
         "chosen" if name == fits.chosen[hybrid].name else "")
        for case in cases
        for part, fits in [(str(k + 1), fits) for k, fits in enumerate(case.folds)] + [("none", case.whole)]
        for hybrid, found in fits.crossed.items() for name, off in found.items()
    ]  # fmt: skip
    title = "cross-validation among the pushes to learn from (left out: none, the fit to all)"
    columns = ("left out", "fold left out", "for", "candidate", "error", "cost", "")
    return Table(title, columns, tuple(rows))


def own_table(final: Case, pushes: Pushes) -> Table:
    """What the fits to all pushes miss of these very pushes."""
    names = (ANALYTIC.name, HYBRID)
    fits = final.whole
    off = {n: squares(predicted(fits.chosen[n], fits.learned[n], pushes), pushes) for n in names}
    parts = {name: pushes.of([name]) for name in pushes.kinds} | {"all": np.arange(len(pushes))}
    rows = [
        (name, str(len(part)), *(shown(off[n][part]) for n in names))
        for name, part in parts.items()
    ]
    return Table(
        "fitted to all pushes: error of the same pushes", ("shape", "pushes", *names), tuple(rows)
    )


def numbers_table(final: Case) -> Table:
    """What was found from all pushes; of mean paths, the mean of each number."""
    found = {
        name: x.means() if isinstance(x, Averaged) else x for name, x in final.whole.learned.items()
    }
    names = list(dict.fromkeys(n for numbers in found.values() for n in numbers))
    rows = [
        (n, *(f"{numbers[n]:.4g}" if n in numbers else "" for numbers in found.values()))
        for n in names if not (n.startswith("w") and n[1:].isdigit())
    ]  # fmt: skip
    return Table("numbers found from all pushes [SI]", ("number", *found), tuple(rows))


def plain_numbers(cases: list[Case], final: Case, pushes: Pushes) -> dict[str, Any]:
    """What goes into a file."""
    off = pooled(cases)
    plain = {n: x.plain() if isinstance(x, Averaged) else x for n, x in final.whole.learned.items()}
    chosen = {n: dataclasses.asdict(line) for n, line in final.whole.chosen.items()}
    return {
        "errors": {name: {"seen": rms(a), "unseen": rms(b)} for name, (a, b) in off.items()},
        "cases": {c.unseen: {"seen": {n: rms(x) for n, x in c.seen_off.items()},
                             "unseen": {n: rms(x) for n, x in c.unseen_off.items()},
                             "chosen": [f.chosen[HYBRID].name for f in c.folds] + [c.whole.chosen[NEW].name]}
                  for c in cases},
        "ratio": ratios(cases, pushes), "shapes": pushes.kinds, "learned": plain, "chosen": chosen,
    }  # fmt: skip


def notes(cases: list[Case]) -> tuple[str, ...]:
    """What the numbers say."""
    own = [fits.chosen[HYBRID] for case in cases for fits in case.folds]
    new = [case.whole.chosen[NEW] for case in cases]
    count = lambda lines: f"{sum(line.network is not None for line in lines)} of {len(lines)}"
    return (
        "The hybrid predicts the mean path over what the pushes to learn from leave open. A network was clearly "
        f"better, and taken instead, in {count(own)} fits for seen shapes and {count(new)} for a new shape.",
    )
