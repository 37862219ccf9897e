"""Loops that run until a condition fails."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from isthmus.native.ir.program import Loop
from isthmus.native.tracing.arrays import Array, Long
from isthmus.native.tracing.rules.control import Carry, indexed_inputs, most_values
from isthmus.native.tracing.rules.elementwise import entrywise
from isthmus.native.tracing.trace import Trace, rule


@rule("while", long=True)
def while_(trace: Trace, eqn: Any, *arrays: Array) -> list[Array]:
    params, p = eqn.params, trace.p
    a, b = params["cond_nconsts"], params["body_nconsts"]
    ready = [trace.memory.ready(x) for x in arrays[: a + b]]
    cond_consts, body_consts, inits = ready[:a], ready[a:], arrays[a + b :]
    most = most_values(params["cond_jaxpr"], params["body_jaxpr"])
    carry = Carry(trace, inits, most, {k - b for k in indexed_inputs(params["body_jaxpr"])})
    head = p.enter("loop")
    names = [p.symbol("param", kind) for kind in carry.kinds]
    before = carry.arrays(names)
    wanted = trace.memory.values(trace.closed(params["cond_jaxpr"], [*cond_consts, *before])[0])
    going = functools.reduce(functools.partial(p.op, "bor"), wanted.ravel().tolist())
    body = p.enter("loop")
    after = trace.closed(params["body_jaxpr"], [*body_consts, *before])
    if wanted.ndim:
        after = [
            still_going(trace, wanted, new, old) for new, old in zip(after, before, strict=True)
        ]
    yields = carry.update(before, after)
    p.leave()
    p.leave()
    loop = Loop(None, None, carry.inits, names, body, yields, head=head, going=going)
    return carry.arrays(p.finish("while", loop, carry.kinds))


def still_going(trace: Trace, wanted: np.ndarray, new: Array, old: Array) -> Array:
    """A batch of loops runs until the last one ends: those that ended before keep their values."""
    choices = wanted.reshape(*wanted.shape, *[1] * (len(new.shape) - wanted.ndim))
    kind = new.kind if isinstance(new, Long) else old.kind if isinstance(old, Long) else "f"
    return entrywise(trace, trace.p.select, new.shape, kind, choices, new, old)
