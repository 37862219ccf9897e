"""Models of a posterior as files of another format, with an index."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from isthmus.disk import is_folder, made_folder, safe_stem, whole_file
from isthmus.errors import BadFile, ExportWarning
from isthmus.export.mjcf import export_mjcf
from isthmus.export.urdf import export_urdf
from isthmus.model.model import Model
from isthmus.phases import counted

WRITERS = {"urdf": (export_urdf, ".urdf"), "mjcf": (export_mjcf, ".xml")}
INDEX = "index.csv"


def write(
    models: Iterable[Model],
    values: np.ndarray,
    names: Sequence[str],
    folder: Path,
    to: str,
) -> Path:
    """Writes each model and the index; what the format cannot express is told once, with how many models have it."""
    if is_folder(folder) and (folder / INDEX).exists():
        raise BadFile(f"{str(folder)!r} holds models already: give another folder, or remove them.")
    made_folder(folder)
    export, ending = WRITERS[to]
    text = io.StringIO()
    index = csv.writer(text, lineterminator="\n")
    index.writerow(["file", *names])
    lost: dict[str, int] = {}
    digits = max(3, len(str(len(values) - 1)))
    for k, (model, row) in enumerate(zip(models, values, strict=True)):
        path = folder / f"{safe_stem(model.name)}_{k:0{digits}d}{ending}"
        for sentence in _written(export, model, path):
            lost[sentence] = lost.get(sentence, 0) + 1
        index.writerow([path.name, *(repr(float(x)) for x in row)])
    with whole_file(folder / INDEX) as file:
        file.write(text.getvalue().encode())
    for sentence, count in lost.items():
        warnings.warn(f"{counted(count, 'model')}: {sentence}", ExportWarning, stacklevel=3)
    return folder / INDEX


def _written(export: object, model: Model, path: Path) -> list[str]:
    """Writes one model; returns what was said, without the name of the file."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ExportWarning)
        export(model, path)  # ty: ignore[call-non-callable]
    texts = [str(w.message) for w in said if issubclass(w.category, ExportWarning)]
    return [text.replace(f"{path}: ", "").replace(str(path), "the file") for text in texts]
