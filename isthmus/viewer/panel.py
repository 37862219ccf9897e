"""The viewer's panel: play and scrub, sliders of joints and numbers, plots of signals, what is shown."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from isthmus.errors import IsthmusError
from isthmus.model.model import Model, leaf_fields
from isthmus.motion.files import coordinate_names
from isthmus.networks.names import signals_of
from isthmus.palette import SERIES
from isthmus.viewer.legend import legend, paragraph, theme
from isthmus.viewer.viewer import Viewer
from isthmus.viewer.worlds import signal_along, step_of

SPEEDS = ("0.1", "0.25", "0.5", "1", "2")
MAX_LINES = 8
"""Lines of a plot."""
POINTS = 400
"""Of a line; longer motions are thinned."""
MARKING = 0.2
"""Time between two marks of the present in a plot, while it plays [s]."""
STEPS = 400
"""Of a slider."""
ALL, EVERY = "all", "all worlds"


class Panel:
    """The elements of the panel, by name, and what they do."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer, self.gui = viewer, viewer.server.gui
        self.joints: dict[str, Any] = {}
        """Sliders of coordinates, by their names."""
        self.numbers: dict[str, Any] = {}
        """Sliders of the chosen quantity, by the names that `model.set` takes."""
        self._filling = threading.local()
        """Its `on` is True in a thread that sets elements itself."""
        self._marked = 0.0
        tabs = self.gui.add_tab_group()
        with tabs.add_tab("Play"):
            self._add_player()
        with tabs.add_tab("Joints"):
            self._add_joints()
        self.number_tab = tabs.add_tab("Numbers")
        with self.number_tab:
            self._add_numbers()
        self._fill_numbers()
        with tabs.add_tab("Plot"):
            self._add_plot()
        with tabs.add_tab("Show"):
            self._add_look()
        viewer.listeners.append(self._drawn)
        self._drawn(True)

    # playing -------------------------------------------------------------------------------------------

    def _add_player(self) -> None:
        gui, viewer = self.gui, self.viewer
        self.play = gui.add_checkbox("play", viewer.playing)
        self.scrub = gui.add_slider("time [s]", 0.0, 1.0, 0.001, 0.0)
        self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
        names = [EVERY, *viewer.titles]
        self.world = gui.add_dropdown(
            "sliders change", names, initial_value=EVERY, visible=len(viewer.worlds) > 1
        )
        self.again = gui.add_button("reset", icon="rotate", color="gray")
        self.legend = gui.add_html(
            legend(viewer.scene, viewer.cell, bool(viewer.models[0].contact_kinds))
        )
        self.text = gui.add_html("")

        @self.play.on_update
        def _(_: Any) -> None:
            viewer.playing = self.play.value

        @self.scrub.on_update
        def _(_: Any) -> None:
            if not self._fills():
                viewer.playing = self.play.value = False
                viewer.show(float(self.scrub.value))

        @self.speed.on_update
        def _(_: Any) -> None:
            viewer.speed = float(self.speed.value)

        @self.world.on_update
        def _(_: Any) -> None:
            viewer.chosen = names.index(self.world.value) - 1 if self.world.value != EVERY else None
            self._fill_joints()
            self._fill_numbers()
            self._plot()

        @self.again.on_click
        def _(_: Any) -> None:
            viewer.reset()
            self._fill_joints()
            self._fill_numbers()

    def _drawn(self, changed: bool) -> None:
        """Shows the time, and where motions changed their length, messages and plots."""
        viewer = self.viewer
        with self._filled():
            if changed:
                self.scrub.max = max(viewer.seconds, 1e-3)
                self.text.content = self._said()
            self.scrub.value = min(viewer.time, float(self.scrub.max))
        if changed:
            self._plot()
        elif not viewer.playing or time.monotonic() - self._marked > MARKING:
            self._mark_now()

    def _fills(self) -> bool:
        return getattr(self._filling, "on", False)

    @contextmanager
    def _filled(self) -> Generator[None, None, None]:
        """Elements that change meanwhile were not moved by a user."""
        self._filling.on = True
        try:
            yield
        finally:
            self._filling.on = False

    def _said(self) -> str:
        waits = any(world.still for world in self.viewer.worlds)
        parts = [self.viewer.message, "simulating …" if waits else "", *self.viewer.scene.notes]
        return "".join(paragraph(html.escape(part)) for part in parts if part)

    # joints and numbers --------------------------------------------------------------------------------

    def _add_joints(self) -> None:
        model, start = self.viewer.models[0], self.viewer.starts[0]
        if start is None:
            self.gui.add_markdown("Only pictures of this motion are known; joints cannot be moved.")
            return
        self.gui.add_markdown("Where the motion starts [rad, m].")
        for k, name in enumerate(coordinate_names(model)):
            low, high = _travel(model, k, float(start[k]), self.viewer.scene.reach)
            self.joints[name] = self._slider(name, low, high, float(start[k]), self._move(k))

    def _move(self, k: int) -> Any:
        return lambda value: self.viewer.move(k, value)

    def _fill_joints(self) -> None:
        start = self.viewer.starts[self.viewer.first]
        with self._filled():
            for k, slider in enumerate(self.joints.values()):
                slider.value = float(0.0 if start is None else start[k])

    def _add_numbers(self) -> None:
        model = self.viewer.models[0]
        names = [spec.name for field, spec in leaf_fields() if np.size(getattr(model, field))]
        first = "link/mass" if "link/mass" in names else names[0]
        self.quantity = self.gui.add_dropdown("quantity", names, initial_value=first)
        self.quantity.on_update(lambda _: self._fill_numbers())

    def _fill_numbers(self) -> None:
        """A slider for every number of the chosen quantity."""
        for slider in self.numbers.values():
            slider.remove()
        model = self.viewer.models[self.viewer.first]
        field, spec = next(pair for pair in leaf_fields() if pair[1].name == self.quantity.value)
        value = np.asarray(getattr(model, field), dtype=np.float64)
        self.numbers = {}
        with self.number_tab:
            for name, rows in _owners(model, spec.rows):
                for index in np.ndindex(value[rows].shape):
                    label = name + "".join(f"[{i}]" for i in index)
                    self.numbers[label] = self._number(spec.name, name, rows, index, value, label)

    def _number(
        self, leaf: str, name: str, rows: Any, index: tuple[int, ...], value: np.ndarray, label: str
    ) -> Any:
        """A slider of one number, which sets all numbers of its row."""
        head, _, tail = leaf.rpartition("/")
        address = f"{head}/{name}/{tail}" if name else leaf
        x = float(value[rows][index])
        low, high = _range(x, signed=bool(index))

        def put(now: float) -> None:
            row = np.array(self.viewer.models[self.viewer.first].get(address), dtype=np.float64)
            row = row.reshape(value[rows].shape)
            row[index] = now
            self.viewer.change(address, row if row.ndim else float(row))

        return self._slider(label, low, high, x, put)

    def _slider(self, label: str, low: float, high: float, value: float, put: Any) -> Any:
        if not np.isfinite(value):
            return self.gui.add_text(label, f"{value}", disabled=True)
        slider = self.gui.add_slider(label, low, high, (high - low) / STEPS, value)

        @slider.on_update
        def _(_: Any) -> None:
            if not self._fills():
                put(float(slider.value))

        return slider

    # plots ---------------------------------------------------------------------------------------------

    def _add_plot(self) -> None:
        model = self.viewer.models[0]
        self._owned = {
            s.name: [ALL, *(n for n, _ in _owners(model, s.rows) if n)] for s in signals_of(model)
        }
        names = [name for name in self._owned if name != "time"]
        self.signal = self.gui.add_dropdown("signal", names, initial_value=names[0])
        self.row = self.gui.add_dropdown("of", self._owned[names[0]], initial_value=ALL)
        self.note = self.gui.add_markdown("")
        self._curves: tuple[np.ndarray, ...] = (np.zeros(2), np.zeros(2), np.zeros(2))
        number = {"x": {"time": False}}  # seconds, and no date
        self.plot = self.gui.add_uplot(
            self._curves, _series(["", "now"]), scales=number, aspect=1.2
        )

        @self.signal.on_update
        def _(_: Any) -> None:
            self.row.options = self._owned[self.signal.value]
            self.row.value = ALL
            self._plot()

        self.row.on_update(lambda _: self._plot())

    def _plot(self) -> None:
        """Draws the chosen signal of the chosen world, with a peak at the present time."""
        world = self.viewer.worlds[self.viewer.first]
        try:
            values = signal_along(world, self.signal.value)
        except IsthmusError as refused:
            self.note.content = refused.message
            return
        spec = next(s for s in signals_of(world.model) if s.name == self.signal.value)
        owners = _owners(world.model, spec.rows)
        picked = [(n, r) for n, r in owners if self.row.value in (ALL, n)]
        lines = [
            (n + "".join(f"[{i}]" for i in index), values[:, rows][:, *index] if rows is not ... else values[:, *index])
            for n, rows in picked
            for index in np.ndindex(values[0][rows].shape)
        ]  # fmt: skip
        more = f", {len(lines) - MAX_LINES} more are not drawn" if len(lines) > MAX_LINES else ""
        of = f"{self.viewer.titles[self.viewer.first]}: " if len(self.viewer.worlds) > 1 else ""
        self.note.content = f"{of}{spec.name} [{spec.unit}]{more}"
        every = 1 + (len(values) - 1) // POINTS
        t = (
            step_of(world.motion) * np.arange(0, len(values), every)
            if world.motion
            else np.zeros(1)
        )
        shown = lines[:MAX_LINES]
        self._curves = (t, *(np.asarray(x[::every], dtype=np.float64) for _, x in shown))
        with self.viewer.server.atomic():
            self.plot.series = _series([*(n for n, _ in shown), "now"])
            self._mark_now()

    def _mark_now(self) -> None:
        """A peak at the present time: the last curve, which lies at the lowest value and there reaches the highest."""
        self._marked = time.monotonic()
        t, *lines = self._curves
        low, high = (np.nanmin(lines), np.nanmax(lines)) if np.isfinite(lines).any() else (0.0, 1.0)
        k = min(int(np.searchsorted(t, self.viewer.time)), len(t) - 1)
        now = np.full(len(t), low)
        now[k] = high
        self.plot.data = (t, *lines, now)

    # what is shown -------------------------------------------------------------------------------------

    def _add_look(self) -> None:
        gui, viewer = self.gui, self.viewer
        self.shapes = gui.add_dropdown("shapes", ("visual", "collision"), initial_value="visual")
        self.frames = gui.add_checkbox("frames of links", False)
        self.ghost = gui.add_checkbox("ghost", True)
        self.forces = gui.add_checkbox("contacts and forces", True)
        self.wires = gui.add_checkbox("networks", True, visible=bool(viewer.scene.wires))
        self.dark = gui.add_checkbox("dark", False)
        self.dark.on_update(lambda _: theme(viewer.server, self.dark.value))

        def apply(_: Any) -> None:
            for drawn in viewer.drawn:
                drawn.body.show(self.shapes.value)
                drawn.body.show_frames(self.frames.value)
                drawn.shows_ghost, drawn.shows_contacts = self.ghost.value, self.forces.value
                for handle in drawn.wires:
                    handle.visible = self.wires.value
            viewer.show(viewer.time)

        for element in (self.shapes, self.frames, self.ghost, self.forces, self.wires):
            element.on_update(apply)


