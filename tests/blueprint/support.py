"""Hybrid models with weights that are anything but zero."""

import dataclasses

import equinox as eqx
import jax
import numpy as np

import isthmus as ist
from isthmus.blueprint import checks
from isthmus.blueprint.plan import planned
from isthmus.errors import BadWiring
from isthmus.networks.names import signals_of

PENDULUM = ist.library.pendulum(2, damping=0.05)
START = ist.State([0.9, -0.4], [0.5, -1.5])
KEY = jax.random.key(0)


def attached(*wires, model=PENDULUM, **options):
    return ist.Blueprint(wires).attach(model, key=KEY, **options)


def shaken(model, seed=0, size=0.5):
    """The same hybrid with random weights."""
    numbers = np.random.default_rng(seed)
    other = lambda x: np.asarray(x) + size * numbers.normal(size=np.shape(x))
    nets = [eqx.tree_at(lambda w: w.net, w, jax.tree.map(other, w.net)) for w in model.networks]
    return dataclasses.replace(model, networks=tuple(nets))


def targets_of(model):
    """Names of all signals of which a wire can correct every row."""
    return [spec.name for spec in signals_of(model) if _is_target(model, spec.name)]


def _is_target(model, name):
    try:
        checks.effect(model, planned(model, ist.Wire(name, "time", ist.Constant()), "any"))
    except BadWiring:
        return False
    return True
