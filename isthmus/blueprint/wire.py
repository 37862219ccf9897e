"""`Wire`: one network from some signals to another, as the user writes it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from isthmus.entry import check_arguments
from isthmus.errors import BadOption, did_you_mean

MODES = ("add", "scale", "replace")
ROWS = ("all", "each")
ANGLES = ("sincos", "raw")

Networks = Mapping[str, Any]
"""Networks of the user's, by the name that stands for them in text: a module, or a recipe."""


@dataclasses.dataclass(frozen=True)
class Wire:
    """A network that corrects the signal `target` from the signals it `reads`.

    `target`, `reads`: names as everywhere, with rows by name or pattern (`joint/torque[elbow]`, `joint/*/position`);
    `previous/NAME` is the last step's value, `extra/NAME` a channel that comes with the controls (`extra/NAME[6]`:
    one of six numbers).
    `mode`: `add` (x + net), `scale` (x·(1 + net)): both start with no effect; `replace` (net instead of x) starts
    at the value that the physics gives in the neutral state.
    `rows`: `all`: the network sees all rows at once and answers for all; `each`: one network, shared, that sees each
    joint, link, point or contact (a corner of a shape) by itself.
    `angles`: `sincos` (default; quaternions enter as a rotation matrix) or `raw` (default of a `Spline`).
    `output_scale`: what an output of one means, in the target's unit; None: 1, or from the data given to `attach`.
    `fade`: whether the correction fades out where inputs leave the range of the motions that the network was fitted
    to, or of those given to `attach`; None: yes, if it adds to a torque or force or scales one.
    """

    target: str
    reads: tuple[str, ...] = ()
    net: Any = None
    mode: str = "add"
    rows: str = "all"
    angles: str | None = None
    output_scale: float | None = None
    name: str | None = None
    """What the network is called, `network/NAME`; None: the last part of the target's name."""
    fade: bool | None = None

    @check_arguments
    def __init__(
        self,
        target: str,
        reads: str | Sequence[str] = (),
        net: Any = None,
        *,
        mode: str = "add",
        rows: str = "all",
        angles: str | None = None,
        output_scale: float | None = None,
        name: str | None = None,
        fade: bool | None = None,
    ) -> None:
        given = (reads,) if isinstance(reads, str) else tuple(reads)
        who = f"the wire to {target!r}"
        for option, value, known in (
            ("mode", mode, MODES), ("rows", rows, ROWS), ("angles", angles, (*ANGLES, None)),
        ):  # fmt: skip
            if value not in known:
                near = did_you_mean(str(value), [k for k in known if k])
                raise BadOption(f"{who}: {option} cannot be {value!r}.{near}")
        net = net() if isinstance(net, type) and hasattr(net, "make") else net
        if net is None:
            raise BadOption(f"{who} needs a network: net=MLP(), for instance.")
        if name is not None and ("/" in name or "*" in name or not name):
            raise BadOption(f"{who}: its name cannot be {name!r}: no '/' or '*' in it.")
        if output_scale is not None and not 0 < output_scale < math.inf:
            raise BadOption(
                f"{who}: output_scale must be positive and finite, not {output_scale!r}."
            )
        if fade and (mode == "replace" or getattr(net, "law", None) == "conservative"):
            what = "replaces the physics" if mode == "replace" else "is the slope of a potential"
            raise BadOption(f"{who} cannot fade out: it {what}. Leave fade out.")
        values = (target, given, net, mode, rows, angles, output_scale, name, fade)
        for field, value in zip(dataclasses.fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)


@dataclasses.dataclass(frozen=True)
class Named:
    """Stands for a network of the user's in a blueprint that was read back from a model."""

    kind: str
