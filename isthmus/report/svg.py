"""A frame with axes, and what is drawn inside it, as inline SVG. Colours come from classes: light and dark are CSS."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.report.html import Markup, joined, tag
from isthmus.report.numbers import decades, labelled, ticks


def point(x: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{x:.1f}".removesuffix(".0")


@dataclasses.dataclass(frozen=True)
class Frame:
    """A rectangle in which data coordinates become pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = 480
    height: int = 190
    left: int = 0
    """Room for the numbers at the left; 0: what they need."""
    right: int = 10
    top: int = 12
    bottom: int = 34
    log_y: bool = False
    class_: str = "chart"

    def __post_init__(self) -> None:
        if not self.left:
            longest = max((len(text) for _, text in self._heights()), default=0)
            object.__setattr__(self, "left", max(52, 24 + 6 * longest))

    def _heights(self) -> list[tuple[float, str]]:
        """Numbers at the left, with their texts."""
        return labelled(decades(*self.y, most=4) if self.log_y else ticks(*self.y, most=5))

    def X(self, x: Any) -> Any:
        """Pixels to the right, of a number or an array."""
        share = (np.asarray(x, dtype=np.float64) - self.x[0]) / (self.x[1] - self.x[0])
        return self.left + share * (self.width - self.left - self.right)

    def Y(self, y: Any) -> Any:
        """Pixels downwards, of a number or an array."""
        y, (low, high) = np.asarray(y, dtype=np.float64), self.y
        if self.log_y:
            y, low, high = np.log10(np.maximum(y, 1e-300)), np.log10(low), np.log10(high)
        share = (y - low) / (high - low)
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    @property
    def columns(self) -> int:
        """How many pixels a curve can cover."""
        return self.width - self.left - self.right

    # what is drawn ---------------------------------------------------------------------------------------------

    def axes(self, x_name: str = "", y_name: str = "") -> Markup:
        """Grid, numbers and names."""
        bottom, right = self.height - self.bottom, self.width - self.right
        parts: list[Markup] = []
        for value, text in labelled(ticks(*self.x, most=max(3, self.columns // 75))):
            at = point(float(self.X(value)))
            parts += [_line(at, self.top, at, bottom, "grid"), _text(at, bottom + 14, text)]
        for value, text in self._heights():
            at = float(self.Y(value))
            parts += [
                _line(self.left, point(at), right, point(at), "grid"),
                _text(self.left - 6, point(at + 3.5), text, "end"),
            ]
        if not self.log_y and self.y[0] < 0 < self.y[1]:
            zero = point(float(self.Y(0.0)))
            parts.append(_line(self.left, zero, right, zero, "zero"))
        middle = 0.5 * (self.left + right)
        parts.append(_text(point(middle), self.height - 4, x_name, class_="axis"))
        if y_name:
            place = f"rotate(-90) translate({-0.5 * (self.top + bottom):.0f} 11)"
            parts.append(tag("text", y_name, transform=place, text_anchor="middle", class_="axis"))
        return joined(*parts)

    def path(self, x: np.ndarray, y: np.ndarray, class_: str) -> Markup:
        """A curve; it breaks where a value is not finite."""
        px, py = self.X(x), self.Y(y)
        known = np.isfinite(px) & np.isfinite(py)
        py = np.clip(py, -2.0 * self.height, 3.0 * self.height)
        pieces = [
            "M" + "L".join(f"{point(px[k])} {point(py[k])}" for k in group)
            for on, group in _runs(known)
            if on and len(group) > 1
        ]
        return tag("path", d="".join(pieces), class_=f"curve {class_}") if pieces else Markup("")

    def area(self, x: np.ndarray, low: np.ndarray, high: np.ndarray, class_: str) -> Markup:
        """What lies between two curves."""
        known = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
        if known.sum() < 2:
            return Markup("")
        px, a, b = self.X(x[known]), self.Y(low[known]), self.Y(high[known])
        there = [f"{point(u)} {point(v)}" for u, v in zip(px, b, strict=True)]
        back = [f"{point(u)} {point(v)}" for u, v in zip(px[::-1], a[::-1], strict=True)]
        return tag("path", d=f"M{'L'.join(there + back)}Z", class_=class_)

    def dots(self, x: np.ndarray, y: np.ndarray, class_: str) -> Markup:
        """Points, as one path of round caps."""
        px, py = self.X(x), self.Y(y)
        known = np.isfinite(px) & np.isfinite(py)
        d = "".join(f"M{point(u)} {point(v)}h0" for u, v in zip(px[known], py[known], strict=True))
        return tag("path", d=d, class_=f"dots {class_}") if d else Markup("")

    def band(self, first: float, last: float, class_: str, title: str = "") -> Markup:
        """A shaded stretch of the x axis."""
        a, b = float(self.X(first)), float(self.X(last))
        height = self.height - self.top - self.bottom
        box = tag(
            "rect",
            x=point(a),
            y=self.top,
            width=point(max(b - a, 0.5)),
            height=height,
            class_=class_,
        )
        return joined(box, _text(point(a + 5), self.top - 3, title, "start", "bandname"))

    def picture(
        self, *parts: Any, title: str, inside: Sequence[Any] = (), grow: float = 1.6
    ) -> Markup:
        """The whole as an element; what is `inside` is cut off at the frame."""
        clip = tag(
            "svg",
            *inside,
            x=self.left,
            y=self.top,
            width=self.columns,
            height=self.height - self.top - self.bottom,
            overflow="hidden",
            viewBox=f"{self.left} {self.top} {self.columns} {self.height - self.top - self.bottom}",
        )
        return picture(
            self.width,
            self.height,
            *parts,
            clip if inside else None,
            title=title,
            class_=self.class_,
            grow=grow,
        )


def picture(
    width: int,
    height: int,
    *parts: Any,
    title: str,
    class_: str = "chart",
    grow: float = 1.6,
    least: float = 0.0,
) -> Markup:
    """An SVG element that fills the width it is given, from `least` to `grow` times its own."""
    return tag(
        "svg",
        tag("title", title),
        *parts,
        viewBox=f"0 0 {width} {height}",
        class_=class_,
        role="img",
        style=f"max-width:{grow * width:.0f}px"
        + (f";min-width:{least * width:.0f}px" if least else ""),
    )


def _line(x1: Any, y1: Any, x2: Any, y2: Any, class_: str) -> Markup:
    return tag("path", d=f"M{x1} {y1}L{x2} {y2}", class_=class_)


def _text(x: Any, y: Any, text: str, anchor: str = "middle", class_: str = "tick") -> Markup:
    return tag("text", text, x=x, y=y, text_anchor=anchor, class_=class_) if text else Markup("")


def _runs(flags: np.ndarray) -> list[tuple[bool, list[int]]]:
    """Stretches of equal flags, with their places."""
    grouped = itertools.groupby(range(len(flags)), key=lambda k: bool(flags[k]))
    return [(on, list(group)) for on, group in grouped]
