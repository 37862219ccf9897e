"""MuJoCo's answers about a description, in isthmus' coordinates.

MuJoCo has our coordinates, save that a free joint's are the world's (ours: its own frame's). A planar joint is
two slides and a hinge. Free joints hang from the world only.
"""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from isthmus import Model, compile_model
from isthmus.describe.description import Description, Joint, Link
from tests.oracles.by_pinocchio import SIZES, plane_basis, se3
from tests.oracles.quantities import Quantities


def mujoco_of(description: Description, *, dt: float = 1e-3) -> MuJoCo:
    """The same mechanism in MuJoCo, stepped by its Euler."""
    return MuJoCo(description, dt)


def quaternion(R: np.ndarray) -> np.ndarray:
    return Rotation.from_matrix(R).as_quat(scalar_first=True, canonical=True)


def numbers(values) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def as_mjcf(description: Description, model: Model, dt: float) -> str:
    """MJCF text: bodies in the order of our links, no contacts, nothing rounded or mended."""
    links = {link.name: link for link in description.links}
    joints = {joint.name: joint for joint in description.joints}
    order = [joints[name] for name in model.joint_names]

    def bodies(parent: str | None) -> str:
        inside = (joint for joint in order if joint.parent == parent)
        return "".join(
            f"{_body(joint, links[joint.child])}{bodies(joint.child)}</body>" for joint in inside
        )

    return f"""<mujoco>
        <compiler angle="radian" boundmass="0" boundinertia="0" autolimits="false"/>
        <option timestep="{dt!r}" integrator="Euler" gravity="{numbers(description.gravity)}">
            <flag contact="disable" constraint="disable" energy="enable"/>
        </option>
        <worldbody>{bodies(None)}</worldbody>
    </mujoco>"""


def _body(joint: Joint, link: Link) -> str:
    orientation = np.asarray(joint.frame.orientation) / np.linalg.norm(joint.frame.orientation)
    return (
        f'<body name="{link.name}" pos="{numbers(joint.frame.position)}" quat="{numbers(orientation)}">'
        + (_inertial(link) if link.mass else "")
        + "".join(_joints(joint))
    )


def _inertial(link: Link) -> str:
    mass, com, inertia = map(numbers, (link.mass, link.com, link.inertia))
    return f'<inertial mass="{mass}" pos="{com}" fullinertia="{inertia}"/>'


def _joints(joint: Joint):
    dof = SIZES[joint.kind][1]
    rotor, damping, spring = (
        np.broadcast_to(x, dof) for x in (joint.armature, joint.damping, joint.stiffness)
    )

    def one(kind: str, k: int, axis="") -> str:
        along = f'axis="{numbers(axis)}"' if len(axis) else ""
        return (
            f'<joint name="{joint.name}{k}" type="{kind}" {along} armature="{float(rotor[k])!r}" '
            f'damping="{float(damping[k])!r}" stiffness="{float(spring[k])!r}"/>'
        )

    axis = np.asarray(joint.axis, dtype=float) / np.linalg.norm(joint.axis)
    match joint.kind:
        case "revolute":
            yield one("hinge", 0, axis)
        case "prismatic":
            yield one("slide", 0, axis)
        case "spherical":
            yield one("ball", 0)
        case "free":
            yield one("free", 0)
        case "planar":
            across = plane_basis(axis)
            yield (
                one("slide", 0, across[:, 0])
                + one("slide", 1, across[:, 1])
                + one("hinge", 2, axis)
            )


