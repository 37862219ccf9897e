"""Native code of a problem's windows: which functions there are, each made when it is first wanted.

Small simulations get code with all directions of the Gauss-Newton matrix written out. Others get code whose size does
not depend on what is free, and which is found on disk under a name that needs no tracing.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import numpy as np

from isthmus.identify.evaluate import door, programs
from isthmus.identify.evaluate.inputs import Map, inputs_of
from isthmus.identify.evaluate.window import Plan, Window
from isthmus.phases import counted

FORWARD = 12
"""Up to so many free numbers, the gradient of a small simulation is cheaper by forward mode."""
WRITTEN_OUT = 27_000
"""Operations, by an estimate that is high for planar mechanisms, up to which the directions of the Gauss-Newton matrix
are written out. A double pendulum with 22 numbers is estimated at 26,000, has 8,000, compiles in 1.8 s of CPU and
takes 4 ms; with directions in lanes 0.9 s and 34 ms. An arm of 7 joints would have 102,000 and compile for 40 s."""
FEW_ROWS = 1000
"""Rows of logs up to which a search may be over sooner than careful compiling."""
LARGE_STEP = 6
"""Links and contact points, times evaluations of their dynamics in a row of the log, beyond which nothing is written
out."""
STEPWISE = ("rows", "gradient")
"""Functions whose code has every substep written out."""
SECONDS = {
    "residuals": 0.15,
    "columns": 0.35,
    "rows": 0.7,
    "gradient": 0.7,
    "normal": 0.5,
    "by_answers": 0.7,
}
"""About how long making each function takes for each link [s]; told to users, and no more than that."""
OF_A_DIRECTION = 2.0
"""Operations of a directional derivative, as a multiple of those of the simulation."""


def compiled_for(plan: Plan, example: Window, rows: int) -> Compiled:
    """The code of a plan, with `θ` as its input unless the simulation is small enough for written out directions.

    `rows`: how many rows of logs there are to simulate, in all windows together.
    """
    model = plan.parameters.template
    bodies = len(model.link_names) + len(model.contact_kinds)
    if bodies * plan.scheme.stages * plan.scheme.substeps <= LARGE_STEP:
        direct = Compiled(dataclasses.replace(plan, inputs=None), example)
        if direct.written_out <= WRITTEN_OUT:
            return direct
    general = dataclasses.replace(plan, inputs=inputs_of(plan.parameters))
    return Compiled(general, example, hasty=rows <= FEW_ROWS)


class Compiled:
    """The functions of `programs` as native code for windows like `example`."""

    def __init__(self, plan: Plan, example: Window, *, hasty: bool = False) -> None:
        """`hasty`: a search may be over sooner than careful compiling."""
        self.plan, self.example, self.hasty = plan, example, hasty

    def _native(
        self, name: str, fn: Any, *more: Any, label: str, about: Any = (), result: Any = ()
    ) -> Any:
        # loads LLVM, which only a search needs
        from isthmus.native.runtime.call import Native
        from isthmus.native.runtime.known import Known, digest

        plan, examples = self.plan, (np.zeros(self.plan.length), self.example, *more)
        known = None
        if plan.inputs is not None:
            channels = tuple((c.text, c.wrap) for c in plan.channels)
            scheme = (
                dataclasses.replace(plan.scheme, substeps=1) if plan.splits_steps else plan.scheme
            )
            about = (about, plan.scheme.substeps if name in STEPWISE else 0)
            rest = (channels, scheme, plan.huber, plan.start_rows, plan.shooting)
            settings = (name, plan.inputs.constants(), rest, plan.torque, plan.margin, about)
            entry = digest(settings, examples)
            known = None if entry is None else Known(entry, jax.tree.structure(result))
        return Native(
            fn,
            examples,
            known=known,
            width=64,
            label=f"{label} of {counted(plan.size, 'number')}{self._again}",
            seconds=SECONDS[name] * self.work,
            hasty=self.hasty,
        )

    @property
    def _again(self) -> str:
        """A remark for users where the code cannot be found again without tracing."""
        own = self.plan.inputs is None and self.plan.parameters.make is not None
        return " (in every process, as make= is a function of yours)" if own else ""

    @property
    def work(self) -> int:
        """How much code a row of the log is, in links whose dynamics are evaluated once."""
        return self.plan.scheme.stages * len(self.plan.parameters.template.link_names)

    @property
    def written_out(self) -> float:
        """Operations of a row with its Gauss-Newton matrix, all directions written out: an estimate."""
        n = self.plan.size
        one = self.residuals.facts.operations
        return one * (1.0 + OF_A_DIRECTION * n) + 0.5 * n * n * self.plan.width

    @functools.cached_property
    def inputs(self) -> Map:
        """From the free numbers to the numbers of the simulation."""
        assert self.plan.inputs is not None
        return Map(self.plan.parameters, self.plan.inputs)

    @functools.cached_property
    def residuals(self) -> Any:
        """`(u, window, substeps) -> differences, gap, positions`."""
        made, label = programs.residuals(self.plan), "the residuals"
        return self._native("residuals", made, np.int64(1), label=label, result=(0, 0, 0))

    @functools.cached_property
    def columns(self) -> Any:
        """`(u, window, substeps, directions, blocks) -> differences, gap, derivatives of both`."""
        directions = np.zeros((programs.BLOCKS, self.plan.length))
        made = programs.columns(self.plan)
        more = (np.int64(1), directions, np.int64(1))
        label = "the derivatives"
        return self._native("columns", made, *more, label=label, result=(0, 0, 0, 0))

    @functools.cached_property
    def rows(self) -> Any:
        """`(u, window, weights) -> all differences, gradient of their weighted sum`."""
        count = self.plan.width * self.example.target.shape[0] + self.plan.gaps
        made, kept = programs.rows(self.plan, self.kept), self.kept
        label = "the derivatives"
        return self._native("rows", made, np.zeros(count), label=label, about=kept, result=(0, 0))

    @functools.cached_property
    def doors(self) -> door.Doors | None:
        """The networks through whose answers a Gauss-Newton matrix is cheapest; None: that is not so."""
        return door.doors_of(self.plan, self.example)

    @functools.cached_property
    def by_answers(self) -> Any:
        """`(u, window, directions) -> differences, derivatives by the answers of networks, inputs of networks`."""
        assert self.doors is not None
        made = door.columns_by_answers(self.plan, self.doors)
        directions = np.zeros((len(self.doors.others), self.plan.length))
        about = (self.doors.networks, len(self.doors.others))
        return self._native(
            "by_answers", made, directions, label="the derivatives", about=about, result=(0, 0, 0)
        )

    @functools.cached_property
    def answers(self) -> Any:
        """`(u, inputs) -> Jacobians of the answers of networks by their numbers`."""
        # loads LLVM, which only a search needs
        from isthmus.native.runtime.call import Native

        assert self.doors is not None
        examples = (np.zeros(self.plan.length), np.zeros(sum(self.doors.inputs)))
        made = door.answers_by_weights(self.plan, self.doors)
        return Native(made, examples, width=64, label="the networks", hasty=self.hasty)

    @functools.cached_property
    def normal(self) -> Any:
        """`(u, window) -> cost, gradient, Gauss-Newton matrix`, for small simulations."""
        return self._native("normal", programs.normal(self.plan), label="the derivatives")

    @functools.cached_property
    def gradient(self) -> Any:
        """`(u, window) -> cost, gradient` by the entries `kept` of `u`."""
        if self.plan.inputs is None and self.plan.size <= FORWARD:
            made = programs.normal(self.plan, matrix=False)
            return self._native("gradient", made, label="the gradient")
        made, kept = programs.gradient(self.plan, self.kept), self.kept
        return self._native("gradient", made, label="the gradient", about=kept, result=(0, 0))

    @functools.cached_property
    def kept(self) -> np.ndarray:
        """The entries of `u` that free numbers reach."""
        inner = self.plan.inner
        moved = np.arange(inner) if self.plan.inputs is None else self.plan.inputs.moved()
        return np.concatenate([moved, np.arange(inner, self.plan.length)]).astype(np.int32)
