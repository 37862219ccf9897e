"""Native code beside its peers: what we run, what the peers run, and that both give the same numbers.

Times are CPU seconds of one thread, medians of alternating repeats; compilers are measured in CPU seconds of all
their threads, XLA's runs on the wall, and the row on threads by the least of many on the wall: it says little on a
busy machine.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import isthmus as ist
from isthmus import native
from isthmus.bench.machine import hint
from isthmus.bench.native_peers import casadi_gradient, casadi_step, pinocchio_of
from isthmus.bench.rows import Row
from isthmus.bench.timing import fastest, race
from isthmus.dynamics import forward_dynamics

STEPS, DT = 500, 0.01
WALL, WORK = time.perf_counter, time.process_time
"""Seconds on the wall, and CPU seconds of all threads: compilers are measured by what they cost."""


def compiled(fn: Callable, *examples: Any) -> tuple[Any, Any, float]:
    """`fn` for lanes and, apart, one world after the other; seconds to trace and compile it for one world.

    Long functions run as drafts at first: here they are compiled to the end.
    """
    began = WORK()
    alone: Any = native.compile(fn, *examples)
    alone.lanes = 1
    alone.code(1, final=True)
    took = WORK() - began
    lanes: Any = native.compile(fn, *examples)
    lanes.code(lanes.lanes, final=True)
    return lanes, alone, took


def xla_rows(
    work: str, fn: Callable, args: tuple, ours: float, took: float, quick: bool
) -> list[Row]:
    """The same function under XLA, in both precisions, and its time to compile."""
    if quick:
        return []
    rows = []
    for wide in (True, False):
        with jax.enable_x64(wide):
            given = jax.tree.map(jnp.asarray, args)
            began = WORK()
            run = jax.jit(fn).lower(*given).compile()
            compiling = WORK() - began
            (theirs,) = race(
                lambda r=run, x=given: jax.block_until_ready(r(*x)), repeats=7, clock=WALL
            )
        peer = f"XLA float{64 if wide else 32}"
        rows.append(Row(work, ours, peer, theirs, compile=took, peer_compile=compiling))
        if wide:
            rows.append(Row(f"{work}: trace + compile", took, peer, compiling, 1.0))
    return rows


def same(found: Any, wanted: Any, tolerance: float = 1e-6) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    error = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
    assert error < tolerance, f"the peer computes something else: {error:.1e}"


# the double pendulum


def pendulum_loss(theta: Any) -> Any:
    """θ = lengths, masses of two rods -> the squared size of the final state."""
    model = ist.library.pendulum(2, lengths=theta[:2], masses=theta[2:])
    start = ist.State(jnp.array([jnp.pi / 2, 0.0]), jnp.zeros(2))
    motion = ist.rollout(model, start, None, DT, steps=STEPS, explicit=True)
    return jnp.sum(motion.q[-1] ** 2) + jnp.sum(motion.v[-1] ** 2)


def casadi_loss(ca: Any, theta: Any) -> Any:
    """The same in CasADi."""
    l1, l2, m1, m2 = (theta[k] for k in range(4))
    thin = 1.0 / 12.0
    p = ca.vertcat(m1, m2, m1 * l1**2 * thin, m2 * l2**2 * thin, l1 / 2, l2 / 2, l1)
    x0 = ca.DM([np.pi / 2, 0.0, 0.0, 0.0])
    path = casadi_step(ca, DT).mapaccum(STEPS)(x0, ca.repmat(p, 1, STEPS))
    return ca.sumsqr(path[:, -1])


def double_pendulum(quick: bool) -> list[Row]:
    """The gradient of a rollout by lengths and masses."""
    theta = np.array([1.0, 1.2, 1.0, 0.8])
    fn = jax.value_and_grad(pendulum_loss)
    lanes, _, took = compiled(fn, theta)
    many = theta * (1.0 + 0.1 * np.random.default_rng(0).random((1024, 4)))
    peer = casadi_gradient(casadi_loss, 4, "pendulum")
    ours = [lambda: lanes(theta), lambda: lanes.map(many, threads=1)]
    peers = []
    if peer is not None:
        same(lanes(theta)[1], peer(theta)[0, 1:], 1e-5)
        peers = [lambda: peer(theta), lambda: peer(many)]
    one, all_of, *his = race(*ours, *peers, repeats=9 if quick else 25)
    rows = [
        versus_casadi("double pendulum gradient, 1 world", one, his[:1], 2.0, took),
        versus_casadi("double pendulum gradient, 1,024 worlds", all_of, his[1:], 10.0),
    ]
    return rows + xla_rows("double pendulum gradient", fn, (theta,), one, took, quick)


def versus_casadi(
    work: str, ours: float, his: list[float], wanted: float | None, took: float | None = None
) -> Row:
    """A row beside CasADi's C; `his` is empty where CasADi is not here."""
    theirs = his[0] if his else None
    return Row(work, ours, "CasADi C", theirs, wanted, took, missing=hint("CasADi"))


