"""`Viewer`: worlds in viser that play, are scrubbed, and are simulated again as soon as a number changes."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from isthmus.errors import IsthmusError
from isthmus.model.model import Model
from isthmus.scene.scene import Scene
from isthmus.viewer.drawn import Drawn, draw
from isthmus.viewer.stage import prepare, standing
from isthmus.viewer.worlds import World, simulated, titles_of

FRAMES = 30.0
"""Pictures that are sent each second."""


class Viewer:
    """A running viewer; `stop` ends it, `wait` blocks until somebody does, or until Ctrl-C."""

    def __init__(self, server: Any, scene: Scene, worlds: Sequence[World]) -> None:
        self.server = server
        """The `viser.ViserServer`."""
        self.scene = scene
        self.worlds = list(worlds)
        """What is shown."""
        self.given = tuple(worlds)
        """What was given, before any number was changed."""
        self.models = [world.model for world in worlds]
        self.starts = [_first(world) for world in worlds]
        self.chosen: int | None = None
        """The world that sliders change; None: all of them."""
        self.time, self.speed, self.playing = 0.0, 1.0, True
        self.message = ""
        self.listeners: list[Any] = []
        """Functions that are called when a picture was drawn, with True where motions changed."""
        self._lock = threading.RLock()
        self._changed, self._idle, self._stopped = (threading.Event() for _ in range(3))
        self._idle.set()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._play, self._simulate)
        ]
        places = standing(scene, len(worlds))
        self.cell = prepare(server, scene, places)
        """Width of the floor's squares [m]."""
        self.titles = titles_of(worlds)
        """Names of the worlds, all different."""
        self.drawn: list[Drawn] = [
            draw(server, scene, f"world{k}", place, title if len(worlds) > 1 else "")
            for k, (place, title) in enumerate(zip(places, self.titles, strict=True))
        ]

    # what a user of the object calls -------------------------------------------------------------------

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        host = self.server.get_host()
        return f"http://{'localhost' if host in ('0.0.0.0', '127.0.0.1') else host}:{self.server.get_port()}"

    def start(self) -> None:
        """Begins to play and to simulate."""
        self.show(0.0)
        for thread in self._threads:
            thread.start()
        if any(world.still for world in self.worlds):
            self._request()

    def stop(self) -> None:
        """Ends the viewer; a browser that shows it says that the connection is lost."""
        self._stopped.set()
        self._changed.set()
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(timeout=5.0)
        with quiet():
            self.server.stop()

    def wait(self) -> None:
        """Blocks until `stop`, or until Ctrl-C, which stops it."""
        try:
            while not self._stopped.wait(0.5):
                pass
        except KeyboardInterrupt:
            self.stop()
            raise

    def settle(self, seconds: float = 60.0) -> bool:
        """Waits until the motion belongs to the numbers that were set; False where that takes longer."""
        return self._idle.wait(seconds)

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.address}" width="100%" height="600" style="border:0"></iframe>'

    # time ----------------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """How long the longest motion is [s]."""
        return max((world.pictures - 1) * world.take.seconds for world in self.worlds)

    def show(self, time: float, changed: bool = False) -> None:
        """Draws the pictures at a time [s]; `changed`: motions are new."""
        with self._lock, self.server.atomic():
            self.time = time
            for world, drawn in zip(self.worlds, self.drawn, strict=True):
                k = min(int(time / world.take.seconds + 1e-6), world.pictures - 1)
                drawn.picture(world.take, k)
        for listen in self.listeners:
            listen(changed)

    def _play(self) -> None:
        last = time.monotonic()
        while not self._stopped.wait(1.0 / FRAMES):
            now = time.monotonic()
            if self.playing and self.seconds > 0:
                self.show((self.time + (now - last) * self.speed) % self.seconds)
            last = now

    # numbers -------------------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The first world that sliders change."""
        return self.chosen or 0

    @property
    def _changing(self) -> range:
        return range(len(self.worlds)) if self.chosen is None else range(self.first, self.first + 1)

    def change(self, name: str, value: Any) -> None:
        """Sets a number by its name, as `model.set`, in the chosen world or in all, and simulates again."""
        try:
            changed = {k: self.models[k].set(name, value) for k in self._changing}
        except IsthmusError as refused:
            self._say(refused.message)
            return
        with self._lock:
            self.models = [changed.get(k, model) for k, model in enumerate(self.models)]
        self._request()

    def move(self, coordinate: int, value: float) -> None:
        """Sets a coordinate of the start, in the chosen world or in all, and simulates again from there."""
        with self._lock:
            for k in self._changing:
                if (start := self.starts[k]) is not None:
                    start[coordinate] = value
            self.time = 0.0
        self._request()

    def reset(self) -> None:
        """Back to what was given."""
        with self._lock:
            self.models = [world.model for world in self.given]
            self.starts = [_first(world) for world in self.given]
            self.worlds = list(self.given)
        self.show(0.0, True)
        if any(world.still for world in self.given):
            self._request()

    def _request(self) -> None:
        self._idle.clear()
        self._changed.set()

    def _say(self, message: str) -> None:
        self.message = message
        for listen in self.listeners:
            listen(True)

    def _simulate(self) -> None:
        """Simulates the newest numbers; those that change meanwhile are next."""
        while self._changed.wait() and not self._stopped.is_set():
            self._changed.clear()
            with self._lock:
                models, starts = (
                    list(self.models),
                    [None if q is None else q.copy() for q in self.starts],
                )
            for k, world in enumerate(self.given):
                unchanged = models[k] is world.model and _same(starts[k], _first(world))
                if not (unchanged and not world.still):
                    self._simulate_one(k, models[k], starts[k])
            if not self._changed.is_set():
                self._idle.set()

    def _simulate_one(self, k: int, model: Model, q: np.ndarray | None) -> None:
        try:
            if q is None:
                raise IsthmusError(
                    "only pictures of this motion are known; it cannot be simulated."
                )
            found = simulated(self.given[k], model, q)
        except IsthmusError as refused:
            self._say(refused.message)
            return
        finite = found.take.predicted is not None and np.isfinite(found.take.predicted).all()
        self.message = "" if finite else "the motion is not finite with these numbers."
        with self._lock:
            self.worlds[k] = dataclasses.replace(found, still=False)
        self.show(min(self.time, self.seconds), True)


def quiet() -> contextlib.AbstractContextManager[Any]:
    """Keeps viser's own messages from the terminal, where the address is printed once."""
    return contextlib.redirect_stdout(io.StringIO())


def _first(world: World) -> np.ndarray | None:
    """Where a world's motion starts; None: not known."""
    return None if world.motion is None else np.array(world.motion.q[0], dtype=np.float64)


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and bool(np.array_equal(a, b)))
