"""Sound files of every kind that isthmus reads, as bytes: what the mutators damage."""

from __future__ import annotations

import dataclasses
import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np

import isthmus as ist
from isthmus.discovery.result import Place
from isthmus.distributed.job import Job, Record
from isthmus.distributed.store import Store
from isthmus.identify.answer.abstract_fit import Estimate
from isthmus.posteriors.stacking import Stack

ABOUT = {"problem": "a", "kind": "basin_hopping", "seed": 0, "batch": 8}
"""Settings that the records of the example belong to."""
ROBOT = """<?xml version="1.0"?>
<robot name="arm">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"><inertial><origin xyz="0 0 0.1" rpy="0 0.1 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0.001" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="1.5"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial>
    <collision name="skin"><origin xyz="0 0 0.2"/>
      <geometry><cylinder radius="0.03" length="0.4"/></geometry></collision>
    <collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
  <link name="lower"><contact><lateral_friction value="0.5"/><stiffness value="3"/></contact>
    <inertial><mass value="0.5"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
    </inertial>
    <collision><geometry><mesh filename="package://arm/skin.stl" scale="1 1 1"/></geometry></collision></link>
  <link name="finger"><inertial><mass value="0.1"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/>
    </inertial></link>
  <link name="tip"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.2" rpy="0 0 1"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="30" velocity="5"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="lower"/><child link="finger"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.1" effort="5" velocity="1"/>
    <mimic joint="shoulder" multiplier="0.1" offset="0.01"/></joint>
  <joint name="fixed" type="fixed"><parent link="finger"/><child link="tip"/><origin xyz="0 0 0.05"/></joint>
  <transmission name="t"><type>simple</type><joint name="shoulder"/><actuator name="m"/></transmission>
</robot>
"""
SCENE = """<mujoco model="arm">
  <compiler angle="degree"/>
  <option timestep="0.002" gravity="0 0 -9.81"/>
  <default><joint damping="0.1" armature="0.01"/></default>
  <custom><text name="contact of chin" data="penalty"/>
    <numeric name="contact/friction of chin" data="0.4"/><text name="contact order" data="plain"/>
    <numeric name="contact sweeps" data="12"/></custom>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="trunk" pos="0 0 1"><freejoint name="root"/><geom type="box" size="0.1 0.2 0.1" mass="2"/>
      <body name="upper" pos="0 0 -0.1"><joint name="hip" type="hinge" axis="0 1 0" range="-90 90" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="1"/>
        <body name="lower" pos="0 0 -0.3"><joint name="knee" type="hinge" axis="0 1 0"/>
          <joint name="slide" type="slide"/>
          <inertial pos="0 0 -0.1" mass="0.5" diaginertia="0.01 0.01 0.001"/><site name="foot" pos="0 0 -0.3"/></body>
      </body>
      <body name="head" pos="0 0 0.2"><joint name="neck" type="ball"/>
        <geom name="chin" type="sphere" size="0.1" mass="0.3"/></body>
    </body>
  </worldbody>
  <equality><joint joint1="knee" joint2="hip" polycoef="0 0.5 0 0 0"/></equality>
  <actuator><motor name="m" joint="hip" gear="10" ctrlrange="-1 1" ctrllimited="true"/>
    <position joint="slide" kp="20" kv="1"/></actuator>
</mujoco>
"""
WIRES: dict[str, Any] = {
    "wire": [
        {"target": "joint/passive_torque", "reads": ["joint/position", "joint/velocity"], "mode": "add",
         "name": "friction", "net": {"kind": "Dissipative", "coupled": True, "net": {
             "kind": "MLP", "width": 4, "depth": 1, "activation": "tanh"}}},
        {"target": "joint/torque[joint_1]", "reads": ["joint/velocity[joint_1]"], "mode": "scale", "output_scale": 0.5,
         "net": {"kind": "Spline", "knots": 5, "low": -2.0, "high": 2.0}},
        {"target": "joint/torque", "reads": ["joint/position"], "net": {"kind": "Filter", "width": 2, "fast": 0.01}},
    ],
}  # fmt: skip
STUDY: dict[str, Any] = {
    "robot": "library:pendulum", "base": "fixed", "repair": "none", "logs": ["log.csv"], "heldout": 0.2, "seed": 1,
    "ground": {"height": -5.0, "tilt": [0.0, 0.1]}, "impulses": {"order": "plain", "sweeps": 5},
    "contact": [{"shapes": ["rod_2*"], "friction": 0.4}, {"shapes": "rod_1", "kind": "penalty", "stiffness": 1e4}],
    "read": {"columns": {"tau1": "joint/control[joint_1]", "tau2": "joint/control[joint_2]"},
             "units": {"joint/position": "rad"}, "gaps": "keep"},
    "free": [{"name": "link/*/mass", "low": 0.1, "high": 5.0, "prior": [1.0, 0.5]},
             {"name": "joint/joint_1/damping", "low": 0, "shared": True, "start": 0.1}],
    "loss": {"kind": "windows", "steps": 20, "stride": 10, "signals": ["joint/position"], "huber": 3.0,
             "wrap": True, "weight_penalty": 0.0,
             "noise": {"joint/position": 0.01}},
    "time": {"dt": 0.01, "substeps": 2, "integrator": "semi_implicit", "explicit": False},
    "search": {"kind": "basin_hopping", "islands": 4, "rounds": 2, "step": 0.2,
               "local": {"kind": "lbfgs", "steps": 20}},
    "output": {"folder": "fit", "formats": ["urdf", "report"]},
}  # fmt: skip


