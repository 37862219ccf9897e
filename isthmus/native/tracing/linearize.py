"""`linearize`: a function's value and its directional derivative, as `jax.linearize` gives them, traced faster.

`jax.linearize` takes some milliseconds for each operation that has no rule of its own, and a step of a robot has
thousands, nearly all of them sums, products and pieces of arrays. Those are differentiated here; any other operation
is left to `jax.linearize`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core

Push = Callable[..., Sequence[Any]]
"""Tangents of the operands that move -> tangents of the results."""
Linear = tuple[Push, list[Any], list[Any]]
"""An operation on tangents: what it does, the variables that it reads, those that it writes."""

ONE_OPERAND = frozenset(
    "neg reshape broadcast_in_dim squeeze transpose slice reduce_sum copy copy_p rev expand_dims cumsum "
    "convert_element_type real".split()
)
"""Linear operations: the tangent of the result is the operation applied to the operand's tangent."""
FIRST_OPERAND = frozenset("dynamic_slice gather".split())
"""Linear in their first operand; the others are indices."""
FUNCTIONS = frozenset(
    "sin cos tan tanh exp exp2 log log1p sqrt rsqrt integer_pow square logistic".split()
)
"""Functions of single entries: the tangent is multiplied by the derivative."""


def linearize(fn: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """`fn(*primals)`, and the linear function from tangents of `primals` to the tangent of the value."""
    closed, shape = jax.make_jaxpr(fn, return_shape=True)(*primals)
    out_tree = jax.tree.structure(shape)
    interpreter = Interpreter()
    given = jax.tree.leaves(primals)
    moving = [_moves(v.aval) for v in closed.jaxpr.invars]
    outputs = interpreter.run(closed.jaxpr, closed.consts, given, moving)
    values = [interpreter.value(v) for v in outputs]

    def push(*tangents: Any) -> Any:
        env = interpreter.pushed(closed.jaxpr.invars, jax.tree.leaves(tangents))
        found = [
            env[v] if interpreter.moves(v) else jnp.zeros_like(x)
            for v, x in zip(outputs, values, strict=True)
        ]
        return jax.tree.unflatten(out_tree, found)

    return jax.tree.unflatten(out_tree, values), push


def _moves(aval: Any) -> bool:
    """Whether arrays of a type can have a tangent."""
    return jnp.issubdtype(aval.dtype, jnp.inexact)


class Interpreter:
    """Evaluates a jaxpr and remembers what it does to tangents."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.moving: set[Any] = set()
        self.linear: list[Linear] = []

    def value(self, atom: Any) -> Any:
        """The value of a variable or literal."""
        return atom.val if isinstance(atom, jex_core.Literal) else self.values[atom]

    def moves(self, atom: Any) -> bool:
        """Whether a variable has a tangent."""
        return not isinstance(atom, jex_core.Literal) and atom in self.moving

    def run(
        self, jaxpr: Any, consts: Sequence[Any], given: Sequence[Any], moving: Sequence[bool]
    ) -> list[Any]:
        """Evaluates a jaxpr of which some inputs move; returns its outputs as variables or literals."""
        self.values.update(zip(jaxpr.constvars, consts, strict=True))
        self.values.update(zip(jaxpr.invars, given, strict=True))
        self.moving.update(v for v, on in zip(jaxpr.invars, moving, strict=True) if on)
        for eqn in jaxpr.eqns:
            self.equation(eqn)
        return list(jaxpr.outvars)

    def equation(self, eqn: Any) -> None:
        """Evaluates one operation, and says what it does to tangents where an operand moves."""
        name, active = eqn.primitive.name, [k for k, v in enumerate(eqn.invars) if self.moves(v)]
        given = [self.value(v) for v in eqn.invars]
        if name in ("pjit", "jit") and active:
            self.inlined(eqn, given)
            return
        bind, rule = _bound(eqn), RULES.get(name)
        if not active or not any(_moves(v.aval) for v in eqn.outvars):
            self.wrote(eqn, bind(*given))
            return
        push = None if rule is None else rule(bind, given, active)
        if push is None:
            push = self.general(eqn, bind, given, active)
        else:
            self.wrote(eqn, bind(*given))
        self.remember(push, [eqn.invars[k] for k in active], eqn.outvars)

    def wrote(self, eqn: Any, results: Any) -> None:
        results = results if eqn.primitive.multiple_results else [results]
        self.values.update(zip(eqn.outvars, results, strict=True))

    def remember(self, push: Push, reads: list[Any], writes: list[Any]) -> None:
        self.linear.append((push, reads, list(writes)))
        self.moving.update(v for v in writes if _moves(v.aval))

    def pushed(self, reads: Sequence[Any], tangents: Sequence[Any]) -> dict[Any, Any]:
        """The tangents of all variables that move, from those of the inputs `reads`."""
        env = dict(zip(reads, tangents, strict=True))
        for push, inputs, results in self.linear:
            env.update(zip(results, push(*(env[v] for v in inputs)), strict=True))
        return env

    def inlined(self, eqn: Any, given: list[Any]) -> None:
        """A function inside the function, by an interpreter of its own: its variables may occur several times."""
        closed, inner = eqn.params["jaxpr"], Interpreter()
        moving = [self.moves(v) for v in eqn.invars]
        outputs = inner.run(closed.jaxpr, closed.consts, given, moving)
        self.values.update(zip(eqn.outvars, map(inner.value, outputs), strict=True))
        reads = [v for v in closed.jaxpr.invars if v in inner.moving]
        written = [(v, o) for v, o in zip(eqn.outvars, outputs, strict=True) if inner.moves(o)]

        def push(*tangents: Any) -> list[Any]:
            env = inner.pushed(reads, tangents)
            return [env[o] for _, o in written]

        outer = [v for v in eqn.invars if self.moves(v)]
        self.remember(push, outer, [v for v, _ in written])

    def general(self, eqn: Any, bind: Callable, given: list[Any], active: list[int]) -> Push:
        """Any operation, by `jax.linearize`."""

        def of_active(*moved: Any) -> list[Any]:
            full = list(given)
            for k, x in zip(active, moved, strict=True):
                full[k] = x
            results = bind(*full)
            return results if eqn.primitive.multiple_results else [results]

        values, push = jax.linearize(of_active, *(given[k] for k in active))
        self.values.update(zip(eqn.outvars, values, strict=True))
        return push


def _bound(eqn: Any) -> Callable[..., Any]:
    """The operation of an equation as a function of its operands."""
    params = eqn.primitive.get_bind_params(eqn.params)
    functions, params = params if isinstance(params, tuple) else ((), params)  # before JAX 0.10
    return lambda *given: eqn.primitive.bind(*functions, *given, **params)


# Rules: (the operation, its operands, which of them move) -> what happens to their tangents, or None: ask JAX ---------


def _same(bind: Callable, given: list[Any], active: list[int]) -> Push:
    return lambda *t: [bind(*t)]


def _first(bind: Callable, given: list[Any], active: list[int]) -> Push | None:
    return (lambda t: [bind(t, *given[1:])]) if active == [0] else None


def _function(bind: Callable, given: list[Any], active: list[int]) -> Push:
    (x,) = given
    _, slope = jax.jvp(bind, (x,), (jnp.ones_like(x),))
    return lambda t: [slope * t]


def _add(bind: Callable, given: list[Any], active: list[int]) -> Push:
    whole = _broadcast(given)
    return (lambda t: [whole(t)]) if len(active) == 1 else (lambda a, b: [bind(a, b)])


def _sub(bind: Callable, given: list[Any], active: list[int]) -> Push:
    whole = _broadcast(given)
    alone = lambda t: [whole(t if active == [0] else -t)]
    return alone if len(active) == 1 else (lambda a, b: [bind(a, b)])


def _broadcast(given: list[Any]) -> Callable[[Any], Any]:
    """The tangent of one operand in the shape of the result: axes of length 1 are repeated by sums and differences."""
    shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in given))
    return lambda t: t if jnp.shape(t) == shape else jnp.broadcast_to(t, shape)


def _product(bind: Callable, given: list[Any], active: list[int]) -> Push:
    x, y = given
    if active == [0]:
        return lambda t: [bind(t, y)]
    if active == [1]:
        return lambda t: [bind(x, t)]
    return lambda a, b: [bind(a, y) + bind(x, b)]


def _div(bind: Callable, given: list[Any], active: list[int]) -> Push | None:
    return (lambda t: [bind(t, given[1])]) if active == [0] else None


def _concatenate(bind: Callable, given: list[Any], active: list[int]) -> Push:
    still = {k: jnp.zeros_like(x) for k, x in enumerate(given) if k not in active}

    def push(*tangents: Any) -> list[Any]:
        moved = dict(zip(active, tangents, strict=True))
        return [bind(*(moved[k] if k in moved else still[k] for k in range(len(given))))]

    return push


def _select(bind: Callable, given: list[Any], active: list[int]) -> Push:
    inner = _concatenate(lambda *cases: bind(given[0], *cases), given[1:], [k - 1 for k in active])
    return inner


RULES: dict[str, Callable[[Callable, list[Any], list[int]], Push | None]] = {
    **dict.fromkeys(ONE_OPERAND, _same),
    **dict.fromkeys(FIRST_OPERAND, _first),
    **dict.fromkeys(FUNCTIONS, _function),
    "add": _add,
    "add_any": _add,
    "sub": _sub,
    "mul": _product,
    "dot_general": _product,
    "div": _div,
    "concatenate": _concatenate,
    "select_n": _select,
}
