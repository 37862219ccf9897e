"""One step of a mechanism in plain NumPy, after the textbook (Featherstone 2008), link by link, without doors of ours.

`correct(name, value, rows)` is asked at every quantity of a step and returns it, corrected; `rows` are the rows of
the signal that `value` has, None for all. `correct.slope(name, slope)` returns the slope that an implicit step takes.
"""

from __future__ import annotations

import numpy as np

from isthmus.model.model import Model, leaf_fields
from tests.oracles.plain_spatial import (
    crossed,
    exp,
    from_z,
    inertia,
    log,
    matrix,
    plucker,
    product,
    right_jacobian,
)

SIZES = {
    "fixed": (0, 0), "revolute": (1, 1), "prismatic": (1, 1), "planar": (3, 3), "spherical": (4, 3), "free": (7, 6)
}  # fmt: skip
SOFT = 0.1


class Step:
    """What is known at one evaluation of the dynamics: corrected numbers, state, forces, acceleration."""

    def __init__(self, model: Model, q, v, past, command, force, period, implicit, correct):
        self.model, self.correct = model, correct
        self.q, self.v = correct("joint/position", q), correct("joint/velocity", v)
        self.command = correct("joint/control", command)
        self.m = {
            spec.name: correct(spec.name, np.array(getattr(model, field)))
            for field, spec in leaf_fields()
        }
        self.spans = spans(model)
        command = self.late(past, period) if model.delay_steps else self.command
        self.motor = correct("joint/motor_torque", self.motors(command))
        self.move_links()
        self.passive = correct("joint/passive_torque", self.friction_and_springs())
        self.limit = correct("joint/limit_torque", self.stops()[0])
        self.tau = correct("joint/torque", self.motor + self.passive + self.limit)
        self.force = correct("link/external_force", force)
        self.a = correct("joint/acceleration", self.acceleration(implicit))

    # torques -----------------------------------------------------------------------------------------------

    def late(self, past, period):
        kept = np.concatenate([self.command[None], past[:-1]])
        place = np.clip(self.m["joint/delay"] / period, 0.0, len(kept) - 1.0)
        return np.array(
            [np.interp(x, np.arange(len(kept)), kept[:, n]) for n, x in enumerate(place)]
        )

    def coordinates(self):
        """The coordinate of each degree of freedom; of quaternions, any."""
        x = np.zeros(self.model.dof)
        for (a, _), (c, d), _, _ in self.spans:
            x[c:d] = self.q[a : a + d - c]
        return x

    def motors(self, command):
        gear, tau = self.m["joint/gear"], self.m["joint/gear"] * command
        pd = list(self.model.position_controlled)
        x = self.coordinates()
        held = self.m["joint/kp"] * (command - gear * x) - self.m["joint/kd"] * gear * self.v
        tau[pd] = (gear * held)[pd]
        for n in self.model.saturated:
            bound = self.m["joint/effort"][n]
            if np.isfinite(bound):
                over = max(abs(tau[n]) - (1.0 - SOFT) * bound, 0.0)
                bent = abs(tau[n]) - over**2 / (4.0 * SOFT * bound)
                tau[n] = np.sign(tau[n]) * (bound if over > 2.0 * SOFT * bound else bent)
        return tau

    def friction_and_springs(self):
        m, v = self.m, self.v
        tau = -m["joint/damping"] * v
        tau = tau - m["joint/friction"] * np.tanh(v / m["joint/friction_speed"])
        for (a, b), (c, d), kind, _ in self.spans:
            k, q, rest = (
                m["joint/stiffness"][c:d],
                self.q[a:b],
                m["joint/rest_position"][a:b],
            )
            if kind in ("spherical", "free"):
                turn = log(matrix(rest[-4:]).T @ matrix(q[-4:]))
                pull = np.concatenate([q[:-4] - rest[:-4], turn]) * k
                pull[-3:] = np.linalg.inv(right_jacobian(turn)).T @ pull[-3:]
                tau[c:d] -= pull
            else:
                tau[c:d] -= k * (q - rest)
        return tau

    def stops(self):
        m, x, v = self.m, self.coordinates(), self.v
        tau, stiffness, damping = np.zeros((3, self.model.dof))
        for n in self.model.limited:
            deep = max(x[n] - m["joint/upper"][n], 0.0) - max(m["joint/lower"][n] - x[n], 0.0)
            s = min(abs(deep) / m["joint/limit_width"][n], 1.0)
            contact, slope = (
                s * s * (3.0 - 2.0 * s),
                6.0 * s * (1.0 - s) / m["joint/limit_width"][n],
            )
            k, d = m["joint/limit_stiffness"][n], m["joint/limit_damping"][n]
            tau[n] = -contact * (k * deep + d * v[n])
            stiffness[n], damping[n] = k * (contact + abs(deep) * slope), d * contact
        return tau, stiffness, damping

    def at_the_end(self, dt):
        """Resistance, as inertia, and torque that an implicit step adds."""
        if dt is None:
            return 0.0, 0.0
        m, slope, v = self.m, self.correct.slope, self.v
        chord = np.where(v == 0.0, 1.0 / m["joint/friction_speed"], 0.0)
        moving = v != 0.0
        chord[moving] = (np.tanh(v / m["joint/friction_speed"]) / np.where(moving, v, 1.0))[moving]
        passive = slope("joint/passive_torque", m["joint/damping"] + m["joint/friction"] * chord)
        kd = np.zeros(self.model.dof)
        for n in self.model.position_controlled:
            kd[n] = m["joint/gear"][n] ** 2 * m["joint/kd"][n]
        motor = slope("joint/motor_torque", kd)
        _, k, d = self.stops()
        k, d = slope("joint/limit_torque", k), slope("joint/limit_torque", d)
        resistance = dt * (passive + motor + d + dt * k)
        return slope("joint/torque", resistance), slope("joint/torque", -dt * k * v)

    # motion of the links -----------------------------------------------------------------------------------

    def move_links(self):
        m, model = self.m, self.model
        X, self.S, own, turning = [], [], [], []
        for i, (_, _, kind, (q, v)) in enumerate(self.everyone()):
            R_J, p_J, S, c = joint(kind, m["joint/axis"][i], q, v)
            R = matrix(m["joint/orientation"][i])
            X.append(plucker(R @ R_J, m["joint/origin"][i] + R @ p_J))
            self.S.append(S)
            own.append(S @ v)
            turning.append(c)
        self.X = self.correct("joint/transform", np.array(X))
        velocity = []
        for i, parent in enumerate(model.parents):
            velocity.append(own[i] + (self.X[i] @ velocity[parent] if parent >= 0 else 0.0))
        self.velocity = self.correct("link/velocity", np.array(velocity))
        self.bias = np.array(turning) + np.array(
            [crossed(t) @ w for t, w in zip(self.velocity, own, strict=True)]
        )

    def everyone(self):
        """Each joint with its own coordinates; those that mimic take their source's."""
        follows = {i: (n, s) for n, (i, s) in enumerate(self.model.mimics)}
        for i, (at_q, at_v, kind, _) in enumerate(self.spans):
            if i in follows:
                n, source = follows[i]
                by = self.m["mimic/multiplier"][n]
                (a, _), (c, _) = self.spans[source][:2]
                q, v = (
                    by * self.q[a : a + 1] + self.m["mimic/offset"][n],
                    by * self.v[c : c + 1],
                )
            else:
                q, v = self.q[slice(*at_q)], self.v[slice(*at_v)]
            yield at_q, at_v, kind, (q, v)

    # forward dynamics --------------------------------------------------------------------------------------

    def acceleration(self, implicit):
        m, correct = self.m, self.correct
        I = [
            inertia(*x) for x in zip(m["link/mass"], m["link/com"], m["link/inertia"], strict=True)
        ]
        self.I = correct("link/spatial_inertia", np.array(I))
        self.c = correct("link/bias_acceleration", self.bias)
        p = [-crossed(v).T @ I @ v for v, I in zip(self.velocity, self.I, strict=True)]
        self.p = correct("link/bias_force", np.array(p) - self.force)
        resistance, ahead = self.at_the_end(implicit)
        rotor = m["joint/armature"] + resistance
        if self.model.mimics:
            return self.by_mass_matrix(rotor, self.tau + ahead)
        return self.by_articulated_bodies(rotor, self.tau + ahead)

    def by_mass_matrix(self, rotor, tau):
        """`H = Σ Jᵀ I J`, and the bias from the accelerations of links whose joints do not accelerate."""
        G = np.zeros((sum(S.shape[1] for S in self.S), self.model.dof))
        follows = {i: (n, s) for n, (i, s) in enumerate(self.model.mimics)}
        at, columns = 0, []
        for i, S in enumerate(self.S):
            n, source = follows.get(i, (None, i))
            for k in range(S.shape[1]):
                gain = 1.0 if n is None else self.m["mimic/multiplier"][n]
                G[at + k, self.spans[source][1][0] + k] = gain
            columns.append(slice(at, at + S.shape[1]))
            at += S.shape[1]
        H, C, J, a = np.diag(rotor), np.zeros(self.model.dof), [], []
        for i, parent in enumerate(self.model.parents):
            above = self.rising() if parent < 0 else a[parent]
            a.append(self.X[i] @ above + self.c[i])
            here = np.zeros((6, at)) if parent < 0 else self.X[i] @ J[parent]
            here[:, columns[i]] += self.S[i]
            J.append(here)
            H = H + (here @ G).T @ self.I[i] @ (here @ G)
            C = C + (here @ G).T @ (self.I[i] @ a[i] + self.p[i])
        return np.linalg.solve(H, tau - C)

    def by_articulated_bodies(self, rotor, tau):
        correct, parents, X, S = self.correct, self.model.parents, self.X, self.S
        IA, pA = list(self.I), list(self.p)
        U, D, u, a = {}, {}, {}, {}
        pairs = 0
        first_pair = []
        for _, (c, d), _, _ in self.spans:
            first_pair.append(pairs)
            pairs += (d - c) * (d - c + 1) // 2
        for i in reversed(range(len(parents))):
            rows = np.arange(*self.spans[i][1])
            IA[i] = correct("link/articulated_inertia", IA[i][None], [i])[0]
            pA[i] = correct("link/articulated_bias_force", pA[i][None], [i])[0]
            U[i] = IA[i] @ S[i]
            D[i] = S[i].T @ U[i] + np.diag(rotor[rows])
            lower = np.tril_indices(len(rows))
            numbers = correct(
                "joint/articulated_inertia", D[i][lower], first_pair[i] + np.arange(len(lower[0]))
            )
            D[i][lower] = D[i].T[lower] = numbers
            u[i] = correct("joint/articulated_torque", tau[rows] - S[i].T @ pA[i], rows)
            Ia = IA[i] - U[i] @ np.linalg.solve(D[i], U[i].T)
            pa = pA[i] + Ia @ self.c[i] + U[i] @ np.linalg.solve(D[i], u[i])
            if parents[i] >= 0:
                IA[parents[i]] = IA[parents[i]] + X[i].T @ Ia @ X[i]
                pA[parents[i]] = pA[parents[i]] + X[i].T @ pa
        qdd = np.zeros(self.model.dof)
        for i, parent in enumerate(parents):
            carried = X[i] @ (self.rising() if parent < 0 else a[parent]) + self.c[i]
            rows = np.arange(*self.spans[i][1])
            qdd[rows] = np.linalg.solve(D[i], u[i] - U[i].T @ carried)
            whole = carried + S[i] @ qdd[rows]
            a[i] = correct("link/acceleration", whole[None], [i])[0]
        return qdd

    def rising(self):
        return np.concatenate([np.zeros(3), -self.m["gravity"]])


