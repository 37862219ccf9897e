"""The parts of a study's problem: robot and logs are read, networks attached; faults gather in `Trials`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax

from isthmus.blueprint.blueprint import Blueprint
from isthmus.blueprint.wire import Wire
from isthmus.data.read import read_motion
from isthmus.data.tables import by_number
from isthmus.disk import is_folder
from isthmus.errors import BadInput, IsthmusError
from isthmus.files.load import load
from isthmus.files.touching import with_contact_of_library
from isthmus.identify.parameters.free import Free
from isthmus.identify.parameters.parameters import parameters
from isthmus.library.shipped import PREFIX, shipped
from isthmus.losses.residuals import channel
from isthmus.model.contacts import with_solver
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.phases import counted

ENDINGS = (".csv", ".tsv", ".npz", ".h5", ".hdf5", ".parquet", ".pq", ".mcap", ".db3", ".bag")
"""Of the files that a folder of logs is searched for."""


class Trials:
    """Runs one piece of work after the other and collects what went wrong."""

    def __init__(self, faults: Sequence[str] = ()) -> None:
        self.faults = list(faults)

    def __call__(self, who: str, work: Callable[[], Any]) -> Any:
        """What `work` returns; None if it failed, with its faults behind the name `who`."""
        try:
            return work()
        except BadInput as bad:
            self.faults += [f"{who}: {fault}" for fault in bad.faults]
        except IsthmusError as bad:
            self.faults.append(f"{who}: {bad.message}")
        return None


def load_robot(
    place: Path, robot: str, *, impulses: Mapping[str, Any] | None = None, **options: Any
) -> Model:
    """The model that `robot` names: `library:NAME`, or a file as seen from `place`, loaded with `options`.

    `impulses`: options of `ist.with_contact` that say how its impulses are computed.
    """
    options["packages"] = [place / folder for folder in options.get("packages", ())]
    if robot.startswith(PREFIX):
        found = shipped(robot.removeprefix(PREFIX))
        touching = (options.get(name) for name in ("ground", "contact"))
        model = with_contact_of_library(found, *touching, options.get("pairs", ()))
    else:
        model = load(place / robot, **options)
    return with_solver(model, **impulses) if impulses else model


def read_logs(
    tried: Trials, who: str, paths: Iterable[Path], model: Model | None, options: Mapping[str, Any]
) -> list[Motion]:
    """The motions of paths, patterns or folders, read with `options` of `read_motion`."""
    motions: list[Motion] = []
    for path in paths:
        found = tried(who, lambda path=path: read_motion(files_in(path), model, **options)) or []
        motions += found if isinstance(found, list) else [found]
    return motions


def files_in(path: Path) -> Any:
    """The logs in a folder, or the path itself."""
    if not is_folder(path):
        return path
    logs = (file for file in path.iterdir() if file.suffix.lower() in ENDINGS)
    files = sorted(logs, key=by_number)
    is_bag = (path / "metadata.yaml").exists()
    return files if files and not is_bag else path


def divided(
    logs: list[Motion], heldout: int | float | None, tried: Trials
) -> tuple[list[Motion], list[Motion]]:
    """The motions that are fitted, and those that are only predicted: the last ones, or the end of each."""
    if isinstance(heldout, float):
        pieces = [m.split(share=1.0 - heldout) for m in logs]
        if short := [m for m, parts in zip(logs, pieces, strict=True) if len(parts) < 2]:
            rows = counted(len(short[0]), "row")
            tried.faults.append(
                f"heldout = {heldout} cannot divide {short[0].name!r}, which has {rows}."
            )
            return logs, []
        return [parts[0] for parts in pieces], [parts[1] for parts in pieces]
    if not heldout:
        return logs, []
    if logs and heldout >= len(logs):
        count = counted(len(logs), "log")
        tried.faults.append(f"heldout = {heldout} leaves nothing to fit of {count}.")
        return logs, []
    return logs[:-heldout], logs[-heldout:]


def attached(model: Model, wires: Sequence[Wire], logs: Sequence[Motion], seed: int) -> Model:
    """The model with networks, scaled by the logs."""
    full = [m for m in logs if m.q is not None and m.v is not None]
    with jax.enable_x64(True):
        return Blueprint(wires).attach(model, key=jax.random.key(seed), data=full or None)


def try_names(model: Model, free: Sequence[Free], signals: Sequence[str], tried: Trials) -> None:
    """Looks up every name by itself, so that each one that the model does not have is a fault of its own."""
    looked_up = (
        tried("[loss], signals", lambda text=text: channel(model, text)) for text in signals
    )
    labels = {found.text: found.labels for found in looked_up if found is not None}
    for n, one in enumerate(free, 1):
        if not one.name.startswith("start/"):
            tried(f"free {n}", lambda one=one: parameters(model, None, [one], lambda _: labels))
