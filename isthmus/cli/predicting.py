"""The work of `isthmus predict`, behind its arguments. Loads the array libraries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.text import Text

from isthmus.cli.output import in_background, show, working
from isthmus.cli.predict import NUMBERS, PICTURE
from isthmus.disk import made_folder, whole_file
from isthmus.errors import BadInput, BadLog
from isthmus.figures.plot import save_figure
from isthmus.figures.prediction import plot_prediction
from isthmus.identify.answer.files import TEXT
from isthmus.identify.fit import Fit
from isthmus.identify.predict import Prediction, predict
from isthmus.study.build import Trials, read_logs
from isthmus.study.study import Study


def predict_logs(fit: str, logs: Sequence[str], frames: int, folder: Path, *, as_json: bool) -> int:
    """Predicts logs with the fit in a folder; returns the exit status, 1 where a prediction is not finite."""
    with working("predicting"):
        found = in_background(lambda: _predicted(Path(fit), logs, frames))
    numbers = {"fit": fit, **found.as_dict()}
    with working("drawing"):
        figure = in_background(lambda: plot_prediction(found))
    made_folder(str(folder))
    save_figure(figure, folder / PICTURE)
    text = json.dumps(numbers, indent=2, ensure_ascii=False, allow_nan=False)
    with whole_file(folder / NUMBERS) as file:
        file.write(f"{text}\n".encode())
    if as_json:
        print(text)
    else:
        show(*map(Text, str(found).splitlines()))
        print(f"wrote {folder}: {NUMBERS}, {PICTURE}")
    return 0 if all(np.isfinite(score.error) for score in found.scores) else 1


def _predicted(folder: Path, logs: Sequence[str], frames: int) -> Prediction:
    folder = folder.parent if folder.name == TEXT else folder
    fit = Fit.load(folder)
    study = folder / "study.toml"
    options = Study.load(study).reading if study.is_file() else {}
    tried = Trials()
    motions = read_logs(tried, "logs", [Path(path) for path in logs], fit.model, options)
    if tried.faults:
        raise BadInput(tried.faults)
    if not motions:
        raise BadLog(f"there are no logs in {', '.join(map(repr, logs))}.")
    return predict(fit, motions, frames=frames)
