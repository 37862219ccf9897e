"""Calls of the public functions with one or two arguments that no user should give; few that compile, and little."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import isthmus as ist
from tests.fuzz import examples
from tests.fuzz.mutate import VALUES

ODD: tuple[Any, ...] = (
    *VALUES, object(), int, len, np.nan, np.full(2, np.nan), np.zeros(0), np.zeros((3, 3)), np.array(["a", "b"]),
    np.array([None, 1], dtype=object), np.float32(1.0), 1j, b"bytes", {1: 2}, {3, 4}, (), ("joint/position",), range(3),
    Path("nowhere.csv"), slice(None), "link/*/mass", "joint/position", -1.0, np.int64(2), np.ones((2, 60)),
)  # fmt: skip

Calls = dict[str, tuple[Callable[..., Any], Callable[[], dict[str, Any]]]]
Call = Callable[[Path], Any]


def call(rng: random.Random, calls: Calls) -> tuple[Call, Call]:
    """Two functions of a folder that make one of the calls, oddly (its docstring says how) and as usual."""
    name = rng.choice(sorted(calls))
    function, good = calls[name]
    given = dict(good())
    for key in rng.sample(sorted(given), min(len(given), rng.choice((1, 1, 2)))):
        given[key] = rng.choice(ODD)

    def run(folder: Path) -> Any:
        return function(folder, **given)

    shown = ", ".join(f"{key}={str(value)[:80]!r}" for key, value in given.items())
    run.__doc__ = f"{name}({shown})"
    return run, lambda folder: function(folder, **good())


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that needs no folder."""
    return lambda folder, /, **given: function(**given)


def _of_motion(method: str) -> Callable[..., Any]:
    return lambda folder, /, **given: getattr(examples.motion(), method)(**given)


def _of_model(method: str) -> Callable[..., Any]:
    return lambda folder, /, **given: getattr(examples.pendulum(), method)(**given)


def _built(
    folder: Path, name: Any, mass: Any, inertia: Any, axis: Any, parent: Any, size: Any
) -> Any:
    build = ist.Builder().add_link(name, mass=mass, com=(0.0, 0.0, 0.1), inertia=inertia)
    build = build.add_joint_revolute("j", parent, name, axis=axis).add_shape_box(name, size)
    return build.model()


def _read(folder: Path, **given: Any) -> Any:
    path = folder / "log.csv"
    path.write_bytes(examples.csv())
    return ist.read_motion(path, examples.pendulum(), **given)


def _loaded(folder: Path, **given: Any) -> Any:
    path = folder / "arm.urdf"
    path.write_text(examples.ROBOT, encoding="utf-8")
    return ist.load(path, **given)


def _fit(folder: Path, path: Any, **given: Any) -> Any:
    for name, data in examples.files()["fit"].items():
        (folder / "fit").mkdir(exist_ok=True)
        (folder / "fit" / name).write_bytes(data)
    return ist.Fit.load(path, **given)


def _of_posterior(method: str) -> Callable[..., Any]:
    return lambda folder, /, **given: getattr(examples.posterior(), method)(**given)


def _updated(folder: Path, control: Any, measured: Any, start: Any) -> Any:
    tracker = examples.tracker()
    tracker.reset(start)
    return tracker.update(control, measured)


def _problem(folder: Path, **given: Any) -> Any:
    return ist.Problem(examples.pendulum(), **given)


FREE = lambda: {"name": "link/*/mass", "low": 0.1, "high": 5.0, "prior": (1.0, 0.5), "start": 1.0}
ROUNDS = {"rounds": 2, "seconds": 1.0, "target": 0.1, "seed": 0, "batch": 8, "processes": 1}

