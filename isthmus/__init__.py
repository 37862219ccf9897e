"""isthmus: a differentiable simulator of articulated rigid bodies, with networks at any named variable.

Names load when they are first used, so that `import isthmus` and `isthmus --help` are instant. A new public name
needs two lines here: one for type checkers, one in `_HOMES`.
"""

import gc
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from isthmus.errors import warn_renamed

if TYPE_CHECKING:
    from isthmus import library as library
    from isthmus.blueprint.blueprint import Blueprint as Blueprint
    from isthmus.blueprint.blueprint import detach as detach
    from isthmus.blueprint.prune import prune as prune
    from isthmus.blueprint.wire import Wire as Wire
    from isthmus.data.read import read_motion as read_motion
    from isthmus.discovery.discover import discover as discover
    from isthmus.discovery.formula import Formula as Formula
    from isthmus.discovery.formula import find_formula as find_formula
    from isthmus.discovery.result import Discovery as Discovery
    from isthmus.errors import IsthmusError as IsthmusError
    from isthmus.excitation.design import design as design
    from isthmus.excitation.result import Design as Design
    from isthmus.export.c import export_c as export_c
    from isthmus.export.mjcf import export_mjcf as export_mjcf
    from isthmus.export.urdf import export_urdf as export_urdf
    from isthmus.files.load import load as load
    from isthmus.files.save import save as save
    from isthmus.identify.fit import Fit as Fit
    from isthmus.identify.fit import fit as fit
    from isthmus.identify.needed import needed_torque as needed_torque
    from isthmus.identify.parameters.free import Free as Free
    from isthmus.identify.predict import predict as predict
    from isthmus.identify.problem import Problem as Problem
    from isthmus.identify.search.adam import Adam as Adam
    from isthmus.identify.search.basin_hopping import BasinHopping as BasinHopping
    from isthmus.identify.search.cma import CMAES as CMAES
    from isthmus.identify.search.horizon import LengtheningHorizon as LengtheningHorizon
    from isthmus.identify.search.lbfgs import LBFGS as LBFGS
    from isthmus.identify.search.levenberg_marquardt import LevenbergMarquardt as LevenbergMarquardt
    from isthmus.identify.search.population import Population as Population
    from isthmus.identify.search.sparsify import Sparsify as Sparsify
    from isthmus.losses.windows import MultipleShooting as MultipleShooting
    from isthmus.losses.windows import OneStep as OneStep
    from isthmus.losses.windows import TorqueLoss as TorqueLoss
    from isthmus.losses.windows import WholeRun as WholeRun
    from isthmus.losses.windows import Windows as Windows
    from isthmus.model.builder import Builder as Builder
    from isthmus.model.compile import compile_model as compile_model
    from isthmus.model.contacts import Contact as Contact
    from isthmus.model.contacts import Ground as Ground
    from isthmus.model.contacts import with_contact as with_contact
    from isthmus.model.contacts import without_contact as without_contact
    from isthmus.model.model import Model as Model
    from isthmus.model.pairs import Pair as Pair
    from isthmus.model.state import Control as Control
    from isthmus.model.state import State as State
    from isthmus.model.stretch import stretch as stretch
    from isthmus.motion.motion import Motion as Motion
    from isthmus.networks.guarantees import Conservative as Conservative
    from isthmus.networks.guarantees import Dissipative as Dissipative
    from isthmus.networks.guarantees import Internal as Internal
    from isthmus.networks.guarantees import Lagrangian as Lagrangian
    from isthmus.networks.recipes import GRU as GRU
    from isthmus.networks.recipes import MLP as MLP
    from isthmus.networks.recipes import Constant as Constant
    from isthmus.networks.recipes import Filter as Filter
    from isthmus.networks.recipes import Linear as Linear
    from isthmus.networks.recipes import Spline as Spline
    from isthmus.posteriors.infer import posterior as posterior
    from isthmus.posteriors.laplace import Laplace as Laplace
    from isthmus.posteriors.mixture import Mixture as Mixture
    from isthmus.posteriors.nuts import NUTS as NUTS
    from isthmus.posteriors.posterior import Posterior as Posterior
    from isthmus.posteriors.smc import SMC as SMC
    from isthmus.report.write import export_report as export_report
    from isthmus.report.write import write_report as write_report
    from isthmus.simulate.integrate import RK4 as RK4
    from isthmus.simulate.integrate import Euler as Euler
    from isthmus.simulate.integrate import SemiImplicit as SemiImplicit
    from isthmus.simulate.many import rollout_many as rollout_many
    from isthmus.simulate.observe import observe as observe
    from isthmus.simulate.rollout import rollout as rollout
    from isthmus.simulate.rollout import step as step
    from isthmus.study.run import run_study as run_study
    from isthmus.study.study import Study as Study
    from isthmus.tracking.tracker import Tracker as Tracker
    from isthmus.verify.gradients import check_gradients as check_gradients
    from isthmus.viewer.view import view as view

__version__ = "0.2.0"

