"""A fit on disk: `fit.json` for what people read, `fit.npz` for arrays; no pickle."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from isthmus.errors import BadFile, BadOption, MissingFile
from isthmus.model.model import Model, leaf_fields

if TYPE_CHECKING:
    from isthmus.identify.fit import Fit

FORMAT = "isthmus fit 1"


def save(fit: Fit, folder: Path) -> Path:
    """Writes the two files."""
    folder.mkdir(parents=True, exist_ok=True)
    leaves, static = [field for field, _ in leaf_fields()], _static(fit.model)
    arrays = {f"model/{field}": np.asarray(getattr(fit.model, field)) for field in leaves}
    weights = jax.tree.leaves(fit.model.networks)
    arrays |= {f"network/{k}": np.asarray(w) for k, w in enumerate(weights) if hasattr(w, "shape")}
    arrays |= {"covariance": fit.covariance, "correlations": fit.correlations, "x": fit.x}
    text = {
        "format": FORMAT, "model": static,
        "estimates": {n: dataclasses.asdict(e) for n, e in fit.estimates.items()},
        "noise": fit.noise, "errors": fit.errors, "heldout": fit.heldout, "status": fit.status, "loss": fit.loss,
        "history": fit.history, "evaluations": fit.evaluations, "seconds": fit.seconds,
        "islands": fit.islands, "warnings": fit.warnings, "undetermined": fit.undetermined, "settings": fit.settings,
    }  # fmt: skip
    stored: dict[str, Any] = arrays
    np.savez_compressed(folder / "fit.npz", **stored)
    (folder / "fit.json").write_text(json.dumps(text, indent=1, default=float), encoding="utf-8")
    return folder


def load(folder: Path, like: Model | None) -> Fit:
    """Reads the two files."""
    from isthmus.identify.fit import Estimate, Fit

    text, arrays = _read(folder)
    pairs = lambda errors: None if errors is None else {n: (a, b) for n, (a, b) in errors.items()}
    return Fit(
        model=_model(text["model"], arrays, like, folder),
        estimates={n: Estimate(**e) for n, e in text["estimates"].items()},
        covariance=arrays["covariance"], correlations=arrays["correlations"], noise=text["noise"],
        errors=pairs(text["errors"]) or {}, heldout=pairs(text["heldout"]), status=text["status"],
        loss=text["loss"], history=tuple(text["history"]), evaluations=text["evaluations"],
        seconds=text["seconds"], warnings=tuple(text["warnings"]), undetermined=tuple(text["undetermined"]),
        settings=text["settings"], x=arrays["x"], islands=tuple(map(tuple, text.get("islands", ()))),
    )  # fmt: skip


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    for name in ("fit.json", "fit.npz"):
        if not (folder / name).is_file():
            raise MissingFile(f"{folder} has no {name}: it is no folder that Fit.save wrote.")
    try:
        text = json.loads((folder / "fit.json").read_text(encoding="utf-8"))
        with np.load(folder / "fit.npz", allow_pickle=False) as stored:
            arrays = dict(stored)
    except (ValueError, zipfile.BadZipFile, OSError) as broken:
        raise BadFile(f"{folder} cannot be read: {broken}.") from broken
    if not isinstance(text, dict) or text.get("format") != FORMAT:
        raise BadFile(f"{folder / 'fit.json'} was not written by Fit.save.")
    return text, arrays


def _static(model: Model) -> dict[str, Any]:
    """Topology, as plain data."""
    fields = [f for f in dataclasses.fields(model) if f.metadata.get("static")]
    plain = {f.name: getattr(model, f.name) for f in fields}
    return {name: value for name, value in plain.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def _model(
    static: dict[str, Any], arrays: dict[str, np.ndarray], like: Model | None, folder: Path
) -> Model:
    leaves = {
        name.removeprefix("model/"): x for name, x in arrays.items() if name.startswith("model/")
    }
    weights = [arrays[f"network/{k}"] for k in range(sum(n.startswith("network/") for n in arrays))]
    if like is not None:
        model = dataclasses.replace(like, **leaves)
        if not weights:
            return model
        old, tree = jax.tree.flatten(model.networks)
        return dataclasses.replace(
            model, networks=jax.tree.unflatten(tree, _swapped(old, weights, folder))
        )
    if weights:
        raise BadOption(
            f"the fit in {folder} has networks: give the model it was made from, Fit.load(folder, like=)."
        )
    return Model(**{name: _tuples(value) for name, value in static.items()}, **leaves)


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
