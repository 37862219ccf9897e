"""Importing isthmus changes nothing, and loads nothing that was not asked for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.smoke

EXTRAS = """mujoco pinocchio trimesh casadi brax h5py numpyro osqp ray rosbags torch viser
beartype hypothesis pytest""".split()

PROBE = """
import json, sys
import jax, equinox
before, loaded = dict(jax.config.values), set(sys.modules)
import isthmus
from jax._src import xla_bridge
print(json.dumps({
    "changed": [name for name, value in jax.config.values.items() if before.get(name) != value],
    "loaded": sorted({name.partition(".")[0] for name in set(sys.modules) - loaded}),
    "device": xla_bridge.backends_are_initialized(),
}))
"""


@pytest.fixture(scope="module")
def news() -> dict:
    """What `import isthmus` does in a fresh interpreter that has JAX and equinox already."""
    run = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stderr == "", "importing isthmus says something"
    return json.loads(run.stdout)


def test_importing_changes_no_setting_of_jax(news):
    assert news["changed"] == []


def test_importing_wakes_no_device(news):
    assert not news["device"]


def test_importing_loads_no_extra_and_nothing_that_draws(news):
    assert set(news["loaded"]) & {*EXTRAS, "matplotlib"} == set()
