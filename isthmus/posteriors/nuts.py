"""`NUTS`: the no-U-turn sampler of blackjax (Hoffman and Gelman 2014) on native gradients.

Chains run side by side: a gradient of all of them is one call of native code from XLA. They move in coordinates in
which the normal of the best mode is a standard normal, so that only the length of steps is left to be adapted much;
chains adapt together.
"""

from __future__ import annotations

import dataclasses
import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.errors import BadOption, MissingExtra
from isthmus.identify.evaluate.compiled import Compiled
from isthmus.losses.windows import whole_number
from isthmus.phases import phase
from isthmus.posteriors.coordinates import Points
from isthmus.posteriors.density import Density, Mode
from isthmus.posteriors.method import AbstractMethod, Asked, Draws
from isthmus.posteriors.modes import found_modes, refuse_undetermined, shares, shares_of
from isthmus.posteriors.xla_density import Frame, log_density_of

CHUNK = 50
"""Steps of each chain after which samples are kept."""
ACCEPTED = 0.8
"""Share of accepted moves that the length of steps is adapted to."""
FIRST_STEP = 0.5
"""Length of the first steps, in standard deviations."""
FEW = 20.0
"""Steps, in chains together, that weigh as much as the metric that was there before."""
SAMPLERS: weakref.WeakKeyDictionary[Compiled, dict[tuple, Sampler]] = weakref.WeakKeyDictionary()
"""By the native code of a problem, then by its bounds and priors."""
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
        whole_number("seed", self.seed, 0)

    def run(self, asked: Asked) -> Draws:
        if not has_blackjax():
            raise MissingExtra("blackjax", "bayes", "ist.NUTS")
        density = asked.density
        modes = list(asked.modes)
        if not modes:
            with phase("searching for modes"):
                modes = found_modes(density, STARTS, self.seed, asked.lengthen, asked.state)
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
                    kept.append(chains.advance(min(CHUNK, each - done)))
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
    """Chains of a sampler in whitened coordinates `w` with `u = centre + back w`."""

    def __init__(self, density: Density, modes: list[Mode], method: NUTS) -> None:
        self.density, self.modes, self.method = density, modes, method
        self.sampler, self.turn = sampler_of(density), 0
        best = modes[0]
        windows = jax.tree.map(jnp.asarray, density.inner.windows)
        self.frame = Frame(jnp.asarray(best.u), jnp.asarray(np.linalg.inv(best.factor).T), windows)
        rng = np.random.default_rng([method.seed, 5])
        chosen = rng.choice(len(modes), method.chains, p=shares(modes))
        near = rng.standard_normal((method.chains, density.size)) * 0.5
        self.begin(np.stack([modes[k].u for k in chosen]) + near @ np.asarray(self.frame.back).T)
        self.tuning = self.sampler.tuned(FIRST_STEP)

    def begin(self, U: Points) -> None:
        """Puts the chains at these places."""
        back = np.asarray(self.frame.back)
        W = np.linalg.solve(back, (U - np.asarray(self.frame.centre)).T).T
        self.state = self.sampler.begin(jnp.asarray(W), self.frame)

    @property
    def places(self) -> Points:
        """Where the chains are, `u`."""
        return self.to_u(np.asarray(self.state.position))

    def to_u(self, W: np.ndarray) -> np.ndarray:
        """Whitened coordinates -> `u`."""
        return np.asarray(self.frame.centre) + W @ np.asarray(self.frame.back).T

    def advance(self, count: int, *, adapts: bool = False) -> np.ndarray:
        """So many steps of each chain, up to `CHUNK`: positions `u` (steps, chains, n)."""
        self.turn += 1
        key = jax.random.fold_in(jax.random.key(self.method.seed), self.turn)
        self.state, self.tuning, W = self.sampler.run(
            key, self.state, self.tuning, self.frame, jnp.asarray(count), jnp.asarray(adapts)
        )
        return self.to_u(np.asarray(W)[:count])

    def adapt(self) -> None:
        """Warms the chains up: the length of steps throughout, the metric at the end of every second chunk."""
        left, seen = max(20, self.method.warmup), []
        while left > 0:
            seen.append(self.advance(min(CHUNK, left), adapts=True))
            left -= len(seen[-1])
            if len(seen) == 2 and left >= CHUNK:
                self._whiten(np.concatenate(seen))
                seen = []

    def _whiten(self, U: Float[np.ndarray, "steps chains n"]) -> None:
        """Takes the covariance of chains, each about its own mean, as the metric; few steps change it little."""
        places, back = self.places, np.asarray(self.frame.back)
        W = np.linalg.solve(back, (U - U.mean(axis=0)).reshape(-1, U.shape[2]).T)
        S = (W @ W.T + FEW * np.eye(len(W))) / (W.shape[1] + FEW)
        self.frame = self.frame._replace(back=jnp.asarray(back @ np.linalg.cholesky(S)))
        self.begin(places)
        self.tuning = self.sampler.tuned(float(np.exp(self.tuning.log_step_size_avg)))

    def resumed(self, state: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Samples of an earlier run; the chains stand where it stopped."""
        if "back" not in state:
            return []
        if state["position"].shape != self.state.position.shape:
            raise BadOption(
                "the posterior to resume has other chains or another number of free numbers."
            )
        centre, back = jnp.asarray(state["centre"]), jnp.asarray(state["back"])
        self.frame = self.frame._replace(centre=centre, back=back)
        self.state = self.sampler.begin(jnp.asarray(state["position"]), self.frame)
        self.tuning = self.sampler.tuned(1.0)._replace(log_step_size_avg=float(state["log_step"]))
        self.turn = int(state["turn"])
        return [state["samples"]]

    def draws(self, kept: list[np.ndarray], count: int, *, complete: bool) -> Draws:
        """The samples so far."""
        n = self.density.size
        every = np.concatenate([np.zeros((0, self.method.chains, n)), *kept])
        state = {
            "samples": every, "position": np.asarray(self.state.position), "turn": np.array(self.turn),
            "centre": np.asarray(self.frame.centre), "back": np.asarray(self.frame.back),
            "log_step": np.asarray(self.tuning.log_step_size_avg),
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


class Sampler(NamedTuple):
    """Programs of XLA that all data sets of a problem share."""

    begin: Callable[..., Any]
    """`(W, frame) -> states` of chains."""
    run: Callable[..., Any]
    """`(key, states, tuning, frame, count, adapts) -> states, tuning, W (CHUNK, chains, n)`: `count` of them count."""
    tuned: Callable[[float], Any]
    """The state of the adaptation for a first length of steps."""


def sampler_of(density: Density) -> Sampler:
    """The sampler of a density; compiled once for problems that share their native code and their priors."""
    inner, c = density.inner, density.coordinates
    known = SAMPLERS.setdefault(inner.compiled, {})
    key = (inner.count, *(x.tobytes() for x in (c.low, c.high, c.mean, c.precision)))
    if key not in known:
        known[key] = _made(density)
    return known[key]


def _made(density: Density) -> Sampler:
    import blackjax  # an extra, loaded on demand
    from blackjax.adaptation.step_size import dual_averaging_adaptation

    log_density, kernel = log_density_of(density), blackjax.nuts.build_kernel()
    tuned, update, _ = dual_averaging_adaptation(ACCEPTED)
    mass = jnp.ones(density.size)

    def begin(W: jax.Array, frame: Frame) -> Any:
        return jax.vmap(lambda w: blackjax.nuts.init(w, lambda w: log_density(w, frame)))(W)

    def run(key: Any, state: Any, tuning: Any, frame: Frame, count: Any, adapts: Any) -> Any:
        chains, n = state.position.shape

        def move(k: Any, carry: Any) -> Any:
            state, tuning, kept = carry
            step = jnp.exp(jnp.where(adapts, tuning.log_step_size, tuning.log_step_size_avg))
            one = lambda key, state: kernel(key, state, lambda w: log_density(w, frame), step, mass)
            state, info = jax.vmap(one)(jax.random.split(jax.random.fold_in(key, k), chains), state)
            new = update(tuning, jnp.mean(info.acceptance_rate))
            tuning = jax.tree.map(lambda a, b: jnp.where(adapts, a, b), new, tuning)
            return state, tuning, kept.at[k].set(state.position)

        return jax.lax.fori_loop(0, count, move, (state, tuning, jnp.zeros((CHUNK, chains, n))))

    return Sampler(jax.jit(begin), jax.jit(run), lambda step: _arrays(tuned(step)))


def _arrays(tuning: Any) -> Any:
    """The state of an adaptation in types that its updates keep."""
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), tuning)


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