@functools.cache
def pendulum() -> ist.Model:
    """The robot of the logs."""
    return ist.library.pendulum(2)


def columns(rows: int = 60) -> dict[str, np.ndarray]:
    """A log of two swinging joints."""
    t = 0.01 * np.arange(rows)
    q = {"joint_1": np.sin(2 * t), "joint_2": np.cos(3 * t)}
    v = {"joint_1.v": 2 * np.cos(2 * t), "joint_2.v": -3 * np.sin(3 * t)}
    return {"t": t, **q, **v, "tau1": 0.1 * t, "tau2": -0.2 * t}


def csv() -> bytes:
    """The log as text."""
    rows = zip(*columns().values(), strict=True)
    lines = [",".join(columns()), *(",".join(f"{x:.6g}" for x in row) for row in rows)]
    return "\n".join(lines).encode()


def motion() -> ist.Motion:
    """The log as a motion that knows its joints."""
    found = columns()
    pair = lambda a, b: np.stack([found[a], found[b]], axis=1)
    return ist.Motion(
        found["t"], pair("joint_1", "joint_2"), pair("joint_1.v", "joint_2.v"),
        {"joint/control": pair("tau1", "tau2")}, (("joint_1", "revolute"), ("joint_2", "revolute")),
    )  # fmt: skip


def hybrid() -> ist.Model:
    """The robot with networks."""
    wires = ist.Blueprint.from_toml(as_toml({"wire": WIRES["wire"][::2]}))
    return wires.attach(pendulum(), key=jax.random.key(0))


def as_toml(data: dict[str, Any]) -> str:
    """Plain data as TOML, without what TOML has no form for."""
    from isthmus.blueprint.text import toml_value

    plain = {key: _without_none(value) for key, value in data.items() if value is not None}
    return "".join(f"{toml_value(key)} = {toml_value(value)}\n" for key, value in plain.items())


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(x) for key, x in value.items() if x is not None}
    return [_without_none(x) for x in value if x is not None] if isinstance(value, list) else value


def fit() -> ist.Fit:
    """A fit that nobody computed."""
    eye = np.eye(2)
    estimates = {f"link/rod_{k}/mass": Estimate(1.0 + k, 0.1, "kg", 1.0) for k in (1, 2)}
    return ist.Fit(
        hybrid(), estimates, eye, eye, 0.9, {"joint/position": (0.1, 0.01)}, {"joint/position": (0.2, 0.02)},
        "converged", 0.5, (3.0, 0.5), 12, 1.5, ("a warning",), (), {"seed": 0}, np.ones(2),
        islands=((3.0, 0.5), (2.0, 1.0)),
    )  # fmt: skip


