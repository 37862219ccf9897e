"""`NUTS`: the no-U-turn sampler of blackjax (Hoffman and Gelman 2014) on native gradients.

Chains run side by side: a step of all of them is one call of native code. They move in coordinates in which the normal
of the best mode is a standard normal, so that only the length of steps is left to be adapted much.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from isthmus.entry import check_arguments
from isthmus.errors import BadOption, MissingExtra
from isthmus.losses.windows import whole_number
from isthmus.phases import phase
from isthmus.posteriors.coordinates import Points
from isthmus.posteriors.density import Density, Mode
from isthmus.posteriors.method import AbstractMethod, Asked, Draws
from isthmus.posteriors.modes import minima, refuse_undetermined, shares, shares_of, starting_points

CHUNK = 50
"""Steps of each chain after which samples are kept."""
STARTS = 8
"""Starts of the search for the mode that chains begin at."""


@check_arguments
@dataclasses.dataclass(frozen=True)
class NUTS(AbstractMethod):
    """The no-U-turn sampler: `chains` side by side, each with `warmup` steps of adaptation, share the `samples`.

    Chains do not jump between modes that are far apart: the shares of such modes are those of where the chains began.
    Needs the extra `bayes`.
    """

    warmup: int = 300
    samples: int = 1000
    chains: int = 4
    seed: int = dataclasses.field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("warmup", "samples", "chains"):
            whole_number(name, getattr(self, name))

    def run(self, asked: Asked) -> Draws:
        if not has_blackjax():
            raise MissingExtra("blackjax", "bayes", "ist.NUTS")
        density = asked.density
        modes = list(asked.modes)
        if not modes:
            with phase("searching for modes"):
                starts = starting_points(density, STARTS, self.seed)
                modes = minima(density, starts, lengthen=asked.lengthen)
        refuse_undetermined(density, modes[0])
        with jax.enable_x64(True):
            return self._sampled(asked, modes)

    def _sampled(self, asked: Asked, modes: list[Mode]) -> Draws:
        chains = Chains(asked.density, modes, self)
        kept = chains.resumed(asked.state)
        each = -(-self.samples // self.chains)  # steps of each chain
        try:
            if not kept:
                with phase("adapting the sampler"):
                    chains.adapt()
            while sum(map(len, kept)) < each:
                done = sum(map(len, kept))
                with phase(f"sampling, {done * self.chains} of {self.samples}"):
                    kept.append(chains.sample()[: each - done])
                asked.tell(chains.draws(kept, self.samples, complete=False))
        except KeyboardInterrupt:
            return chains.draws(kept, self.samples, complete=False)
        return chains.draws(kept, self.samples, complete=True)


@functools.cache
def has_blackjax() -> bool:
    """Whether the extra is installed."""
    try:
        import blackjax  # noqa: F401 - an extra, loaded on demand
    except ImportError:
        return False
    return True


class Chains:
    """Chains of a sampler in whitened coordinates `w` with `u = mode + L⁻ᵀ w`."""

    def __init__(self, density: Density, modes: list[Mode], method: NUTS) -> None:
        import blackjax  # an extra, loaded on demand

        self.density, self.modes, self.method = density, modes, method
        best = modes[0]
        self.back = np.linalg.inv(best.factor).T
        self.nuts, self.turn = blackjax.nuts, 0
        self.log_density = native_log_density(density, best.u, self.back)
        rng = np.random.default_rng([method.seed, 5])
        chosen = rng.choice(len(modes), method.chains, p=shares(modes))
        starts = np.stack([modes[k].u for k in chosen]) - best.u
        W = starts @ np.linalg.inv(self.back).T + rng.standard_normal(starts.shape) * 0.5
        self.state: Any = self.begun(jnp.asarray(W))
        self.step, self.mass = jnp.full(method.chains, 0.5), jnp.ones_like(self.state.position)

    def begun(self, W: Any) -> Any:
        """States of chains at these places."""
        return jax.jit(jax.vmap(lambda w: self.nuts.init(w, self.log_density)))(W)

    def keys(self) -> Any:
        """Random keys of the chains, other ones every time."""
        self.turn += 1
        return jax.random.split(
            jax.random.fold_in(jax.random.key(self.method.seed), self.turn), self.method.chains
        )

    def adapt(self) -> None:
        """Warms the chains up, and takes the length of steps and the masses that suit them."""
        import blackjax  # an extra, loaded on demand

        steps = max(20, self.method.warmup)
        warm = blackjax.window_adaptation(self.nuts, self.log_density, initial_step_size=0.5)
        run = lambda key, w: warm.run(key, w, num_steps=steps)[0]  # ty: ignore[unknown-argument]
        self.state, found = jax.jit(jax.vmap(run))(self.keys(), self.state.position)
        self.step, self.mass = found["step_size"], found["inverse_mass_matrix"]

    def sample(self) -> np.ndarray:
        """`CHUNK` steps of each chain: positions `u` (steps, chains, n)."""
        self.state, W = self._run(self.keys(), self.state, self.step, self.mass)
        return self.density_coordinates(np.swapaxes(np.asarray(W), 0, 1))

    @functools.cached_property
    def _run(self) -> Any:
        """`CHUNK` steps of all chains."""
        kernel = self.nuts.build_kernel()

        def one(key: Any, state: Any, step: Any, mass: Any) -> Any:
            def move(state: Any, key: Any) -> Any:
                state, _ = kernel(key, state, self.log_density, step, mass)
                return state, state.position

            return jax.lax.scan(move, state, jax.random.split(key, CHUNK))

        return jax.jit(jax.vmap(one))

    def density_coordinates(self, W: np.ndarray) -> np.ndarray:
        """Whitened coordinates -> `u`."""
        return self.modes[0].u + W @ self.back.T

    def resumed(self, state: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Samples of an earlier run; the chains stand where it stopped."""
        if "samples" not in state:
            return []
        if state["position"].shape != self.state.position.shape:
            raise BadOption(
                "the posterior to resume has other chains or another number of free numbers."
            )
        position = jnp.asarray(state["position"])
        self.state = self.begun(position)
        self.step, self.mass = jnp.asarray(state["step"]), jnp.asarray(state["mass"])
        self.turn = int(state["turn"])
        return [state["samples"]]

    def draws(self, kept: list[np.ndarray], count: int, *, complete: bool) -> Draws:
        """The samples so far."""
        n = self.density.size
        every = np.concatenate([np.zeros((0, self.method.chains, n)), *kept])
        state = {
            "samples": every, "position": np.asarray(self.state.position), "step": np.asarray(self.step),
            "mass": np.asarray(self.mass), "turn": np.array(self.turn),
        }  # fmt: skip
        U = every.reshape(-1, n)[:count]
        if not len(U):
            return Draws(U, (), np.zeros(0), complete=False, state={})
        effective = effective_of_chains(every)
        notes = ()
        if len(self.modes) > 1:
            notes = (
                "there are several modes, and chains do not jump between them: SMC weighs them.",
            )
        return Draws(
            U, self.modes, shares_of(self.modes, U), np.nan, effective, notes, complete, state
        )


