"""A fit on disk: `fit.json` for people to read, `fit.npz` for arrays, `model.safetensors` for the model; no pickle.

The model is written as `ist.save` does, so that `ist.load` reads it. Version 0.1 wrote its numbers into `fit.npz` and
its topology into `fit.json` (format 1); such folders are still read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from isthmus import schema as t
from isthmus.disk import is_folder, made_folder, opened, whole_file
from isthmus.errors import BadFile, BadOption, MissingFile
from isthmus.files.load import load as load_model
from isthmus.files.save import save as save_model
from isthmus.files.topology import with_extras
from isthmus.identify.answer.abstract_fit import AbstractFit, Estimate
from isthmus.identify.answer.comparison import Comparison
from isthmus.model.model import Model
from isthmus.motion.files import npz_arrays

FORMAT, FIRST_FORMAT = "isthmus fit 2", "isthmus fit 1"
ERRORS = t.table_with(t.list_of(t.ANY_NUMBER, 2))
FIELDS = {
    "noise": t.ANY_NUMBER, "status": t.ANY_TEXT, "loss": t.ANY_NUMBER, "evaluations": t.WHOLE,
    "seconds": t.ANY_NUMBER, "settings": t.TABLE, "history": t.list_of(t.ANY_NUMBER),
    "warnings": t.list_of(t.ANY_TEXT), "undetermined": t.list_of(t.ANY_TEXT), "errors": ERRORS,
    "heldout": t.either(ERRORS, t.NOTHING), "estimates": t.table_with(t.TABLE),
    "islands": t.list_of(t.list_of(t.ANY_NUMBER)), "digests": t.table_with(t.ANY_TEXT),
    "lacking": t.ANY_TEXT, "doubtful": t.table_with(t.ANY_TEXT), "bent": t.ANY_TEXT,
}  # fmt: skip
"""What stands in `fit.json`, besides its format and the model."""
SHAPES = {"covariance": 2, "correlations": 2, "x": 1}
"""Arrays in `fit.npz`, and how many axes they have."""
OPTIONAL = ("islands", "digests", "lacking", "doubtful", "bent")
ESTIMATE = {"value": t.ANY_NUMBER, "error": t.ANY_NUMBER, "unit": t.ANY_TEXT, "start": t.ANY_NUMBER}
TEXT, ARRAYS, MODEL = "fit.json", "fit.npz", "model.safetensors"


def save(fit: AbstractFit, folder: Path) -> Path:
    """Writes the three files."""
    made_folder(folder)
    save_model(fit.model, folder / MODEL)
    with whole_file(folder / ARRAYS) as file:
        np.savez_compressed(file, covariance=fit.covariance, correlations=fit.correlations, x=fit.x)
    text = {
        "format": FORMAT, "model": fit.model.name,
        "digests": {name: _digest(folder / name) for name in (ARRAYS, MODEL)},
        "estimates": {n: dataclasses.asdict(e) for n, e in fit.estimates.items()},
        "noise": fit.noise, "errors": fit.errors, "heldout": fit.heldout, "status": fit.status, "loss": fit.loss,
        "history": fit.history, "evaluations": fit.evaluations, "seconds": fit.seconds,
        "networks": None if fit.networks is None else dataclasses.asdict(fit.networks),
        "islands": fit.islands, "warnings": fit.warnings, "undetermined": fit.undetermined, "settings": fit.settings,
        "lacking": fit.lacking, "doubtful": fit.doubtful, "bent": fit.bent,
    }  # fmt: skip
    with whole_file(folder / TEXT) as file:  # last: it says which files belong to it
        file.write(json.dumps(text, indent=1, default=float).encode())
    return folder


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load(folder: Path, like: Model | None, networks: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of a fit; `networks`: classes of the caller's own, as `ist.load` takes them."""
    text, arrays = _read(folder)
    for name in {ARRAYS, MODEL} & set(text.get("digests", {})):
        if not (folder / name).is_file() or _digest(folder / name) != text["digests"][name]:
            raise BadFile(
                f"{folder / name} does not belong to {TEXT} beside it: it was changed, or a run was stopped while it "
                "wrote. Fit again."
            )
    if text["format"] == FIRST_FORMAT:
        with opened(folder / ARRAYS, "part of a fit"):
            model = _model_of_first_format(text["model"], arrays, like, folder)
    else:
        model = load_model(folder / MODEL, networks=networks)
    with opened(folder / TEXT, "text of a fit"):
        compared = _comparison(text.get("networks"))
    pairs = lambda errors: None if errors is None else {n: (a, b) for n, (a, b) in errors.items()}
    same = ("noise", "status", "loss", "evaluations", "seconds", "settings")
    return {
        **{name: text[name] for name in same},
        **{name: tuple(text[name]) for name in ("history", "warnings", "undetermined")},
        **{name: arrays[name] for name in SHAPES},
        "model": model,
        "estimates": {n: Estimate(**e) for n, e in text["estimates"].items()},
        "errors": pairs(text["errors"]) or {},
        "heldout": pairs(text["heldout"]),
        "islands": tuple(map(tuple, text.get("islands", ()))),
        "lacking": text.get("lacking", ""),
        "bent": text.get("bent", ""),
        "doubtful": text.get("doubtful", {}),
        "networks": compared,
    }