_HOMES = {
    "Adam": "isthmus.identify.search.adam",
    "BasinHopping": "isthmus.identify.search.basin_hopping",
    "Blueprint": "isthmus.blueprint.blueprint",
    "Builder": "isthmus.model.builder",
    "CMAES": "isthmus.identify.search.cma",
    "Conservative": "isthmus.networks.guarantees",
    "Constant": "isthmus.networks.recipes",
    "Contact": "isthmus.model.contacts",
    "Control": "isthmus.model.state",
    "Design": "isthmus.excitation.result",
    "Discovery": "isthmus.discovery.result",
    "Dissipative": "isthmus.networks.guarantees",
    "Euler": "isthmus.simulate.integrate",
    "Filter": "isthmus.networks.recipes",
    "Fit": "isthmus.identify.fit",
    "Formula": "isthmus.discovery.formula",
    "Free": "isthmus.identify.parameters.free",
    "GRU": "isthmus.networks.recipes",
    "Ground": "isthmus.model.contacts",
    "Internal": "isthmus.networks.guarantees",
    "IsthmusError": "isthmus.errors",
    "LBFGS": "isthmus.identify.search.lbfgs",
    "Lagrangian": "isthmus.networks.guarantees",
    "Laplace": "isthmus.posteriors.laplace",
    "LengtheningHorizon": "isthmus.identify.search.horizon",
    "LevenbergMarquardt": "isthmus.identify.search.levenberg_marquardt",
    "Linear": "isthmus.networks.recipes",
    "MLP": "isthmus.networks.recipes",
    "Mixture": "isthmus.posteriors.mixture",
    "Model": "isthmus.model.model",
    "Motion": "isthmus.motion.motion",
    "MultipleShooting": "isthmus.losses.windows",
    "NUTS": "isthmus.posteriors.nuts",
    "OneStep": "isthmus.losses.windows",
    "Pair": "isthmus.model.pairs",
    "Population": "isthmus.identify.search.population",
    "Posterior": "isthmus.posteriors.posterior",
    "Problem": "isthmus.identify.problem",
    "RK4": "isthmus.simulate.integrate",
    "SMC": "isthmus.posteriors.smc",
    "SemiImplicit": "isthmus.simulate.integrate",
    "Sparsify": "isthmus.identify.search.sparsify",
    "Spline": "isthmus.networks.recipes",
    "State": "isthmus.model.state",
    "Study": "isthmus.study.study",
    "TorqueLoss": "isthmus.losses.windows",
    "Tracker": "isthmus.tracking.tracker",
    "WholeRun": "isthmus.losses.windows",
    "Windows": "isthmus.losses.windows",
    "Wire": "isthmus.blueprint.wire",
    "check_gradients": "isthmus.verify.gradients",
    "compile_model": "isthmus.model.compile",
    "design": "isthmus.excitation.design",
    "detach": "isthmus.blueprint.blueprint",
    "discover": "isthmus.discovery.discover",
    "export_c": "isthmus.export.c",
    "export_mjcf": "isthmus.export.mjcf",
    "export_report": "isthmus.report.write",
    "export_urdf": "isthmus.export.urdf",
    "find_formula": "isthmus.discovery.formula",
    "fit": "isthmus.identify.fit",
    "library": "isthmus",
    "load": "isthmus.files.load",
    "needed_torque": "isthmus.identify.needed",
    "observe": "isthmus.simulate.observe",
    "posterior": "isthmus.posteriors.infer",
    "predict": "isthmus.identify.predict",
    "prune": "isthmus.blueprint.prune",
    "read_motion": "isthmus.data.read",
    "rollout": "isthmus.simulate.rollout",
    "rollout_many": "isthmus.simulate.many",
    "run_study": "isthmus.study.run",
    "save": "isthmus.files.save",
    "step": "isthmus.simulate.rollout",
    "stretch": "isthmus.model.stretch",
    "view": "isthmus.viewer.view",
    "with_contact": "isthmus.model.contacts",
    "without_contact": "isthmus.model.contacts",
    "write_report": "isthmus.report.write",
}
"""Where each public name is written; one that lives in `isthmus` itself is a package."""

_RENAMED = {"Torque": "TorqueLoss"}
"""Old names -> new ones; the old ones warn and will be removed in version 0.3."""

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    """A public name, or a package of isthmus (`ist.dynamics`), at its first use."""
    if name in _RENAMED:
        warn_renamed(f"ist.{name}", f"ist.{_RENAMED[name]}")
        return __getattr__(_RENAMED[name])
    home = _HOMES.get(name, "isthmus")
    if home != "isthmus":
        value = globals()[name] = getattr(_imported(home), name)
        return value
    if name.startswith("_") or not name.isidentifier() or find_spec(f"isthmus.{name}") is None:
        raise AttributeError(f"module 'isthmus' has no attribute {name!r}")
    return _imported(f"isthmus.{name}")


def _imported(module: str) -> ModuleType:
    """A module; what it brings counts as old to the garbage collector at once, because all of it stays.

    Otherwise the collector searches hundreds of thousands of new objects again and again, a third of the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if collects and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # into the oldest generation, without a search
        if collects:
            gc.enable()


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__version__"])
