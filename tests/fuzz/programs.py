"""Random JAX programs as Python text: elementwise functions, reductions, sorting, indexing, control flow, matrices.

`program(seed)` gives the text of a function `run` of a few arrays. The same seed gives the same text and arguments.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

FLOATS = ("float64",)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-300, 1e300)
MOST = 64
"""Entries of an array, at most."""

UNARY = (
    "jnp.sin({a})", "jnp.cos({a})", "jnp.tan({a})", "jnp.exp(-jnp.abs({a}))", "jnp.log1p(jnp.abs({a}))",
    "jnp.sqrt(jnp.abs({a}))", "jnp.tanh({a})", "jnp.abs({a})", "jnp.sign({a})", "jnp.floor({a})",
    "jnp.ceil({a})", "jnp.round({a})", "-{a}", "jnp.square({a})", "1.0 / (2.0 + jnp.abs({a}))",
    "jnp.arctan({a})", "jnp.arcsinh({a})", "jax.nn.sigmoid({a})", "jax.nn.relu({a})", "jnp.cbrt({a})",
    "jnp.expm1(-jnp.abs({a}))", "jnp.nan_to_num({a})", "lax.reduce_precision({a}, 8, 10)", "jnp.trunc({a})",
    "jax.scipy.special.erf({a})", "jnp.clip({a}, -1.5, 2.0)", "{a} ** 3", "jnp.exp2(-jnp.abs({a}))",
    "lax.rsqrt(1.0 + {a} * {a})", "jnp.sinc({a})", "jnp.logaddexp({a}, 0.5)",
)  # fmt: skip
BINARY = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / (1.0 + jnp.abs({b}))", "jnp.maximum({a}, {b})",
    "jnp.minimum({a}, {b})", "jnp.arctan2({a}, {b})", "jnp.abs({a}) ** jnp.clip({b}, -2.0, 2.0)",
    "jnp.where({a} > {b}, {a}, {b} * 2.0)", "jnp.hypot({a}, {b})", "jnp.fmod({a}, 1.0 + jnp.abs({b}))",
    "jnp.remainder({a}, 1.0 + jnp.abs({b}))", "jnp.copysign({a}, jnp.nan_to_num({b}))",
    "lax.nextafter(1.0 + jnp.abs({a}), {b})",
    "jnp.where(jnp.isnan({a}), {b}, {a})", "jnp.heaviside({a}, {b})", "jnp.floor_divide({a}, 1.0 + jnp.abs({b}))",
)  # fmt: skip
WHOLE_UNARY = (
    "-{a}", "~{a}", "jnp.abs({a})", "jnp.sign({a})", "{a} * {a}", "{a} + {a}", "{a} << 1", "{a} >> 1",
    "lax.population_count({a})", "lax.clz({a})", "jnp.cumsum({a}, dtype={a}.dtype)", "{a}.astype(jnp.float64)",
)  # fmt: skip
WHOLE_BINARY = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} & {b}", "{a} | {b}", "{a} ^ {b}", "jnp.maximum({a}, {b})",
    "jnp.minimum({a}, {b})", "{a} // jnp.where({b} == 0, 1, {b}).astype({b}.dtype)",
    "{a} % jnp.where({b} == 0, 1, {b}).astype({b}.dtype)", "jnp.where({a} > {b}, {a}, {b})",
    "lax.rem({a}, jnp.where({b} == 0, 1, {b}).astype({b}.dtype))",
)  # fmt: skip
REDUCTIONS = (
    "jnp.sum({a}, axis={k})", "jnp.prod({a}, axis={k})", "jnp.mean({a}, axis={k})", "jnp.var({a}, axis={k})",
    "jnp.any({a} > 0.1, axis={k})", "jnp.cumsum({a}, axis={k})", "jnp.cumprod({a}, axis={k})",
    "lax.cummax({a}, {k})", "lax.cumlogsumexp({a}, {k})", "jax.nn.softmax({a}, axis={k})", "jnp.diff({a}, axis={k})",
    "jnp.count_nonzero({a} > 0, axis={k})",
)  # fmt: skip
FILLED_REDUCTIONS = (
    "jnp.max({a}, axis={k})", "jnp.min({a}, axis={k})", "jnp.argmax({a}, axis={k})", "jnp.argmin({a}, axis={k})",
    "jax.scipy.special.logsumexp({a}, axis={k})", "jnp.median({a}, axis={k})", "jnp.ptp({a}, axis={k})",
    "lax.reduce({a}, np.float64(0.0), lambda p, q: p + q * 0.5 + 0.5 * q, ({k},))",
)  # fmt: skip
SHAPES = (
    "{a}.T", "jnp.flip({a}, {k})", "jnp.roll({a}, 1, {k})", "jnp.ravel({a})", "jnp.concatenate([{a}, {a}[:1] * 2.0])",
    "jnp.stack([{a}, -{a}])", "{a}[None]", "{a}[:0]", "jnp.concatenate([{a}[:0], jnp.sin({a})])",
    "jnp.pad({a}, 1)", "jnp.tile({a}, 2)", "{a}[::2]", "{a}[1:]", "jnp.sort({a}, {k})", "jnp.argsort({a}, {k})",
    "jnp.repeat({a}, 2, axis={k})", "jnp.expand_dims({a}, {k})", "jnp.broadcast_to({a}, (2, *{a}.shape))",
    "{a}.astype(jnp.float32).astype(jnp.float64)", "jnp.swapaxes({a}, 0, -1)",
)  # fmt: skip
VECTORS = (
    "{a}[jnp.argmax({a})]", "{a}[jnp.argsort({a})]", "{a}.at[0].set(2.0)", "{a}.at[-1].add({a}[0])",
    "{a}.at[jnp.argmin({a})].multiply(3.0)", "{a}.at[0].apply(jnp.exp)", "{a}.at[1:].max(0.3)",
    "lax.dynamic_slice({a}, (jnp.argmax({a}),), (1,))",
    "lax.dynamic_update_slice({a}, {a}[:1] + 1.0, (jnp.argmin({a}),))",
    "jnp.take({a}, jnp.array([0, -1, 5]), mode='clip')", "lax.top_k({a}, 1)[0]", "jnp.diag({a})",
    "jnp.outer({a}, {a})", "jnp.searchsorted(jnp.sort({a}), 0.3)", "{a}.at[jnp.array([0, 0])].add(1.5)",
    "jnp.interp(0.3, jnp.arange({a}.size, dtype=jnp.float64), {a})",
    "jnp.convolve({a}, jnp.array([1.0, -0.5]), 'same')",
    "jnp.linalg.norm({a})", "{a} @ {a}", "jnp.where({a} > 0, size=2, fill_value=0)[0]",
    "jnp.unique({a}, size=2, fill_value=0.0)",
)  # fmt: skip
MATRICES = (
    "({a} @ {a}.T)", "jnp.linalg.cholesky({a} @ {a}.T + 3.0 * jnp.eye({a}.shape[0]))",
    "jnp.linalg.solve({a} @ {a}.T + 3.0 * jnp.eye({a}.shape[0]), {a})",
    "jnp.linalg.inv({a} @ {a}.T + 3.0 * jnp.eye({a}.shape[0]))",
    "jnp.linalg.det({a} @ {a}.T + 3.0 * jnp.eye({a}.shape[0]))",
    "jnp.linalg.slogdet({a} @ {a}.T + 3.0 * jnp.eye({a}.shape[0]))[1]",
    "jnp.diagonal({a})", "jnp.diag({a})", "jnp.trace({a})", "jnp.triu({a})", "jnp.tril({a}, -1)",
    "jnp.einsum('ij,kj->ik', {a}, {a})",
    "jnp.kron({a}, jnp.eye(2))", "{a}[:, 0]", "{a}[jnp.arange({a}.shape[0]), jnp.argmax({a}, axis=1)]",
    "{a}.at[:, 0].set(1.0)", "{a}.at[jnp.arange({a}.shape[0]), 0].add(2.0)",
    "lax.linalg.triangular_solve({a} @ {a}.T + 3.0 * jnp.eye({a}.shape[0]), {a}, left_side=True, lower=True)",
)  # fmt: skip
FLOW = (
    "lax.cond(jnp.sum({a}) > 0, lambda x: {f}, lambda x: {g}, {a})",
    "lax.fori_loop(0, 3, lambda i, x: 0.5 * ({f}) + i, {a})",
    "lax.fori_loop(0, jnp.argmax(jnp.ravel({a})) + 1, lambda i, x: 0.5 * ({f}), {a})",
    "lax.scan(lambda x, t: (0.5 * ({f}) + t, jnp.sum(x)), {a}, jnp.arange(3.0))[1]",
    "lax.scan(lambda x, t: (0.5 * ({f}), t * 2), {a}, jnp.arange(3, dtype=jnp.int8))",
    "lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, 0.5 * (lambda x: {f})(s[1])), (0, {a}))[1]",
    "lax.switch(jnp.argmax(jnp.ravel({a})) % 3, [lambda x: {f}, lambda x: {g}, lambda x: x], {a})",
    "lax.scan(lambda x, _: (lax.cond(jnp.max(x) > 0.2, jnp.sin, lambda y: y - 0.1, x), x), {a}, None, length=2)[1]",
    "lax.fori_loop(0, 2, lambda i, x: lax.fori_loop(0, i + 1, lambda j, y: 0.5 * y + j, x), {a})",
    "jax.vmap(lambda x: {f})({a})",
    "lax.associative_scan(jnp.add, {a})",
    "lax.map(lambda x: {f}, {a})",
    "jax.checkpoint(lambda x: {f})({a})",
)  # fmt: skip


@dataclasses.dataclass
class Program:
    """A function of some arrays as text."""

    seed: int
    text: str
    arguments: list[np.ndarray]

    @property
    def run(self) -> Callable[..., Any]:
        """The function."""
        names = {"jax": jax, "jnp": jnp, "np": np, "lax": lax}
        exec(self.text, names)
        return names["run"]

    def file(self) -> str:
        """A file that runs it in native code and in XLA."""
        arguments = ",\n    ".join(
            f"np.array({x.tolist()}, {str(x.dtype)!r})" for x in self.arguments
        )
        arguments = arguments.replace("nan", "np.nan").replace("inf", "np.inf")
        return (
            f'"""Program {self.seed}: native code against XLA."""\n\nimport jax\nimport jax.numpy as jnp\n'
            f"import numpy as np\nfrom jax import lax\n\nimport isthmus as ist\n\n\n{self.text}\n\n"
            f"arguments = (\n    {arguments},\n)\nwith jax.enable_x64(True):\n    print(jax.jit(run)(*arguments))\n"
            "print(ist.native.compile(run, *arguments)(*arguments))\n"
        )


def program(seed: int) -> Program:
    """The program of a seed."""
    random = Random(seed)
    rng = np.random.default_rng(seed)
    arguments = [_argument(random, rng) for _ in range(random.randint(1, 3))]
    pool = {f"x{k}": jax.ShapeDtypeStruct(x.shape, x.dtype) for k, x in enumerate(arguments)}
    lines: list[str] = []
    for k in range(random.randint(2, 7)):
        _extend(random, pool, lines, f"v{k}")
    kept = [name for name in pool if name.startswith("v")][-3:] or list(pool)
    results = ", ".join(kept)
    head = f"def run({', '.join(f'x{k}' for k in range(len(arguments)))}):"
    text = "\n".join([head, *(f"    {line}" for line in lines), f"    return ({results},)"])
    kind = random.random()
    floats = [k for k, x in enumerate(arguments) if x.dtype == np.float64]
    sound = all(np.isfinite(x).all() for x in arguments)  # 0 times infinity is what one makes of it
    if kind < 0.2 and floats and sound:
        text += _differentiated(floats[0], "grad")
    elif kind < 0.3 and floats and sound:
        text += _differentiated(floats[0], "jacfwd")
    elif kind < 0.4:
        arguments = [np.stack([x, x[::-1] if x.ndim else x]) for x in arguments]
        text += "\n\n\nrun = jax.vmap(run)"
    return Program(seed, text, arguments)


def _differentiated(position: int, mode: str) -> str:
    """Text that turns `run` into a derivative of the sum of what is real in its results."""
    total = "sum(jnp.sum(y) for y in jax.tree.leaves(plain(*x)) if jnp.issubdtype(y.dtype, jnp.floating))"
    return f"\n\n\nplain = run\nrun = jax.{mode}(lambda *x: 0.0 * jnp.sum(x[{position}]) + {total}, {position})"


def _argument(random: Random, rng: np.random.Generator) -> np.ndarray:
    """A few numbers: mostly real ones of modest size, at times special ones, integers, or none at all."""
    shape = random.choice(
        [(), (1,), (3,), (4,), (2, 3), (3, 3), (4, 4), (0,), (0, 2), (2, 2, 2), (5,)]
    )
    if random.random() < 0.25:
        dtype = random.choice(INTEGERS)
        info = np.iinfo(dtype)
        low, high = (info.min, info.max) if random.random() < 0.4 else (max(info.min, -5), 9)
        return rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    x = np.round(rng.normal(size=shape) * random.choice([0.5, 2.0, 30.0]), 3)
    if random.random() < 0.12 and x.size:
        x.flat[rng.integers(x.size)] = random.choice(SPECIAL)
    return np.asarray(x, np.float64)


def _extend(random: Random, pool: dict[str, Any], lines: list[str], name: str) -> None:
    """One more line, whose result has a shape and is not too large; tries until one is found."""
    for _ in range(60):
        text = _line(random, pool)
        if text is None:
            continue
        try:
            with jax.enable_x64(True):
                found = jax.eval_shape(_evaluated(text, pool), pool)
        except (TypeError, ValueError, IndexError, ZeroDivisionError, NotImplementedError):
            continue
        leaves = jax.tree.leaves(found)
        if len(leaves) == 1 and leaves[0].size <= MOST and leaves[0].ndim <= 3:
            pool[name] = leaves[0]
            one = text if not isinstance(found, tuple | list) else f"jax.tree.leaves({text})[0]"
            lines.append(f"{name} = {one}")
            return


def _evaluated(text: str, pool: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
    names = {"jax": jax, "jnp": jnp, "np": np, "lax": lax}
    return lambda values: eval(text, names | values)


def _line(random: Random, pool: dict[str, Any]) -> str | None:
    """An expression of what there is, which may turn out not to be one."""
    a = random.choice(list(pool))
    x = pool[a]
    same = [n for n, y in pool.items() if y.shape == x.shape and y.dtype == x.dtype]
    b = random.choice(same)
    if x.dtype == np.bool_:
        return random.choice([f"jnp.where({a}, 1.5, -0.5)", f"~{a}", f"{a}.astype(jnp.int32)"])
    if jnp.issubdtype(x.dtype, jnp.integer):
        kinds = [*WHOLE_UNARY, *WHOLE_BINARY]
        if random.random() < 0.2:
            return f"{a}.astype(jnp.{random.choice(INTEGERS)})"
        return random.choice(kinds).format(a=a, b=b)
    choices = [UNARY, BINARY, SHAPES if x.ndim else UNARY]
    if x.ndim:
        choices += [REDUCTIONS, FLOW]
        choices += [FILLED_REDUCTIONS] if x.size else []
    if x.ndim == 1 and x.size:
        choices += [VECTORS, VECTORS]
    if x.ndim == 2 and x.size and x.shape[0] == x.shape[1]:
        choices += [MATRICES, MATRICES]
    if random.random() < 0.06:  # off the whole numbers, to which functions saturate up to rounding
        return f"({a} * 1.7 + 0.37).astype(jnp.{random.choice(INTEGERS)})"
    inner = [random.choice(UNARY).format(a="x") for _ in range(2)]
    return random.choice(random.choice(choices)).format(
        a=a, b=b, k=random.randrange(max(x.ndim, 1)), f=inner[0], g=inner[1]
    )