def _series(names: list[str]) -> tuple[dict[str, Any], ...]:
    lines = [
        {"label": name, "stroke": SERIES[k % len(SERIES)] if name != "now" else "#888888", "width": 1.5}
        for k, name in enumerate(names)
    ]  # fmt: skip
    return ({"label": "time [s]"}, *lines)


def _owners(model: Model, family: str | None) -> list[tuple[str, Any]]:
    """Names with the rows that they own; a quantity without rows has one, called by nothing."""
    if family is None:
        return [("", ...)]
    owned = model.rows(family)
    return [(n, rows[0] if len(rows) == 1 else np.array(rows)) for n, rows in owned.items() if rows]


def _range(x: float, *, signed: bool) -> tuple[float, float]:
    """What a slider of a number reaches: from zero to four times as much, or as far on both sides."""
    if x == 0.0:
        return -1.0, 1.0
    return (0.0, 4.0 * x) if x > 0 and not signed else (-4.0 * abs(x), 4.0 * abs(x))


def _travel(model: Model, coordinate: int, x: float, reach: float) -> tuple[float, float]:
    """Ends of travel of a coordinate, or what is worth a look."""
    for i, ((a, b), (c, d)) in enumerate(zip(model.layout.q_own, model.layout.v_own, strict=True)):
        if not a <= coordinate < b:
            continue
        if b - a != d - c and coordinate - a >= b - a - 4:
            return -1.0, 1.0  # of a quaternion
        v = c + coordinate - a
        if v in model.limited:
            low, high = float(model.joint_lower[v]), float(model.joint_upper[v])
            if np.isfinite([low, high]).all():
                return min(low, x), max(high, x)
        wide = np.pi if model.kind(i).units[coordinate - a] == "rad" else 2.0 * reach
        return min(-wide, x), max(wide, x)
    return -1.0, 1.0
