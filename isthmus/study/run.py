"""`run_study`: a study file -> a fit, and a folder with its results."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.distributed.store import discard
from isthmus.entry import check_arguments
from isthmus.errors import BadFile, IsthmusWarning
from isthmus.identify.fit import Fit, default_search, fit
from isthmus.identify.problem import Problem
from isthmus.identify.search.search import Listener
from isthmus.study.results import RECORDS, make_folder, write_results
from isthmus.study.searches import keeps_records, kept_in
from isthmus.study.study import Study


@check_arguments
def run_study(
    study: Study | str | os.PathLike[str], *, resume: bool = False, replace: bool = False
) -> Fit:
    """Fits what a study file asks for and writes its results.

    `resume`: continue from the results in the folder. `replace`: overwrite them.
    """
    given = study if isinstance(study, Study) else Study.load(study)
    given.refuse_nothing_free()
    problem = given.problem()
    make_folder(given, resume=resume, replace=replace)
    found = search(given, problem, resume=resume, replace=replace)
    for text in write_results(given, problem, found).failed:
        warnings.warn(f"not written: {text}", IsthmusWarning, stacklevel=2)
    return found


def search(
    study: Study,
    problem: Problem,
    *,
    resume: bool = False,
    replace: bool = False,
    listen: Listener | None = None,
) -> Fit:
    """The search of a study, from its start or from where an earlier one ended.

    `replace`: records of an earlier search are removed now that the new one begins; its results stay until there are
    new ones.
    """
    records = study.folder / RECORDS
    if replace and not resume:
        discard(records)
    own = default_search(problem) if study.search is None else study.search
    own = kept_in(own, records, resume and records.exists())
    start = None
    if resume and not (keeps_records(own) and records.exists()):
        start = earlier(problem, study.folder)
    return fit(problem, own, start=start, listen=listen)


def earlier(problem: Problem, folder: Path) -> Any:
    """The usual start and, in a second row, where an earlier fit ended."""
    parameters = problem.parameters
    found = Fit.load(folder, like=problem.template)
    names, free = parameters.names, np.ones(parameters.size, bool)
    if found.networks is not None and not found.networks.kept:
        names = tuple(name for name in names if not name.startswith("network/"))
        free = ~parameters.is_weight()
    if tuple(found.estimates) != names:
        raise BadFile(
            f"the fit in {str(folder)!r} has other free numbers: it cannot be resumed, only replaced."
        )
    rows = np.tile(problem.evaluation.start[: parameters.size], (2, 1))
    rows[1, free] = found.x[: free.sum()]
    return np.clip(rows, parameters.low, parameters.high) * parameters.scale
