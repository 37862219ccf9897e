"""The peers: CasADi's generated C, compiled by gcc, and Pinocchio. None where they are not installed."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.bench.machine import is_here

LOOP = """
void many(const double *x, double *y, double *w, casadi_int *iw, int worlds, int n) {
  const double *arg[NARG]; double *res[NRES];
  for (int k = 0; k < worlds; k++) {
    arg[0] = x + k * n; res[0] = y + k * (n + 1); res[1] = y + k * (n + 1) + 1;
    NAME(arg, res, iw, w, 0);
  }
}
"""


class CasadiCode:
    """A CasADi function θ -> (value, gradient) as C, with -O3 -march=native, in a C loop over worlds."""

    def __init__(self, function: Any, n: int) -> None:
        folder, here = Path(tempfile.mkdtemp(prefix="casadi_")), Path.cwd()
        os.chdir(folder)
        function.generate("code.c", {"with_header": False})
        os.chdir(here)
        loop = LOOP.replace("NAME", function.name())
        loop = loop.replace("NARG", str(function.sz_arg() + 8)).replace(
            "NRES", str(function.sz_res() + 8)
        )
        with (folder / "code.c").open("a") as file:
            file.write(loop)
        command = [
            "gcc",
            "-O3",
            "-march=native",
            "-fPIC",
            "-shared",
            "-o",
            "code.so",
            "code.c",
            "-lm",
        ]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        self._many = ctypes.CDLL(str(folder / "code.so")).many
        self.n = n
        self.work = np.zeros(function.sz_w() + 64), np.zeros(function.sz_iw() + 64, dtype=np.int64)

    def __call__(self, theta: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Values and gradients, one row for each world."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        out = np.empty((theta.size // self.n, self.n + 1)) if out is None else out
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (theta, out, *self.work)]
        self._many(*pointers, len(out), self.n)
        return out


def casadi_gradient(loss_of: Callable, n: int, name: str, symbol: str = "MX") -> CasadiCode | None:
    """Value and gradient of `loss_of(casadi, theta)` as compiled C."""
    if not is_here("CasADi"):
        return None
    ca = import_module("casadi")
    theta = getattr(ca, symbol).sym("theta", n)
    value = loss_of(ca, theta)
    return CasadiCode(ca.Function(name, [theta], [value, ca.gradient(value, theta)]), n)


def casadi_step(ca: Any, dt: float) -> Any:
    """One step of two hinged links in closed form (H q̈ + C = 0): easier for CasADi than ABA is for us."""
    g = 9.81
    x, p = ca.SX.sym("x", 4), ca.SX.sym("p", 7)
    q, v = x[:2], x[2:]
    m1, m2, i1, i2, c1, c2, l1 = (p[k] for k in range(7))
    c, s = ca.cos(q[1]), ca.sin(q[1])
    h11 = i1 + i2 + m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * c)
    h12 = i2 + m2 * (c2**2 + l1 * c2 * c)
    h22 = i2 + m2 * c2**2
    k = m2 * l1 * c2 * s
    a1, a2 = ca.sin(q[0]), ca.sin(q[0] + q[1])
    b1 = -k * (2 * v[0] * v[1] + v[1] ** 2) + g * ((m1 * c1 + m2 * l1) * a1 + m2 * c2 * a2)
    b2 = k * v[0] ** 2 + g * m2 * c2 * a2
    det = h11 * h22 - h12**2
    after = v + dt * ca.vertcat((-h22 * b1 + h12 * b2) / det, (h12 * b1 - h11 * b2) / det)
    return ca.Function("step", [x, p], [ca.vertcat(q + dt * after, after)])


def pinocchio_of(model: Any) -> Any:
    """(module, its model) of a tree of free and aligned revolute joints, or None."""
    if not is_here("Pinocchio"):
        return None
    pin = import_module("pinocchio")
    made, where = pin.Model(), [0]
    made.gravity = pin.Motion(np.array([*model.gravity, 0.0, 0.0, 0.0]))
    for i, parent in enumerate(model.parents):
        if model.joint_kinds[i] == "free":
            joint = pin.JointModelFreeFlyer()
        else:
            axis = int(np.argmax(model.joint_axis[i]))
            joint = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)[axis]()
        place = pin.SE3(np.eye(3), np.asarray(model.joint_origin[i], dtype=float))
        where.append(made.addJoint(where[parent + 1], joint, place, model.joint_names[i]))
        six = model.link_inertia[i]
        I = np.array([[six[0], six[3], six[4]], [six[3], six[1], six[5]], [six[4], six[5], six[2]]])
        body = pin.Inertia(float(model.link_mass[i]), np.asarray(model.link_com[i], dtype=float), I)
        made.appendBodyToJoint(where[-1], body, pin.SE3.Identity())
    return pin, made
