"""A posterior on disk: `posterior.json` for people, `posterior.npz` for arrays, `model.safetensors`; no pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from isthmus import schema as t
from isthmus.disk import is_folder, made_folder, opened, whole_file
from isthmus.errors import BadFile, MissingFile
from isthmus.files.load import load as load_model
from isthmus.files.save import save as save_model
from isthmus.motion.files import npz_arrays
from isthmus.posteriors.stacking import Stack

FORMAT = "isthmus posterior 1"
TEXT, ARRAYS, MODEL = "posterior.json", "posterior.npz", "model.safetensors"
FIELDS = {
    "names": t.list_of(t.ANY_TEXT), "units": t.list_of(t.ANY_TEXT), "notes": t.list_of(t.ANY_TEXT),
    "khat": t.ANY_NUMBER, "effective": t.ANY_NUMBER, "noise": t.table_with(t.ANY_NUMBER),
    "settings": t.TABLE, "complete": t.FLAG,
}  # fmt: skip
SHAPES = {"samples": 2, "points": 2, "modes": 2, "weights": 1}
"""Arrays besides leaves and state, and how many axes they have."""


def save(posterior: Any, folder: Path) -> Path:
    """Writes the three files; the text last."""
    made_folder(folder)
    save_model(posterior.model, folder / MODEL)
    arrays = {name: getattr(posterior, name) for name in SHAPES}
    arrays |= {f"leaf/{name}": x for name, x in posterior.stack.leaves.items()}
    arrays |= {f"state/{name}": np.asarray(x) for name, x in posterior.state.items()}
    with whole_file(folder / ARRAYS) as file:
        np.savez_compressed(file, **arrays)
    text = {"format": FORMAT} | {name: getattr(posterior, name) for name in FIELDS}
    with whole_file(folder / TEXT) as file:
        file.write((json.dumps(text, indent=1, default=float) + "\n").encode())
    return folder


def load(folder: Path) -> dict[str, Any]:
    """The fields of a posterior."""
    is_folder(folder)  # refuses a name that no folder can have
    for name in (TEXT, ARRAYS, MODEL):
        if not (folder / name).is_file():
            raise MissingFile(f"{folder} has no {name}: it is no folder that Posterior.save wrote.")
    with opened(folder / TEXT, "text of a posterior"):
        text = json.loads((folder / TEXT).read_text(encoding="utf-8"))
    if not isinstance(text, dict) or text.get("format") != FORMAT:
        raise BadFile(f"{folder / TEXT} was not written by Posterior.save.")
    told = {name: text[name] for name in FIELDS if name in text}
    faults = [
        *t.faults_of(told, FIELDS, TEXT),
        *(f"{n} is missing." for n in FIELDS if n not in text),
    ]
    arrays = npz_arrays(folder / ARRAYS)
    faults += [
        f"it lacks {name!r}." for name, ndim in SHAPES.items()
        if name not in arrays or arrays[name].ndim != ndim or arrays[name].dtype.kind != "f"
    ]  # fmt: skip
    if not faults and {len(told["names"]), len(told["units"])} != {arrays["samples"].shape[1]}:
        faults.append("it has another number of names or units than of columns.")
    if faults:
        raise BadFile(f"{folder / TEXT} is damaged: {faults[0]} Run the posterior again.")
    part = lambda first: {
        name.removeprefix(first): x for name, x in arrays.items() if name.startswith(first)
    }
    fields = told | {name: tuple(told[name]) for name in ("names", "units", "notes")}
    model = load_model(folder / MODEL)
    found = fields | {name: arrays[name] for name in SHAPES}
    leaves = part("leaf/")
    found |= {"model": model, "stack": Stack(leaves=leaves), "state": part("state/")}
    _check_leaves(model, leaves, len(found["samples"]), folder)
    return found


def _check_leaves(model: Any, leaves: dict[str, np.ndarray], count: int, folder: Path) -> None:
    """Refuses leaves that are not those of the model."""
    own = jax.tree.leaves(model)
    for name, x in leaves.items():
        place = int(name) if name.isdecimal() else len(own)
        if place >= len(own) or x.shape != (count, *np.shape(own[place])):
            raise BadFile(f"{folder / ARRAYS} is damaged: its models are not those of {MODEL}.")