def discovery() -> ist.Discovery:
    """A discovery that nobody made."""
    joint, drag = "joint/shoulder/passive_torque", "link/upper/external_force"
    place = Place(joint, ("joint/shoulder/velocity",), 0.8, 0.1, (drag,), (0.3, 0.0))
    scores = ((f"{joint} by joint/shoulder/velocity", 1.5, 0.1), (drag, 0.2, 0.3))
    return ist.Discovery((place, Place("gravity", (), 0.1, 0.02)), ("a note",), (), scores)


def posterior() -> ist.Posterior:
    """A posterior that nobody sampled."""
    masses = np.linspace(0.8, 1.2, 4)
    many = lambda: [pendulum().set("link/rod_1/mass", mass) for mass in masses]
    return ist.Posterior(
        masses[:, None], masses[:, None], ("link/rod_1/mass",), ("kg",), np.ones((1, 1)), np.ones(1), 0.3, 4.0,
        pendulum(), Stack(make=many), {"joint/position": 0.01}, ("a note",), {"seed": 0},
    )  # fmt: skip


@functools.cache
def tracker() -> ist.Tracker:
    """Of a mass of the robot of the logs."""
    noise = {"joint/position": 1e-3, "joint/velocity": 1e-2}
    return ist.Tracker(pendulum(), "link/rod_1/mass", noise, 0.01, 0.01)


@functools.cache
def files() -> dict[str, dict[str, bytes]]:
    """For each kind, the files that it consists of."""
    with tempfile.TemporaryDirectory() as name:
        return _made(Path(name))


def _made(folder: Path) -> dict[str, dict[str, bytes]]:
    numbers = columns()
    np.savez(folder / "log.npz", **numbers)  # ty: ignore[invalid-argument-type]
    np.savez_compressed(folder / "small.npz", **numbers)  # ty: ignore[invalid-argument-type]
    motion().save(folder / "own.npz")
    motion().save(folder / "own.csv")
    ist.save(hybrid(), folder / "hybrid.safetensors")
    fit().save(folder / "fit")
    free = [{"name": "link/*/mass", "low": 0.1, "high": 5.0}]
    dataclasses.replace(fit(), settings={"free": free}).save(folder / "randomise")
    posterior().save(folder / "posterior")
    discovery().save(folder)
    discovery().write(folder / "blueprint.toml")
    with Store(folder / "records.jsonl", ABOUT) as store:
        store.append(
            Record(Job("a:b", {"k": k}), {"x": [[1.0, k]], "cost": [k]}, 0.1) for k in range(4)
        )
    _write_extras(folder, numbers)
    got = lambda *names: {
        name: (folder / name).read_bytes() for name in names if (folder / name).is_file()
    }
    whole = lambda name: {path.name: path.read_bytes() for path in (folder / name).iterdir()}
    return {
        "urdf": {"arm.urdf": ROBOT.encode()}, "mjcf": {"arm.xml": SCENE.encode()}, "csv": {"log.csv": csv()},
        "npz": got("log.npz", "small.npz"), "hdf5": got("log.h5"), "parquet": got("log.parquet"),
        "motion": got("own.npz", "own.csv"), "study": {"study.toml": as_toml(STUDY).encode(), "log.csv": csv()},
        "blueprint": {"wires.toml": as_toml(WIRES).encode()}, "model": got("hybrid.safetensors"),
        "fit": whole("fit"), "store": got("records.jsonl"), "discovery": got("discovery.json", "blueprint.toml"),
        "posterior": whole("posterior"), "randomise": whole("randomise"), "track": {"log.csv": csv()},
    }  # fmt: skip


def _write_extras(folder: Path, numbers: dict[str, np.ndarray]) -> None:
    """Files whose libraries come with extras."""
    import h5py
    import pyarrow
    from pyarrow import parquet

    with h5py.File(folder / "log.h5", "w") as file:
        for name, values in numbers.items():
            file.create_dataset(name, data=values, compression="gzip")
    table = pyarrow.table({**numbers, "list": [[1.0, 2.0]] * len(numbers["t"])})
    parquet.write_table(table, folder / "log.parquet")


def as_json(data: Any) -> bytes:
    """Plain data as JSON."""
    return json.dumps(data).encode()