def step(model, state, command, force, dt, integrator, correct):
    """`q` and `v` after `dt`, for a state with `q`, `v` and, with a delay, past commands in its memory."""
    past = (state.memory or {}).get("commands")

    def evaluate(q, v, implicit=None):
        return Step(model, q, v, past, command, force, dt, implicit, correct)

    new_q = lambda q: unit(model, correct("joint/new_position", q))
    new_v = lambda v: correct("joint/new_velocity", v)
    if integrator in ("semi_implicit", "explicit"):
        at = evaluate(state.q, state.v, dt if integrator == "semi_implicit" else None)
        v = new_v(at.v + dt * at.a)
        return new_q(plus(model, at.q, dt * v)), v
    if integrator == "explicit_euler":
        at = evaluate(state.q, state.v)
        return new_q(plus(model, at.q, dt * at.v)), new_v(at.v + dt * at.a)
    k, q, v = [], state.q, state.v
    for share in (0.5, 0.5, 1.0, None):
        at = evaluate(q, v)
        if not k:
            start = at
        k.append((rate(model, at.q, at.v), at.a))
        if share is not None:
            q, v = start.q + share * dt * k[-1][0], start.v + share * dt * k[-1][1]
    dq, dv = (sum(w * x[n] for w, x in zip((1, 2, 2, 1), k, strict=True)) / 6.0 for n in (0, 1))
    v = new_v(start.v + dt * dv)
    return new_q(unit(model, start.q + dt * dq)), v


