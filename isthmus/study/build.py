"""A study -> a problem: robot and logs are read, names looked up; what is wrong is said at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax

from isthmus.blueprint.blueprint import Blueprint
from isthmus.data.read import read_motion
from isthmus.errors import BadDescription, BadStudy, IsthmusError
from isthmus.files.load import load
from isthmus.identify.parameters.parameters import parameters
from isthmus.identify.problem import Problem
from isthmus.library.shipped import PREFIX, shipped
from isthmus.losses.residuals import channel
from isthmus.model.model import Model
from isthmus.motion.motion import Motion
from isthmus.study.study import Study
from isthmus.study.tables import words_of

ENDINGS = (".csv", ".tsv", ".npz", ".h5", ".hdf5", ".parquet", ".pq", ".mcap", ".db3", ".bag")
"""Of the files that a folder of logs is searched for."""


class Trials:
    """Does one thing after the other and keeps what went wrong."""

    def __init__(self, faults: Sequence[str] = ()) -> None:
        self.faults = list(faults)

    def __call__(self, who: str, work: Callable[[], Any]) -> Any:
        """What `work` gives, or None."""
        try:
            return work()
        except BadDescription as bad:
            self.faults += [f"{who}: {fault}" for fault in bad.faults]
        except IsthmusError as bad:
            self.faults.append(f"{who}: {words_of(bad)}")
        return None


def problem_of(study: Study) -> Problem:
    """What the study asks for."""
    tried = Trials()
    model = tried("robot", lambda: robot_of(study))
    logs = [m for path in study.logs for m in read(tried, "logs", study, path, model)]
    given = study.heldout if isinstance(study.heldout, tuple) else ()
    heldout = [m for path in given for m in read(tried, "heldout", study, path, model)]
    logs, heldout = divided(logs, heldout, study, tried)
    if model is not None and study.wires and (logs or heldout):
        model = tried("wire", lambda: attached(study, model, logs)) or model
    if model is not None:
        look_up(study, model, tried)
    if tried.faults:
        raise BadStudy(tried.faults, study.source)
    return Problem(
        model, logs, free=study.free, loss=study.loss, heldout=heldout or None,
        **study.compared, **study.time,
    )  # fmt: skip


def robot_of(study: Study) -> Model:
    """The robot, without networks of the study's own."""
    if study.robot.startswith(PREFIX):
        return shipped(study.robot.removeprefix(PREFIX))
    options: dict[str, Any] = {"base": study.base, "repair": study.repair, "ground": study.ground}
    return load(study.here / study.robot, **options)


def read(tried: Trials, who: str, study: Study, path: str, model: Model | None) -> list[Motion]:
    """The motions of one path, pattern or folder."""

    def work() -> list[Motion]:
        found = read_motion(files_in(study.here / path), model, **study.reading)
        return found if isinstance(found, list) else [found]

    return tried(who, work) or []


def files_in(path: Path) -> Any:
    """The logs in a folder, or the path itself."""
    if not path.is_dir():
        return path
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS)
    is_bag = (path / "metadata.yaml").exists()
    return files if files and not is_bag else path


def divided(
    logs: list[Motion], heldout: list[Motion], study: Study, tried: Trials
) -> tuple[list[Motion], list[Motion]]:
    """Which motions are fitted, and which are only predicted."""
    if heldout:
        own = {m.name for m in heldout}
        return [m for m in logs if m.name not in own] or logs, heldout
    if isinstance(study.heldout, float):
        pieces = [m.split(share=1.0 - study.heldout) for m in logs]
        return [first for first, _ in pieces], [rest for _, rest in pieces]
    if isinstance(study.heldout, int) and study.heldout:
        if logs and study.heldout >= len(logs):
            tried.faults.append(
                f"heldout = {study.heldout} leaves nothing to fit of {len(logs)} log(s)."
            )
            return logs, []
        return logs[: -study.heldout], logs[-study.heldout :]
    return logs, []


def attached(study: Study, model: Model, logs: Sequence[Motion]) -> Model:
    """The robot with the networks of the study, scaled by the logs."""
    full = [m for m in logs if m.q is not None and m.v is not None]
    key = jax.random.key(study.seed)
    with jax.enable_x64(True):
        return Blueprint(study.wires).attach(model, key=key, data=full or None)


def look_up(study: Study, model: Model, tried: Trials) -> None:
    """Every name of the study in the robot."""
    signals = study.compared.get("signals", ("joint/position",))
    looked_up = (
        tried("[loss], signals", lambda text=text: channel(model, text)) for text in signals
    )
    labels = {found.text: found.labels for found in looked_up if found is not None}
    noise = study.compared.get("noise")
    for text in noise if isinstance(noise, dict) else ():
        if text not in signals:
            known = ", ".join(map(repr, signals))
            tried.faults.append(f"[loss], noise: {text!r} is not compared; that is {known}.")
    for n, free in enumerate(study.free, 1):
        if not free.name.startswith("start/"):
            tried(f"free {n}", lambda free=free: parameters(model, None, [free], lambda _: labels))
