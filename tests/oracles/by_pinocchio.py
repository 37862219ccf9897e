"""Pinocchio's answers about a description, in isthmus' coordinates.

Pinocchio has quaternions `x y z w`, linear parts first, body twists for free joints, and for planar ones
`(x, y, cos, sin)` with the velocity in the child's frame; its plane is normal to z. Welded links become part of
the link that carries them, at an offset.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from isthmus import compile_model
from isthmus.describe.description import Description, Joint
from tests.oracles.quantities import Quantities

SIZES = {
    "fixed": (0, 0),
    "revolute": (1, 1),
    "prismatic": (1, 1),
    "spherical": (4, 3),
    "planar": (3, 3),
    "free": (7, 6),
}
SWAP = [3, 4, 5, 0, 1, 2]


def pinocchio_of(description: Description) -> Pinocchio:
    """The same mechanism in Pinocchio."""
    return Pinocchio(description)


def se3(position, quaternion) -> pin.SE3:
    """A frame of a description; its quaternion is `w` first and need not be of unit length."""
    w, x, y, z = np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)
    return pin.SE3(pin.Quaternion(w, x, y, z).matrix(), np.asarray(position, dtype=float))


def plane_basis(axis: np.ndarray) -> np.ndarray:
    """The shortest rotation that takes z to `axis`; half a turn about x for −z."""
    if axis[2] < -1.0 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    return pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), axis).matrix()


class Pinocchio:
    """A `pin.Model`, and the maps between its numbers and ours."""

    def __init__(self, description: Description) -> None:
        self.ours = compile_model(description)
        joints = {joint.name: joint for joint in description.joints}
        links = {link.name: link for link in description.links}
        self.joints = [joints[name] for name in self.ours.joint_names]
        self.links = [links[joint.child] for joint in self.joints]
        self.points = description.points
        self.pin = pin.Model()
        self.pin.gravity = pin.Motion(np.array([*description.gravity, 0.0, 0.0, 0.0]))
        self.where: dict[str | None, tuple[int, pin.SE3]] = {None: (0, pin.SE3.Identity())}
        for joint, link in zip(self.joints, self.links, strict=True):
            self._add(joint)
            i, offset = self.where[link.name]
            six = link.inertia
            I = np.array(
                [[six[0], six[3], six[4]], [six[3], six[1], six[5]], [six[4], six[5], six[2]]]
            )
            inertia = pin.Inertia(link.mass, np.array(link.com), I)
            self.pin.appendBodyToJoint(i, inertia, offset)
        self._mimic()
        self._rotors()
        self.data = self.pin.createData()

    def _add(self, joint: Joint) -> None:
        parent, offset = self.where[joint.parent]
        frame = offset * se3(joint.frame.position, joint.frame.orientation)
        axis = np.asarray(joint.axis, dtype=float) / np.linalg.norm(joint.axis)
        if joint.kind == "fixed":
            self.where[joint.child] = (parent, frame)
            return
        basis = pin.SE3(plane_basis(axis) if joint.kind == "planar" else np.eye(3), np.zeros(3))
        kind = {
            "revolute": lambda: pin.JointModelRevoluteUnaligned(axis),
            "prismatic": lambda: pin.JointModelPrismaticUnaligned(axis),
            "spherical": pin.JointModelSpherical,
            "planar": pin.JointModelPlanar,
            "free": pin.JointModelFreeFlyer,
        }[joint.kind]()
        i = self.pin.addJoint(parent, kind, frame * basis, joint.name)
        self.where[joint.child] = (i, basis.inverse())

    def _mimic(self) -> None:
        for joint in self.joints:
            if joint.mimic is not None:
                source, follower = (self.pin.getJointId(n) for n in (joint.mimic.joint, joint.name))
                self.pin = pin.transformJointIntoMimic(
                    self.pin, source, follower, joint.mimic.multiplier, joint.mimic.offset
                )

    def _rotors(self) -> None:
        armature = np.zeros(self.pin.nv)
        for joint, _, _, at in self._moving():
            armature[at] = joint.armature
        for joint in self.joints:
            if joint.mimic is not None:
                at = self.pin.joints[self.pin.getJointId(joint.mimic.joint)].idx_v
                armature[at] += joint.mimic.multiplier**2 * joint.armature
        self.pin.armature = armature

    def _moving(self):
        """Each independent joint: our rows of `q` and `v`, Pinocchio's rows of `v`."""
        q = v = 0
        for joint in self.joints:
            nq, nv = SIZES[joint.kind] if joint.mimic is None else (0, 0)
            if nv:
                at = self.pin.joints[self.pin.getJointId(joint.name)].idx_v
                yield joint, slice(q, q + nq), slice(v, v + nv), slice(at, at + nv)
            q, v = q + nq, v + nv

    def positions(self, q: np.ndarray) -> np.ndarray:
        """Our `q` as Pinocchio's."""
        out = np.zeros(self.pin.nq)
        for joint, rows, _, _ in self._moving():
            x, at = q[rows], self.pin.joints[self.pin.getJointId(joint.name)].idx_q
            match joint.kind:
                case "spherical":
                    x = x[[1, 2, 3, 0]]
                case "free":
                    x = x[[0, 1, 2, 4, 5, 6, 3]]
                case "planar":
                    x = np.array([x[0], x[1], np.cos(x[2]), np.sin(x[2])])
            out[at : at + len(x)] = x
        return out

    def to_twists(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`T` and `Ṫ v` of `v_pinocchio = T v`."""
        T, bias = np.zeros((self.pin.nv, len(v))), np.zeros(self.pin.nv)
        for joint, rows, ours, theirs in self._moving():
            block, rest, x, u = (
                np.eye(ours.stop - ours.start),
                np.zeros(ours.stop - ours.start),
                q[rows],
                v[ours],
            )
            if joint.kind == "free":
                block[:3, :3] = pin.Quaternion(*x[3:]).matrix().T
                rest[:3] = -np.cross(u[3:], block[:3, :3] @ u[:3])
            elif joint.kind == "planar":
                c, s = np.cos(x[2]), np.sin(x[2])
                block[:2, :2] = [[c, s], [-s, c]]
                rest[:2] = u[2] * np.array([[-s, c], [-c, -s]]) @ u[:2]
            T[theirs, ours], bias[theirs] = block, rest
        return T, bias

    def quantities(self, q, v, tau, a, force, dynamics: bool = True) -> Quantities:
        """What Pinocchio says about all that `quantities.ours` computes."""
        model, data = self.pin, self.data
        x, (T, rest) = self.positions(q), self.to_twists(q, v)
        u, w = T @ v, T @ a + rest
        pushes = self._forces(force)
        H = pin.crba(model, data, x).copy()
        H = np.triu(H) + np.triu(H, 1).T
        found = {
            "mass_matrix": T.T @ H @ T,
            "bias_torque": T.T @ pin.rnea(model, data, x, u, rest),
            "inverse_dynamics": T.T @ pin.rnea(model, data, x, u, w, pushes),
        }
        if dynamics:
            b = pin.aba(model, data, x, u, np.linalg.pinv(T.T) @ tau, pushes)
            found["forward_dynamics"] = np.linalg.solve(T, b - rest)
        return found | self._kinematics(x, u, T)

    def _kinematics(self, x: np.ndarray, u: np.ndarray, T: np.ndarray) -> Quantities:
        data = self.data
        pin.forwardKinematics(self.pin, data, x, u)
        places = [self.where[link.name] for link in self.links]
        poses = [data.oMi[i] * offset for i, offset in places]
        twists = [offset.actInv(data.v[i]).vector[SWAP] for i, offset in places]
        at, J_point = self._point(x)
        com, h, kinetic, potential = self._totals(x, u)
        return {
            "position": np.array([pose.translation for pose in poses]),
            "rotation": np.array([pose.rotation for pose in poses]),
            "velocity": np.array(twists),
            "link_jacobian": self._jacobian(x, self.links[-1].name)[SWAP] @ T,
            "point_position": at,
            "point_velocity": J_point @ u,
            "point_jacobian": J_point @ T,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
            "centre_of_mass": com,
            "momentum": h,
        }

    def _totals(self, x: np.ndarray, u: np.ndarray):
        """Centre of mass, momentum, energies, summed over bodies: Pinocchio forgets those welded to the world."""
        poses, twists, bodies = self.data.oMi, self.data.v, self.pin.inertias
        every = range(self.pin.njoints)
        mass = sum(bodies[i].mass for i in every)
        com = sum(bodies[i].mass * poses[i].act(bodies[i].lever) for i in every) / mass
        h = sum((poses[i].act(bodies[i] * twists[i]) for i in every), pin.Force.Zero())
        kinetic = sum(0.5 * twists[i].dot(bodies[i] * twists[i]) for i in every)
        kinetic += 0.5 * self.pin.armature @ u**2
        return (
            com,
            h.vector[SWAP],
            np.array(kinetic),
            np.array(-mass * self.pin.gravity.linear @ com),
        )

    def _jacobian(self, x: np.ndarray, link: str) -> np.ndarray:
        """In the link's frame, linear part first."""
        i, offset = self.where[link]
        if i == 0:
            return np.zeros((6, self.pin.nv))
        pin.computeJointJacobians(self.pin, self.data, x)
        J = pin.getJointJacobian(self.pin, self.data, i, pin.ReferenceFrame.LOCAL).reshape(6, -1)
        return offset.inverse().action @ J

    def _point(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Place and Jacobian of the first point, in world axes."""
        point = self.points[0]
        i, offset = self.where[point.link]
        pose = self.data.oMi[i] * offset
        place = np.asarray(point.frame.position)
        J = self._jacobian(x, point.link)
        return pose.act(place), pose.rotation @ (J[:3] - pin.skew(place) @ J[3:])

    def _forces(self, force: np.ndarray):
        pushes = pin.StdVec_Force()
        total = [pin.Force.Zero() for _ in range(self.pin.njoints)]
        for link, row in zip(self.links, force, strict=True):
            i, offset = self.where[link.name]
            total[i] += offset.act(pin.Force(row[SWAP]))
        for push in total:
            pushes.append(push)
        return pushes