# joints ----------------------------------------------------------------------------------------------------


def spans(model):
    """For each joint its rows of `q`, its rows of `v`, its kind; a joint that mimics has none."""
    found, a, c = [], 0, 0
    follows = {i for i, _ in model.mimics}
    for i, kind in enumerate(model.joint_kinds):
        nq, nv = (0, 0) if i in follows else SIZES[kind]
        found.append(((a, a + nq), (c, c + nv), kind, None))
        a, c = a + nq, c + nv
    return found


def joint(kind, axis, q, v):
    """Pose of the child, `S`, and `Ṡ v`."""
    axis = axis / np.linalg.norm(axis)
    R, p, S, c = np.eye(3), np.zeros(3), np.zeros((6, SIZES[kind][1])), np.zeros(6)
    if kind == "revolute":
        R, S[:3, 0] = exp(axis * q[0]), axis
    if kind == "prismatic":
        p, S[3:, 0] = axis * q[0], axis
    if kind == "spherical":
        R, S[:3] = matrix(q), np.eye(3)
    if kind == "planar":
        across = from_z(axis)[:, :2]
        R, p = exp(axis * q[2]), across @ q[:2]
        S[3:, :2], S[:3, 2] = R.T @ across, axis
        c[3:] = -np.cross(axis * v[2], S[3:, :2] @ v[:2])
    if kind == "free":
        R, p = matrix(q[3:]), q[:3]
        S[3:, :3], S[:3, 3:] = R.T, np.eye(3)
        c[3:] = -np.cross(v[3:], R.T @ v[:3])
    return R, p, S, c


