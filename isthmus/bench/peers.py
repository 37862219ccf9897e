"""The same mechanisms in MJX and Brax: what our plain XLA code is measured against."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

LEG = """
<body name="{leg}_hip" pos="{x} {y} 0"><joint axis="1 0 0" damping="0.01"/>
  <inertial pos="{hx} {hy} 0" mass="0.696" diaginertia="0.000469 0.000807 0.000553"/>
  <body name="{leg}_thigh" pos="0 {w} 0"><joint axis="0 1 0" damping="0.01"/>
    <inertial pos="-0.0032 {ty} -0.0273" mass="1.013" diaginertia="0.00553 0.00514 0.00137"/>
    <body name="{leg}_calf" pos="0 0 -0.2"><joint axis="0 1 0" damping="0.01"/>
      <inertial pos="0.0047 0 -0.132" mass="0.226" diaginertia="0.00338 0.00339 0.00004"/>
    </body></body></body>"""
OPTION = '<option timestep="{dt}" integrator="Euler"><flag contact="disable" constraint="disable"/></option>'

GEOM = '<geom size="0.01" contype="0" conaffinity="0"/>'
"""Brax wants one."""

Work = dict[str, Callable[..., Any]]
"""`forward(q, v) -> acceleration` and `step(q, v) -> (q, v)` of one world."""


def quadruped_text(dt: float = 0.001) -> str:
    """MJCF of the quadruped of our library."""
    legs = "".join(
        LEG.format(leg=leg, x=0.1805 * front, y=0.047 * left, w=0.0838 * left,
                   hx=-0.0033 * front, hy=0.0006 * left, ty=-0.0223 * left)
        for leg, (front, left) in {"FR": (1, -1), "FL": (1, 1), "RR": (-1, -1), "RL": (-1, 1)}.items()
    )  # fmt: skip
    trunk = '<inertial pos="0 0.0041 0" mass="4.713" diaginertia="0.0168 0.0566 0.0647"/>'
    body = f'<body name="trunk"><freejoint/>{trunk}{legs}</body>'
    return f"<mujoco>{OPTION.format(dt=dt)}<worldbody>{GEOM}{body}</worldbody></mujoco>"


def double_pendulum_text(dt: float = 0.01) -> str:
    """MJCF of two rods of 1 kg and 1 m."""
    rod = '<inertial pos="0 0 -0.5" mass="1" diaginertia="0.083333 0.083333 0.0001"/>'
    lower = f'<body name="b" pos="0 0 -1"><joint name="lower" axis="0 1 0"/>{rod}</body>'
    upper = f'<body name="a"><joint name="upper" axis="0 1 0"/>{rod}{lower}</body>'
    return f"<mujoco>{OPTION.format(dt=dt)}<worldbody>{GEOM}{upper}</worldbody></mujoco>"


def _mjx(text: str) -> Work:
    mujoco, mjx = (import_module(name) for name in ("mujoco", "mujoco.mjx"))
    compiled = mujoco.MjModel.from_xml_string(text)
    model = mjx.put_model(compiled)
    data = mjx.make_data(model)

    def forward(q: Any, v: Any) -> Any:
        return mjx.forward(model, data.replace(qpos=q, qvel=v)).qacc

    def step(q: Any, v: Any) -> tuple[Any, Any]:
        after = mjx.step(model, data.replace(qpos=q, qvel=v))
        return after.qpos, after.qvel

    return {"forward": forward, "step": step}


def _brax(text: str) -> Work:
    import jax.numpy as jnp

    parts = ("generalized.dynamics", "generalized.integrator", "generalized.pipeline", "io.mjcf")
    dynamics, integrator, pipeline, mjcf = (import_module(f"brax.{part}") for part in parts)
    system = mjcf.loads(text)

    def forward(q: Any, v: Any) -> Any:
        state = pipeline.init(system, q, v)
        return state.mass_mx_inv @ dynamics.forward(system, state, jnp.zeros_like(v))

    def step(q: Any, v: Any) -> tuple[Any, Any]:
        state = pipeline.init(system, q, v)
        force = dynamics.forward(system, state, jnp.zeros_like(v))
        state = state.replace(qf_smooth=force, qf_constraint=jnp.zeros_like(v))
        after = integrator.integrate(system, state)
        return after.q, after.qd

    return {"forward": forward, "step": step}


ENGINES: dict[str, Callable[[str], Work]] = {"MJX": _mjx, "Brax": _brax}
"""MJCF -> the work of one engine."""