# problem (c): a path to follow


def hinged(lengths: Any) -> Any:
    """Two links along y with their masses at their ends, the second hinged at distance l₂."""
    robot = ist.Builder("two")
    for i in range(2):
        robot.add_link(
            f"l{i}", mass=1.0, com=(0.0, lengths[i], 0.0), inertia=(0.009, 0.009, 0.009, 0, 0, 0)
        )
        place = (0.0, lengths[1], 0.0) if i else (0.0, 0.0, 0.0)
        robot.add_joint_revolute(
            f"j{i}", "l0" if i else None, f"l{i}", position=place, axis=(1.0, 0.0, 0.0)
        )
    return robot.model()


def path_of(lengths: Any) -> Any:
    start = ist.State(jnp.zeros(2), jnp.zeros(2))
    return ist.rollout(hinged(lengths), start, None, DT, steps=STEPS, explicit=True).q[:-1]


def path_problem(quick: bool) -> list[Row]:
    """The gradient of a loss on a path, by two lengths."""
    target = native.compile(path_of, np.ones(2))(np.array([3.0, 4.0]))
    fn = jax.value_and_grad(lambda l: jnp.sum((target - path_of(l)) ** 2) / STEPS)
    lengths = np.array([2.0, 3.0])
    lanes, _, took = compiled(fn, lengths)
    value, slope = lanes(lengths)
    same(value, 1.92317939449159, 1e-9)
    same(slope, [-1.25855338195, -2.54612092566], 1e-8)

    def loss(ca: Any, l: Any) -> Any:
        p = ca.vertcat(1.0, 1.0, 0.009, 0.009, l[0], l[1], l[1])
        x0 = ca.DM([np.pi / 2, 0.0, 0.0, 0.0])
        path = casadi_step(ca, DT).mapaccum(STEPS)(x0, ca.repmat(p, 1, STEPS))
        before = ca.horzcat(x0, path[:, :-1])[:2, :] - ca.repmat(ca.DM([np.pi / 2, 0.0]), 1, STEPS)
        return ca.sumsqr(before - ca.DM(target.T)) / STEPS

    peer = casadi_gradient(loss, 2, "path")
    peers = []
    if peer is not None:
        same(slope, peer(lengths)[0, 1:])
        peers = [lambda: peer(lengths)]
    one, *his = race(lambda: lanes(lengths), *peers, repeats=9 if quick else 25)
    # TDS's best row (82 µs) is half of CasADi's 165 µs where both were measured: 1.5 times faster is 3 times CasADi
    return [versus_casadi("gradient of a path to follow, 1 world", one, his, 3.0, took)]


# problem (a): a small network


def layers(theta: Any, module: Any) -> tuple:
    """Weights and biases out of 175 numbers; CasADi fills matrices by columns."""
    if module is jnp:
        cut = lambda a, b, rows, cols: theta[a:b].reshape(rows, cols)
    else:
        cut = lambda a, b, rows, cols: module.reshape(theta[a:b], cols, rows).T
    W = cut(0, 40, 10, 4), cut(40, 140, 10, 10), cut(140, 150, 1, 10)
    return W, (theta[150:154], theta[154:164], theta[164:174], theta[174:175])


def network(quick: bool) -> list[Row]:
    """A small network and its gradient."""
    theta = 0.3 * np.sin(1.0 + 0.7 * np.arange(175))
    given = np.array([0.1, -0.2, 0.3, 0.4])

    def value(theta: Any) -> Any:
        (W1, W2, W3), (b0, b1, b2, b3) = layers(theta, jnp)
        hidden = jax.nn.elu(W2 @ jax.nn.elu(W1 @ (given + b0) + b1) + b2)
        return (W3 @ hidden + b3)[0]

    def casadi_value(ca: Any, theta: Any) -> Any:
        (W1, W2, W3), (b0, b1, b2, b3) = layers(theta, ca)
        elu = lambda x: ca.if_else(x > 0, x, ca.exp(x) - 1.0)
        return W3 @ elu(W2 @ elu(W1 @ (ca.DM(given) + b0) + b1) + b2) + b3

    fn = jax.value_and_grad(value)
    lanes, alone, took = compiled(fn, theta)
    same(lanes(theta)[0], -0.021522676958399, 1e-12)
    same(np.linalg.norm(lanes(theta)[1]), 2.18634789253, 1e-10)
    many = np.tile(theta, (1024, 1))
    out = [np.empty(1024), np.empty((1024, 175))]
    peer = casadi_gradient(casadi_value, 175, "network", "SX")
    rows = np.empty((1024, 176))
    runs = [lambda f=f: f.run_blocks(1024, [many], out, 1) for f in (alone, lanes)]
    peers = []
    if peer is not None:
        same(lanes(theta)[1], peer(theta)[0, 1:])
        peers = [lambda: peer(many, rows)]
    one, wide, *his = (t / 1024 for t in race(*runs, *peers, repeats=9 if quick else 25))
    return [
        versus_casadi("network of 175 weights, gradient, alone", one, his, 1.0, took),
        versus_casadi("network of 175 weights, gradient, in lanes", wide, his, None),
    ]