def plus(model, q, d):
    """`q` after the displacement `d`."""
    new = np.array(q)
    for (a, b), (c, e), kind, _ in spans(model):
        if kind in ("spherical", "free"):
            new[a : b - 4] += d[c : e - 3]
            turn = d[e - 3 : e]
            angle = np.linalg.norm(turn)
            half = np.concatenate([[np.cos(angle / 2)], 0.5 * np.sinc(angle / 2 / np.pi) * turn])
            new[b - 4 : b] = product(q[b - 4 : b], half)
        else:
            new[a:b] += d[c:e]
    return unit(model, new)


def rate(model, q, v):
    """`dq/dt`"""
    found = np.zeros(len(q))
    for (a, b), (c, e), kind, _ in spans(model):
        if kind in ("spherical", "free"):
            found[a : b - 4] = v[c : e - 3]
            found[b - 4 : b] = 0.5 * product(q[b - 4 : b], np.concatenate([[0.0], v[e - 3 : e]]))
        else:
            found[a:b] = v[c:e]
    return found


def unit(model, q):
    """`q` with quaternions of unit length."""
    q = np.array(q)
    for (_, b), _, kind, _ in spans(model):
        if kind in ("spherical", "free"):
            q[b - 4 : b] /= np.linalg.norm(q[b - 4 : b])
    return q