CALLS: Calls = {
    "Adam": (_plain(ist.Adam), lambda: {"steps": 10}),
    "BasinHopping": (_plain(ist.BasinHopping), lambda: {"local": ist.LBFGS(), "islands": 4, "step": 0.1, **ROUNDS}),
    "Blueprint": (_plain(ist.Blueprint), lambda: {"wires": [ist.Wire("joint/torque", net=ist.MLP())]}),
    "Builder": (_built, lambda: {"name": "a", "mass": 1.0, "inertia": (1.0, 1.0, 1.0), "axis": (0, 0, 1),
                                 "parent": None, "size": (0.1, 0.1, 0.1)}),
    "CMAES": (_plain(ist.CMAES), lambda: {"population": 8, "step": 0.2, **ROUNDS}),
    "Dissipative": (_plain(ist.Dissipative), lambda: {"net": ist.MLP(), "coupled": True}),
    "Fit.load": (_fit, lambda: {"path": "fit", "networks": None, "like": None}),
    "Filter": (_plain(ist.Filter), lambda: {"width": 2, "fast": 0.01, "slow": 0.1}),
    "Free": (_plain(ist.Free), FREE),
    "GRU": (_plain(ist.GRU), lambda: {"width": 2}),
    "Laplace": (_plain(ist.Laplace), lambda: {"starts": 2, "draws": 10, "otherwise": None, "seed": 0}),
    "LBFGS": (_plain(ist.LBFGS), lambda: {"steps": 10}),
    "LengtheningHorizon": (_plain(ist.LengtheningHorizon), lambda: {"inner": ist.LBFGS(), "shares": (0.5, 1.0)}),
    "LevenbergMarquardt": (_plain(ist.LevenbergMarquardt), lambda: {"steps": 9, "damping": 0.1, "tolerance": 1e-9}),
    "MLP": (_plain(ist.MLP), lambda: {"width": 2, "depth": 1, "activation": "tanh"}),
    "Mixture": (_plain(ist.Mixture), lambda: {"kernels": 2, "temperature": 1.0, "rate": 0.1, "epochs": 5, "arrived": 1,
                                              "batch": 4, "samples": 10, "seed": 0}),
    "Motion": (lambda folder, /, **given: str(ist.Motion(**given)), lambda: {
        "t": examples.motion().t, "q": examples.motion().q, "v": examples.motion().v,
        "joints": examples.motion().joints}),
    "Motion.between": (_of_motion("between"), lambda: {"start": 0.1, "stop": 0.3}),
    "Motion.filter": (_of_motion("filter"), lambda: {"cutoff": 10.0, "order": 4, "only": ["q"]}),
    "Motion.matched": (_of_motion("matched"), lambda: {"model": examples.pendulum()}),
    "Motion.noted": (_of_motion("noted"), lambda: {"name": "run"}),
    "Motion.resample": (_of_motion("resample"), lambda: {"dt": 0.02, "method": "linear", "across": 0.1}),
    "Motion.save": (_of_motion("save"), lambda: {"path": "x.npz"}),
    "Motion.split at": (_of_motion("split"), lambda: {"at": [0.1, 0.3]}),
    "Motion.split parts": (_of_motion("split"), lambda: {"parts": 3}),
    "Motion.split share": (_of_motion("split"), lambda: {"share": 0.5}),
    "Motion.split gap": (_of_motion("split"), lambda: {"gap": 0.5}),
    "Motion.state": (_of_motion("state"), lambda: {"row": -1}),
    "Motion.velocities": (_of_motion("velocities"), lambda: {"window": 9, "order": 3, "smooth": True}),
    "Motion.without_outliers": (_of_motion("without_outliers"), lambda: {"threshold": 8.0}),
    "MultipleShooting": (_plain(ist.MultipleShooting), lambda: {"steps": 5, "defect_weight": 10.0}),
    "Model.get": (_of_model("get"), lambda: {"name": "link/*/mass"}),
    "Model.set": (_of_model("set"), lambda: {"name": "link/*/mass", "value": 2.0}),
    "NUTS": (_plain(ist.NUTS), lambda: {"warmup": 5, "samples": 10, "chains": 1, "seed": 0}),
    "Population": (_plain(ist.Population), lambda: {"local": ist.LBFGS(), "islands": 4, "parents": 2, **ROUNDS}),
    "Posterior.export": (_of_posterior("export"), lambda: {"folder": "models", "n": 2, "to": "urdf"}),
    "Posterior.interval": (_of_posterior("interval"), lambda: {"share": 0.9}),
    "Posterior.models": (_of_posterior("models"), lambda: {"n": 2}),
    "Problem": (_problem, lambda: {
        "motions": [examples.motion()], "free": [ist.Free("link/*/mass")], "loss": ist.Windows(10), "huber": 3.0,
        "signals": ["joint/position"], "noise": {"joint/position": 0.01}, "dt": 0.01, "substeps": 1, "heldout": None,
        "integrator": "rk4", "explicit": False, "weight_penalty": 0.0, "wrap": True}),
    "SMC": (_plain(ist.SMC), lambda: {"particles": 16, "moves": 2, "generations": 2, "seed": 0}),
    "Spline": (_plain(ist.Spline), lambda: {"knots": 4, "low": -1.0, "high": 1.0}),
    "State": (_plain(ist.State), lambda: {"q": np.zeros(2), "v": np.zeros(2), "time": 0.0}),
    "Study.from_table": (_plain(ist.Study.from_table), lambda: {"data": examples.STUDY}),
    "Tracker": (_plain(ist.Tracker), lambda: {
        "model": examples.pendulum(), "free": "link/*/mass", "noise": {"joint/position": 1e-3}, "drift": 0.01,
        "dt": 0.01, "alarm": 4.5, "integrator": "rk4", "explicit": False, "substeps": 1}),
    "Tracker.update": (_updated, lambda: {"control": [0.1, 0.0], "measured": [0.1, 0.0, 0.2, 0.0],
                                          "start": ([0.1, 0.0], [0.2, 0.0])}),
    "Windows": (_plain(ist.Windows), lambda: {"steps": 5, "stride": 2}),
    "Wire": (_plain(ist.Wire), lambda: {"target": "joint/torque", "reads": ["joint/velocity"], "net": ist.MLP(),
                                        "mode": "add", "name": "n", "output_scale": 1.0}),
    "cart_pole": (_plain(ist.library.cart_pole), dict),
    "load": (_loaded, lambda: {"base": "fixed", "ground": 0.0, "repair": "none", "packages": (), "networks": {}}),
    "pendulum": (_plain(ist.library.pendulum), lambda: {"n": 2}),
    "read_motion": (_read, lambda: {"columns": {}, "units": {}, "time": "t", "rate": None, "runs": None, "topics": None,
                                    "align": None, "missing": "refuse", "stamps": "keep", "gaps": "keep",
                                    "holes": "keep", "outliers": "keep", "angles": "keep",
                                    "header": None, "dataset": None}),
    "save": (_plain(ist.save), lambda: {"model": examples.pendulum(), "path": "x.safetensors"}),
    "stretch": (_plain(ist.stretch), lambda: {"model": examples.pendulum(), "link": "rod_1", "factor": 1.5,
                                              "constant": "mass"}),
}  # fmt: skip
"""Each with arguments that it takes."""
DESIGN: Calls = {"design": (_plain(ist.design), lambda: {
    "model": ist.library.pendulum(1), "free": None, "seconds": 1.0, "harmonics": 2, "limits": {"position": 1.0},
    "aim": "D", "starts": 1, "joints": (), "noise": 1.0, "start": None, "seed": 0})}  # fmt: skip
"""A kind of its own, as a call takes seconds."""
