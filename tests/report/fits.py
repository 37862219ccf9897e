"""Fits that reports are tested on: one real and small, and ones made up from it."""

from __future__ import annotations

import dataclasses
import functools
from html.parser import HTMLParser
from typing import Any

import numpy as np

import isthmus as ist
from isthmus.identify.answer.abstract_fit import Estimate
from isthmus.identify.fit import Fit
from tests.identify.motions import SINGLE, recorded


@functools.cache
def real() -> Fit:
    """Mass and damping of a pendulum, from one run, with another held out."""
    truth = SINGLE.set("link/mass", 1.3)
    logs = [recorded(truth, 61, noise=1e-3, seed=k, start=(1.2 - 0.5 * k,)) for k in range(2)]
    free = [ist.Free("link/*/mass", low=0.5, high=2.0), ist.Free("joint/*/damping")]
    problem = ist.Problem(SINGLE, logs, free=free, loss=ist.Windows(20), noise=1e-3, heldout=1)
    return ist.fit(problem)


def made_up(count: int, **changes: Any) -> Fit:
    """A fit of `count` numbers without motion."""
    names = [f"joint/{'a_rather_long_name_' * (k % 3)}{k}/damping" for k in range(count)]
    rng = np.random.default_rng(0)
    estimates = {n: Estimate(rng.random(), 0.1, "N·m·s/rad", 1.0) for n in names}
    A = rng.standard_normal((count, count + 3))
    C = A @ A.T
    size = np.sqrt(np.diag(C))
    base = dataclasses.replace(
        real(),
        estimates=estimates,
        covariance=C,
        correlations=C / size / size[:, None],
        problem=None,
        undetermined=(),
        warnings=(),
    )
    return dataclasses.replace(base, **changes)


class Outline(HTMLParser):
    """Reads a page: elements must nest; what they load, their ids and the headings are kept."""

    VOID = frozenset("meta input br hr wbr".split())
    LOADS = frozenset("src href srcset data action xlink:href".split())

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.headings: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [(tag, value or "") for key, value in attrs if key in self.LOADS]
        self.ids += [value or "" for key, value in attrs if key == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a start"
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