def native_log_density(density: Density, centre: np.ndarray, back: np.ndarray) -> Any:
    """The log density of `w` as a function of JAX whose value and gradient native code computes for all chains."""
    n = len(centre)

    def host(bits: Any) -> np.ndarray:
        W: Points = np.ascontiguousarray(bits).view(np.float64).reshape(-1, n)
        cost, gradient = density.gradient(centre + W @ back.T)
        found = -np.concatenate([cost[:, None], gradient @ back], axis=1)
        return found.view(np.uint32).reshape(*np.shape(bits)[:-2], n + 1, 2)

    shape = jax.ShapeDtypeStruct((n + 1, 2), jnp.uint32)

    def both(w: Any) -> Any:
        """Value and gradient; as pairs of 32 bits, since the thread of a callback may not know 64."""
        bits = jax.lax.bitcast_convert_type(w, jnp.uint32)
        found = jax.pure_callback(host, shape, bits, vmap_method="expand_dims")
        found = jax.lax.bitcast_convert_type(found, jnp.float64)
        return found[0], found[1:]

    @jax.custom_vjp
    def log_density(w: Any) -> Any:
        return both(w)[0]

    log_density.defvjp(both, lambda gradient, seed: (seed * gradient,))
    return log_density


def effective_of_chains(x: np.ndarray) -> float:
    """Independent samples in (steps, chains, n), of the worst number, by initial positive sequences (Geyer 1992)."""
    steps, chains, _ = x.shape
    if steps < 8:
        return float(steps * chains)
    x = x - x.mean(axis=(0, 1))
    size = np.fft.rfft(x, 2 * steps, axis=0)
    lags = np.fft.irfft(np.abs(size) ** 2, 2 * steps, axis=0)[:steps].mean(axis=1)
    rho = lags / np.maximum(lags[:1], 1e-300)
    pairs = rho[: steps // 2 * 2].reshape(-1, 2, rho.shape[1]).sum(axis=1)
    positive = np.cumprod(pairs > 0.0, axis=0)
    time = np.maximum(2.0 * (pairs * positive).sum(axis=0) - 1.0, 1e-2)
    return float(steps * chains / max(time.max(), 1.0))