# the quadruped


def states(model: Any, count: int) -> tuple[np.ndarray, ...]:
    """(q, v, τ) of `count` random states."""
    rng = np.random.default_rng(0)
    q = 0.5 * rng.normal(size=(count, model.dof + 1))
    turn = np.array([1.0, 0.0, 0.0, 0.0]) + 0.1 * rng.normal(size=(count, 4))
    q[:, 3:7] = turn / np.linalg.norm(turn, axis=1)[:, None]
    return q, rng.normal(size=(count, model.dof)), rng.normal(size=(count, model.dof))


def quadruped(quick: bool) -> list[Row]:
    """Forward dynamics and their gradient by state, torques and masses."""
    model = ist.library.quadruped()
    q, v, tau = states(model, 1024)
    weights = np.cos(np.arange(model.dof))
    forward = lambda q, v, tau: forward_dynamics(model, q, v, tau)

    def slope(q: Any, v: Any, tau: Any, mass: Any) -> Any:
        value = lambda *x: (
            weights @ forward_dynamics(dataclasses.replace(model, link_mass=x[3]), *x[:3])
        )
        return jax.grad(value, (0, 1, 2, 3))(q, v, tau, mass)

    mass = np.asarray(model.link_mass)
    masses = np.tile(mass, (1024, 1))
    lanes, alone, took = compiled(forward, q[0], v[0], tau[0])
    g_lanes, g_alone, g_took = compiled(slope, q[0], v[0], tau[0], mass)
    runs = [
        lambda: lanes.map(q, v, tau, threads=1),
        lambda: alone.map(q, v, tau, threads=1),
        lambda: g_lanes.map(q, v, tau, masses, threads=1),
        lambda: g_alone.map(q, v, tau, masses, threads=1),
    ]
    repeats = 9 if quick else 25
    peer = pinocchio_run(model, lanes, q, v, tau)
    times = race(*runs, *([peer] if peer else []), repeats=repeats)
    wide, one, g_wide, g_one = (t / 1024 for t in times[:4])
    his = times[4] / 1024 if peer else None
    missing = hint("Pinocchio")
    rows = [
        Row("quadruped dynamics, in lanes", wide, "Pinocchio", his, 8.0, took, missing=missing),
        Row("quadruped dynamics, alone", one, "Pinocchio", his, 2.0, took, missing=missing),
        Row(
            "quadruped gradient, in lanes", g_wide, "own forward pass", wide, -5.0, g_took, own=True
        ),
        Row("quadruped gradient, alone", g_one, "own forward pass", one, -5.0, g_took, own=True),
    ]
    rows += xla_rows("quadruped dynamics", forward, (q[0], v[0], tau[0]), one, took, quick)
    return rows + xla_rows(
        "quadruped gradient", slope, (q[0], v[0], tau[0], mass), g_one, g_took, quick
    )


def pinocchio_run(
    model: Any, ours: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> Callable | None:
    """Pinocchio's `abaInParallel` on one thread, checked against ours."""
    found = pinocchio_of(model)
    if found is None:
        return None
    pin, made = found
    pq, pv, pt = q[:, [0, 1, 2, 4, 5, 6, 3, *range(7, q.shape[1])]].copy(), v.copy(), tau.copy()
    for k in range(len(q)):  # a free joint's linear velocity and force: in the body's frame there
        R = pin.Quaternion(*(float(x) for x in q[k, 3:7])).matrix()
        pv[k, :3], pt[k, :3] = R.T @ v[k, :3], R.T @ tau[k, :3]
    same(
        pin.aba(made, made.createData(), pq[0], pv[0], pt[0])[6:],
        ours(q[0], v[0], tau[0])[6:],
        1e-8,
    )
    columns = [np.asfortranarray(x.T) for x in (pq, pv, pt)]
    pool, out = pin.ModelPool(made, 1), np.zeros((made.nv, len(q)), order="F")
    return lambda: pin.abaInParallel(1, pool, *columns, out)


def threads(quick: bool) -> list[Row]:
    """Two threads beside one."""
    theta = np.array([1.0, 1.2, 1.0, 0.8])
    f = native.compile(jax.value_and_grad(pendulum_loss), theta)
    many = theta * (1.0 + 0.1 * np.random.default_rng(0).random((4096, 4)))
    two, one = fastest(lambda: f.map(many, threads=2), lambda: f.map(many, threads=1))
    work = "double pendulum gradient, 4,096 worlds, 2 threads"
    return [Row(work, two, "1 thread", one, 1.8, own=True)]