def _comparison(data: dict[str, Any] | None) -> Comparison | None:
    """Held-out motion with networks and without, as `save` wrote it."""
    if data is None:
        return None
    pairs = lambda table: {name: tuple(pair) for name, pair in table.items()}
    return Comparison(pairs(data["errors"]), data["helps"], data["kept"], pairs(data["outside"]))


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the text says and the arrays, each of the right kind."""
    is_folder(folder)  # refuses a name that no folder can have
    for name in (TEXT, ARRAYS):
        if not (folder / name).is_file():
            raise MissingFile(f"{folder} has no {name}: it is no folder that Fit.save wrote.")
    with opened(folder / TEXT, "text of a fit"):
        text = json.loads((folder / TEXT).read_text(encoding="utf-8"))
    if not isinstance(text, dict) or text.get("format") not in (FORMAT, FIRST_FORMAT):
        raise BadFile(f"{folder / TEXT} was not written by Fit.save.")
    if fault := next(_faults(text), None):
        raise BadFile(f"{folder / TEXT} is damaged: {fault} Fit again.")
    arrays = npz_arrays(folder / ARRAYS)
    for name, ndim in SHAPES.items():
        if name not in arrays or arrays[name].dtype.kind != "f" or arrays[name].ndim != ndim:
            raise BadFile(f"{folder / ARRAYS} is damaged: it lacks {name!r}. Fit again.")
    return text, arrays


def _faults(text: dict[str, Any]) -> Iterator[str]:
    """What is missing in a text, or is of another kind."""
    told = {name: value for name, value in text.items() if name in FIELDS}
    yield from t.faults_of(told, FIELDS, TEXT)
    yield from (f"{n} is missing." for n in (*FIELDS, "model") if n not in (*text, *OPTIONAL))
    for name, table in text["estimates"].items():
        yield from t.faults_of(table, ESTIMATE, f"the estimate {name!r}")
        yield from (f"{part} of {name!r} is missing." for part in ESTIMATE if part not in table)


# format 1 ------------------------------------------------------------------------------------------------


def _model_of_first_format(
    static: dict[str, Any], arrays: dict[str, np.ndarray], like: Model | None, folder: Path
) -> Model:
    """The model of a fit that version 0.1 saved; one with networks needs `like`, for their structure."""
    leaves = {
        name.removeprefix("model/"): x for name, x in arrays.items() if name.startswith("model/")
    }
    weights = [arrays[f"network/{k}"] for k in range(sum(n.startswith("network/") for n in arrays))]
    if like is not None:
        old, tree = jax.tree.flatten(like.networks)
        networks = jax.tree.unflatten(tree, _swapped(old, weights, folder)) if weights else ()
        return dataclasses.replace(like, **leaves, networks=networks or like.networks)
    if weights:
        raise BadOption(
            f"the fit in {folder} was saved by isthmus 0.1 and has networks: give the model it was made from, "
            "Fit.load(folder, like=)."
        )
    return Model(**with_extras({n: _tuples(value) for n, value in static.items()} | leaves))


def _swapped(old: list[Any], weights: list[np.ndarray], folder: Path) -> list[Any]:
    arrays = iter(weights)
    new: list[Any] = [next(arrays, None) if hasattr(x, "shape") else x for x in old]
    if any(
        hasattr(a, "shape") and np.shape(a) != np.shape(b) for a, b in zip(old, new, strict=True)
    ):
        raise BadOption(f"the networks of like= differ in shape from those in {folder}.")
    return new


def _tuples(value: Any) -> Any:
    """Lists as tuples, all the way down: what static fields are."""
    return tuple(_tuples(x) for x in value) if isinstance(value, list) else value
