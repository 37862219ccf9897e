"""What was run, and how to run it again."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from isthmus.identify.fit import Fit
from isthmus.report.html import Markup, joined, tag
from isthmus.report.numbers import plain

MAX_ENTRIES = 12
"""Entries of a list that are shown."""
PACKAGES = ("isthmus", "jax", "numpy", "scipy", "llvmlite")
CHANGED = {
    "integrator": "semi_implicit",
    "explicit": False,
    "substeps": 1,
    "huber": None,
    "wrap": True,
    "weight_penalty": 0.0,
    "keep_networks": False,
}
"""Options of a Problem with their defaults: written only where they differ."""


def again(fit: Fit, notes: Sequence[str], command: str | None) -> Markup:
    """Settings, versions, and the command or the code."""
    listed = [
        (key.replace("_", " "), setting_lines(key, value)) for key, value in fit.settings.items()
    ]
    listed.append(("versions", [", ".join(f"{n} {v}" for n, v in versions().items())]))
    pairs = [
        joined(tag("dt", key), *(tag("dd", tag("code", line)) for line in lines))
        for key, lines in listed
    ]
    text = command or code(fit)
    return joined(
        tag("h2", "What was run"),
        tag("ul", *(tag("li", note) for note in notes)) if notes else None,
        tag("dl", *pairs),
        tag("h3", "Run it again"),
        tag("pre", text, id="code"),
        tag("button", "Copy", type="button", data_copy="code"),
    )


def setting_lines(key: str, value: Any) -> list[str]:
    """A setting in words, as one line or several."""
    if key == "free":
        return [
            *map(_free, value[:MAX_ENTRIES]),
            *([f"… ({len(value)} in all)"] if value[MAX_ENTRIES:] else []),
        ]
    if key == "loss" and isinstance(value, dict):
        return [_loss(value).removeprefix("ist.")]
    if key == "search" and isinstance(value, dict):
        return [_called(value).replace("ist.", "")]
    if key == "dt" and isinstance(value, list):
        return [f"{', '.join(plain(x) for x in dict.fromkeys(value[:MAX_ENTRIES]))} s"]
    return [_plainly(value)]


def _plainly(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_plainly(x)}" for name, x in value.items())
    if isinstance(value, list | tuple):
        shown = ", ".join(_plainly(x) for x in value[:MAX_ENTRIES])
        return f"{shown} … ({len(value)} in all)" if len(value) > MAX_ENTRIES else shown
    return plain(value) if isinstance(value, float) else str(value)


def _free(free: dict[str, Any]) -> str:
    """`link/*/mass, 0.1 … 5, shared`."""
    said = [free["name"]]
    low, high = free.get("low"), free.get("high")
    if low is not None or high is not None:
        ends = [_plainly(x) if x is not None else "" for x in (low, high)]
        said.append(f"{ends[0]} … {ends[1]}".strip())
    given = {k: v for k, v in free.items() if k not in ("name", "low", "high")}
    given = {k: v for k, v in given.items() if v not in (None, False, (), [])}
    said += [k if v is True else f"{k} {_plainly(v)}" for k, v in given.items()]
    return ", ".join(said)


def versions() -> dict[str, str]:
    """Of Python and of the packages that decide numbers."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # isthmus itself may run from its source folder
            continue
    return found


def code(fit: Fit) -> str:
    """Python that states the same problem; only the files have to be named."""
    s = fit.settings
    options = [f"free=[{_frees(s.get('free', []))}]", f"loss={_loss(s.get('loss', {}))}"]
    options += [f"signals={s['signals']!r}"] if s.get("signals") else []
    options += [f"noise={s['noise']!r}"] if s.get("noise") else []
    options += [f"{k}={s[k]!r}" for k, usual in CHANGED.items() if k in s and s[k] != usual]
    options += [f"heldout={s['heldout_runs']}"] if s.get("heldout_runs") else []
    lines = "".join(f"    {option},\n" for option in options)
    runs, predicted = s.get("runs", 0), s.get("heldout_runs", 0)
    return (
        "import isthmus as ist\n\n"
        f'robot = ist.load("…")  # {fit.model.name}, as it was before the fit\n'
        f'logs = [ist.read_motion(path) for path in ("…",)]  # {runs} fitted, then {predicted} held out\n'
        f"problem = ist.Problem(\n    robot,\n    logs,\n{lines})\n"
        f"fit = ist.fit(problem{_search(s)})\n"
        'ist.export_report(fit, "report.html", problem=problem)\n'
    )


def _search(settings: dict[str, Any]) -> str:
    """The search as an argument, where the settings have it."""
    return f", {_called(settings['search'])}" if settings.get("search") else ""


def _called(search: Any) -> str:
    """A search, and those inside it, as users call them; from `module:Class` and its options."""
    if not isinstance(search, dict):
        endless = isinstance(search, float) and math.isinf(search)
        return f'float("{search}")' if endless else repr(search)
    options = [f"{key}={_called(value)}" for key, value in search.items() if key != "search"]
    return f"ist.{search['search'].rsplit(':', 1)[-1]}({', '.join(options)})"


def _frees(free: Sequence[dict[str, Any]]) -> str:
    entries = []
    for f in free:
        given = {k: v for k, v in f.items() if k != "name" and v not in (None, False, (), [])}
        entries.append(
            f"ist.Free({', '.join([repr(f['name']), *(f'{k}={v!r}' for k, v in given.items())])})"
        )
    inner = ",\n        ".join(entries)
    return inner if len(entries) < 2 else f"\n        {inner},\n    "


def _loss(loss: dict[str, Any]) -> str:
    kind = loss.get("kind", "Windows")
    given = {k: v for k, v in loss.items() if k != "kind" and v is not None}
    return f"ist.{kind}({', '.join(f'{k}={v!r}' for k, v in given.items())})"