class MuJoCo:
    """An `MjModel` with its data, and the maps between its numbers and ours."""

    def __init__(self, description: Description, dt: float) -> None:
        self.ours = compile_model(description)
        joints = {joint.name: joint for joint in description.joints}
        self.joints = [joints[name] for name in self.ours.joint_names]
        self.points = description.points
        self.model = mujoco.MjModel.from_xml_string(as_mjcf(description, self.ours, dt))
        self.data = mujoco.MjData(self.model)

    def _free(self):
        """Each free joint: first row of `q` and of `v`, and its frame."""
        q = v = 0
        for joint in self.joints:
            nq, nv = SIZES[joint.kind]
            if joint.kind == "free":
                yield q, v, se3(joint.frame.position, joint.frame.orientation)
            q, v = q + nq, v + nv

    def set_state(self, q, v) -> None:
        """Our state into MuJoCo's data."""
        q = np.array(q)
        for at, _, frame in self._free():
            pose = frame * se3(q[at : at + 3], q[at + 3 : at + 7])
            q[at : at + 7] = [*pose.translation, *quaternion(pose.rotation)]
        self.data.qpos, self.data.qvel = q, self.turned(v)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """MuJoCo's state as ours."""
        q = np.array(self.data.qpos)
        for at, _, frame in self._free():
            pose = frame.actInv(se3(q[at : at + 3], q[at + 3 : at + 7]))
            q[at : at + 7] = [*pose.translation, *quaternion(pose.rotation)]
        return q, self.turned(self.data.qvel, back=True)

    def turned(self, v, *, back: bool = False) -> np.ndarray:
        """Linear velocities of free joints from their own frames to the world's, or back."""
        v = np.array(v)
        for _, at, frame in self._free():
            R = frame.rotation.T if back else frame.rotation
            v[at : at + 3] = R @ v[at : at + 3]
        return v

    def rollout(self, q, v, steps: int, tau=None) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of `steps` steps of MuJoCo's Euler, the first row included."""
        self.set_state(q, v)
        rows = [(np.array(q), np.array(v))]
        for k in range(steps):
            if tau is not None:
                self.data.qfrc_applied = self.turned(tau[k])
            mujoco.mj_step(self.model, self.data)
            rows.append(self.state())
        return np.array([q for q, _ in rows]), np.array([v for _, v in rows])

    def push(self, q, v, force: np.ndarray) -> None:
        """Forces on the links, in their own frames as they stand at `q`; they stay until the next push."""
        self.set_state(q, v)
        mujoco.mj_forward(self.model, self.data)
        self._push(force)

    def quantities(self, q, v, tau, a, force) -> Quantities:
        """What MuJoCo says about all that `quantities.ours` computes."""
        m, d = self.model, self.data
        mujoco.mj_resetData(m, d)
        self.set_state(q, v)
        mujoco.mj_forward(m, d)
        T = self._turns()
        found = self._kinematics(T)
        H = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, H)
        found |= {"mass_matrix": T.T @ H @ T, "bias_torque": T.T @ d.qfrc_bias}
        d.qfrc_applied = T @ tau
        self._push(force)
        mujoco.mj_forward(m, d)
        found["forward_dynamics"] = T.T @ d.qacc
        d.qacc = T @ a
        mujoco.mj_inverse(m, d)  # counts applied forces in: what is left is the motors'
        pushed = self._pushed(force)
        found["inverse_dynamics"] = T.T @ (d.qfrc_inverse - pushed)
        return found

    def _turns(self) -> np.ndarray:
        """`T` of `v_mujoco = T v`: orthogonal."""
        return (
            np.array([self.turned(row) for row in np.eye(self.model.nv)])
            .reshape(2 * (self.model.nv,))
            .T
        )

    def _kinematics(self, T: np.ndarray) -> Quantities:
        m, d = self.model, self.data
        mujoco.mj_subtreeVel(m, d)
        count = m.nbody - 1
        R = np.array(d.xmat[1:]).reshape(count, 3, 3)
        twist = np.zeros((count, 6))
        for i in range(count):
            mujoco.mj_objectVelocity(m, d, mujoco.mjtObj.mjOBJ_XBODY, i + 1, twist[i], 1)
        linear, angular = self._jacobian(m.nbody - 1, d.xpos[-1])
        at, J = self._point()
        mass = np.sum(m.body_mass)
        com, h = np.array(d.subtree_com[0]), mass * d.subtree_linvel[0]
        return {
            "position": np.array(d.xpos[1:]),
            "rotation": R,
            "velocity": twist,
            "link_jacobian": np.concatenate([R[-1].T @ angular, R[-1].T @ linear]) @ T,
            "point_position": at,
            "point_velocity": J @ d.qvel,
            "point_jacobian": J @ T,
            "potential_energy": np.array(d.energy[0]),
            "kinetic_energy": np.array(d.energy[1]),
            "centre_of_mass": com,
            "momentum": np.concatenate([d.subtree_angmom[0] + np.cross(com, h), h]),
        }

    def _jacobian(self, body: int, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        linear, angular = np.zeros((2, 3, self.model.nv))
        mujoco.mj_jac(self.model, self.data, linear, angular, np.array(at), body)
        return linear, angular

    def _point(self) -> tuple[np.ndarray, np.ndarray]:
        point = self.points[0]
        body = 0 if point.link is None else self.ours.link(point.link) + 1
        R = np.array(self.data.xmat[body]).reshape(3, 3)
        at = self.data.xpos[body] + R @ np.asarray(point.frame.position)
        return at, self._jacobian(body, at)[0]

    def _push(self, force: np.ndarray) -> None:
        """Forces about link origins in link axes -> forces at centres of mass in world axes."""
        d = self.data
        for body in range(1, self.model.nbody):
            R = np.array(d.xmat[body]).reshape(3, 3)
            moment, push = R @ force[body - 1, :3], R @ force[body - 1, 3:]
            arm = d.xipos[body] - d.xpos[body]
            d.xfrc_applied[body] = [*push, *(moment - np.cross(arm, push))]

    def _pushed(self, force: np.ndarray) -> np.ndarray:
        """Those forces as torques of the joints."""
        total = np.zeros(self.model.nv)
        for body in range(1, self.model.nbody):
            linear, angular = self._jacobian(body, self.data.xpos[body])
            R = np.array(self.data.xmat[body]).reshape(3, 3)
            total += angular.T @ R @ force[body - 1, :3] + linear.T @ R @ force[body - 1, 3:]
        return total
