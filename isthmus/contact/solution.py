"""The impulses of one step, with their derivative.

Values and derivatives are computed apart: no derivative passes through the iteration that finds the impulses, unless it
did not converge. Reverse mode therefore keeps nothing of it.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Bool, Float

from isthmus.contact.box_friction import box_moved, impulses_in_box, swept_in_box
from isthmus.contact.few import Rows, Used, few_or_all, spread
from isthmus.contact.meeting import Meeting
from isthmus.contact.moving_as import moving_as
from isthmus.contact.solve import FOUND, SOLVED, Impulses, Square, following, impulses
from isthmus.record import Record
from isthmus.types import AnyArray, Joints, Scalar


@dataclasses.dataclass(frozen=True)
class Method:
    """How impulses are found: the order of `with_contact`, and how many sweeps and Newton steps there are."""

    order: str
    sweeps: int
    newton: int


class ContactProblem(Record):
    """What the impulses of a step must satisfy."""

    meeting: Meeting
    c: Impulses
    """Velocities [m/s] that impulses must bring to zero: those without impulses, plus restitution, less the lift."""
    plastic: Impulses
    """The same without restitution."""
    friction: Float[AnyArray, " contacts"]
    restitution: Float[AnyArray, " contacts"]
    """Zero where a contact does not bounce."""
    active: Bool[AnyArray, " contacts"]
    start: Impulses
    """Where the search for them starts."""

    def of(self, rows: Rows, used: Used) -> ContactProblem:
        """That of some of the contacts, of which those that are not `used` do not act."""
        c, plastic, friction, e, start = (
            x[rows] for x in (self.c, self.plastic, self.friction, self.restitution, self.start)
        )
        return ContactProblem(self.meeting.of(rows), c, plastic, friction, e, used, start)


class Answer(Record):
    """The impulses of a step, and what they do."""

    p: Impulses
    """[N·s], zero where contacts are not active."""
    jump: Joints
    """What they do to the velocity of the joints."""
    off: Scalar
    """By how much velocities at the contacts are off [m/s]."""


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def solution(method: Method, problem: ContactProblem) -> Answer:
    """The impulses that solve the problem."""
    return _found(method, problem).answer


@solution.defjvp
def _solution_jvp(method: Method, primals: tuple, tangents: tuple) -> tuple[Answer, Answer]:
    (problem,), (change,) = primals, tangents
    found = jax.tree.map(lambda x: checkpoint_name(x, FOUND), _found(method, problem))
    moved = lambda change: jax.jvp(lambda x: _follows(method, x, found), (problem,), (change,))[1]
    # a checkpoint: reverse mode keeps the problem and its solution, and no matrix of the linear system
    p, jump = jax.checkpoint(moved)(change)
    return found.answer, Answer(p, jump, jnp.zeros_like(found.answer.off))


class _Found(Record):
    """The answer, and the impulses that it is made of."""

    answer: Answer
    bouncing: Impulses
    """With restitution as asked for."""
    plastic: Impulses
    """Without restitution, where that is needed."""
    gains: Bool[AnyArray, ""]
    """Whether restitution as asked for would bring in energy."""

    def of(self, rows: Rows, used: Used) -> _Found:
        """That of some of the contacts, of which those that are not `used` have no impulse."""
        some = lambda p: jnp.where(used[:, None], p[rows], 0.0)
        answer = Answer(some(self.answer.p), self.answer.jump, self.answer.off)
        return _Found(answer, some(self.bouncing), some(self.plastic), self.gains)


def _found(method: Method, problem: ContactProblem) -> _Found:
    """Values only."""
    held = jax.lax.stop_gradient(problem)
    count = problem.active.shape[0]

    def few(rows: Rows, used: Used) -> _Found:
        found = _found_of_all(method, held.of(rows, used))
        whole = lambda p: spread(p, rows, used, count)
        answer = Answer(whole(found.answer.p), found.answer.jump, found.answer.off)
        return _Found(answer, whole(found.bouncing), whole(found.plastic), found.gains)

    return few_or_all(held.active, few, lambda: _found_of_all(method, held))


def _found_of_all(method: Method, held: ContactProblem) -> _Found:
    """The same for a problem whose contacts all may act."""

    def act() -> _Found:
        meeting, A = held.meeting.assembled()

        def solved(c: Impulses) -> tuple[Impulses, Scalar]:
            if method.order == "b":
                return impulses_in_box(A, c, held.friction, held.active, method.sweeps)
            how = held.start, method.sweeps, method.newton
            return impulses(A, c, held.friction, held.active, *how)

        p, off = solved(held.c)
        if method.order == "b":
            return _Found(Answer(p, meeting.jump(p), off), p, p, jnp.zeros((), bool))
        gains = jnp.any(held.restitution > 0.0) & (_work(meeting, held.plastic, p) > 0.0)

        def tamed() -> tuple[Impulses, Impulses]:
            plastic = solved(held.plastic)[0]
            return _tamed(meeting, held.plastic, p, plastic), plastic

        less, plastic = jax.lax.cond(gains, tamed, lambda: (p, p))
        return _Found(Answer(less, meeting.jump(less), off), p, plastic, gains)

    rest = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(act))
    return jax.lax.cond(jnp.any(held.active), act, lambda: rest)


def _follows(method: Method, problem: ContactProblem, found: _Found) -> tuple[Impulses, Joints]:
    """Impulses and jump as they were found, with their derivatives."""
    count = problem.active.shape[0]

    def few(rows: Rows, used: Used) -> tuple[Impulses, Joints]:
        p, jump = _follows_in_all(method, problem.of(rows, used), found.of(rows, used))
        return spread(p, rows, used, count), jump

    return few_or_all(problem.active, few, lambda: _follows_in_all(method, problem, found))


def _follows_in_all(
    method: Method, problem: ContactProblem, found: _Found
) -> tuple[Impulses, Joints]:
    """The same for a problem whose contacts all may act."""
    c, friction, active = problem.c, problem.friction, problem.active

    def act() -> tuple[Impulses, Joints]:
        meeting, A = problem.meeting.assembled()
        held = meeting.jump(
            found.bouncing
        )  # its derivative is that for impulses which stay as they are
        w = meeting.yields(found.bouncing, held) + c
        if method.order == "b":
            p = _in_box(method, meeting, A, w, problem, found.answer)
        else:
            p = following(A, found.bouncing, w, friction, active, found.answer.off)
            p = jax.lax.cond(found.gains, lambda: less(meeting, A, p), lambda: p)
        return p, held + meeting.jump(p - found.bouncing)

    def less(meeting: Meeting, A: Square, p: Impulses) -> Impulses:
        w = meeting.yields(found.plastic) + problem.plastic
        plastic = following(A, found.plastic, w, friction, active, found.answer.off)
        return _tamed(meeting, problem.plastic, p, plastic)

    rest = lambda: (jnp.zeros_like(found.answer.p), jnp.zeros_like(found.answer.jump))
    return jax.lax.cond(jnp.any(active), act, rest)


def _in_box(
    method: Method,
    meeting: Meeting,
    A: Square,
    w: Impulses,
    problem: ContactProblem,
    answer: Answer,
) -> Impulses:
    """The derivative of the equations, or that of the sweeps where these did not converge."""
    c, friction, active = problem.c, problem.friction, problem.active
    implicit = lambda: box_moved(A, answer.p, w, friction, active)
    through = lambda: swept_in_box(meeting.mobility(), c, friction, active, method.sweeps)
    return moving_as(answer.p, jax.lax.cond(answer.off < SOLVED, implicit, through))


def _work(meeting: Meeting, w: Impulses, p: Impulses) -> Scalar:
    """Energy [J] that impulses bring in, where velocities were `w` before."""
    return jnp.sum(p * (w + 0.5 * meeting.yields(p)))


def _tamed(meeting: Meeting, w: Impulses, p: Impulses, plastic: Impulses) -> Impulses:
    """Between the impulses without restitution and those with it: as much as brings in no energy."""
    d = p - plastic
    start = jnp.minimum(_work(meeting, w, plastic), 0.0)
    slope, curve = jnp.sum(d * (w + meeting.yields(plastic))), 0.5 * jnp.sum(d * meeting.yields(d))
    root = jnp.sqrt(jnp.maximum(slope * slope - 4.0 * curve * start, 0.0))
    share = jnp.clip((root - slope) / jnp.maximum(2.0 * curve, 1e-300), 0.0, 1.0)
    return plastic + share * d
