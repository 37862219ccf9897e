"""`Mixture`: a mixture of normals learned through the simulator, as data arrive (Heiden et al. 2019, *Real2Sim*, IV).

A sample of the numbers is `θ = Σ_k y_k (μ_k + σ_k ε_k)` with `y = softmax((log π + g) / τ)` and Gumbel noise `g`: a
relaxed choice of one kernel, through which the derivatives of the loss reach weights, means and widths. Adam lowers the
mean loss of such samples. Nothing in that loss asks for the width that the data leave open, so that the kernels are no
posterior: `ist.Laplace` beside it says how much wider or narrower they are.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from isthmus.entry import check_arguments
from isthmus.errors import BadFree, BadOption
from isthmus.losses.windows import whole_number
from isthmus.phases import phase
from isthmus.posteriors.coordinates import Coordinates, Points
from isthmus.posteriors.density import Density, Mode
from isthmus.posteriors.method import AbstractMethod, Asked, Draws
from isthmus.posteriors.smc import without_prior

DECAY, SECOND, SMALL = 0.9, 0.999, 1e-8
"""Of Adam, as published."""
SPREAD = 0.1
"""Width of kernels at the start, as a share of the box, or in standard deviations of the prior."""
EVERY = 25
"""Epochs after which the kernels are reported."""


@check_arguments
@dataclasses.dataclass(frozen=True)
class Mixture(AbstractMethod):
    """The paper's mixture of `kernels` normals, chosen between by Gumbel-softmax at `temperature`.

    `rate`: of Adam, in the scaled units of a search; `epochs`: steps of Adam; `arrived`: the epoch from which on all
    windows have arrived, the first of them at epoch 0; `batch`: samples in each epoch; `samples`: drawn at the end.
    """

    kernels: int = 3
    temperature: float = 2.0 / 3.0
    rate: float = dataclasses.field(default=0.02, kw_only=True)
    epochs: int = dataclasses.field(default=400, kw_only=True)
    arrived: int = dataclasses.field(default=0, kw_only=True)
    batch: int = dataclasses.field(default=16, kw_only=True)
    samples: int = dataclasses.field(default=1000, kw_only=True)
    seed: int = dataclasses.field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("kernels", "epochs", "batch", "samples"):
            whole_number(name, getattr(self, name))
        whole_number("seed", self.seed, 0)
        if not 0.0 < self.temperature < np.inf or not 0.0 < self.rate < np.inf or self.arrived < 0:
            raise BadOption("Mixture needs a temperature and a rate above 0, and arrived from 0.")

    def run(self, asked: Asked) -> Draws:
        if names := without_prior(asked.density):
            raise BadFree(
                f"Mixture begins with kernels all over the prior, and {', '.join(names)} "
                f"{'has' if len(names) == 1 else 'have'} neither a prior nor two bounds."
            )
        learning = Learning.of(asked, self)
        complete = True
        try:
            while learning.epoch < self.epochs:
                with phase(f"epoch {learning.epoch} of {self.epochs}"):
                    learning.advance()
                if learning.epoch % EVERY == 0:
                    asked.tell(learning.draws(complete=False))
        except KeyboardInterrupt:
            complete = False
        return learning.draws(complete=complete)


@dataclasses.dataclass
class Kernels:
    """Logits of the weights, means and logs of the widths, in the coordinates of a search."""

    logits: Float[np.ndarray, " kernels"]
    mean: Float[np.ndarray, "kernels n"]
    log_width: Float[np.ndarray, "kernels n"]

    @property
    def weight(self) -> Float[np.ndarray, " kernels"]:
        """Share of each kernel."""
        return _softmax(self.logits[None])[0]

    @property
    def centre(self) -> Float[np.ndarray, " n"]:
        """Mean of the mixture."""
        return self.weight @ self.mean

    def flat(self) -> np.ndarray:
        """All numbers in a row."""
        return np.concatenate([self.logits, self.mean.ravel(), self.log_width.ravel()])

    def like(self, flat: np.ndarray) -> Kernels:
        """Kernels of the same shapes."""
        k, n = self.mean.shape
        mean, width = flat[k : k + k * n], flat[k + k * n :]
        return Kernels(flat[:k], mean.reshape(k, n), width.reshape(k, n))


class Learning:
    """Kernels, and where Adam stands."""

    def __init__(self, density: Density, kernels: Kernels, method: Mixture) -> None:
        self.density, self.kernels, self.method = density, kernels, method
        self.epoch, size = 0, kernels.flat().size
        self.first, self.second = np.zeros(size), np.zeros(size)
        self.history: list[np.ndarray] = []
        """Mean of the mixture after each epoch."""

    @staticmethod
    def of(asked: Asked, method: Mixture) -> Learning:
        """Kernels all over the prior, or those of an earlier run."""
        c, rng = asked.density.coordinates, np.random.default_rng([method.seed, 6])
        mean = c.to_x(0.7 * rng.standard_normal((method.kernels, asked.density.size)))[0]
        width = np.tile(np.log(SPREAD * sizes(c)), (method.kernels, 1))
        found = Learning(asked.density, Kernels(np.zeros(method.kernels), mean, width), method)
        if "kernels" in asked.state:
            if asked.state["kernels"].size != found.first.size:
                raise BadOption("the posterior to resume has other kernels.")
            found.kernels = found.kernels.like(asked.state["kernels"])
            found.first, found.second = asked.state["first"], asked.state["second"]
            found.epoch = int(asked.state["epoch"])
        return found

    def windows(self) -> np.ndarray | None:
        """The windows that have arrived; None: all."""
        count, method = self.density.inner.count, self.method
        if self.epoch >= method.arrived:
            return None
        return np.arange(max(1, int(np.ceil(count * (self.epoch + 1) / method.arrived))))

    def advance(self) -> None:
        """One epoch: samples, the gradient of their mean loss, a step of Adam."""
        method, kernels, c = self.method, self.kernels, self.density.coordinates
        rng = np.random.default_rng([method.seed, 7, self.epoch])
        shape = (method.batch, *kernels.mean.shape)
        gumbel, normal = rng.gumbel(size=shape[:2]), rng.standard_normal(shape)
        y = _softmax((np.log(kernels.weight) + gumbel) / method.temperature)
        each = kernels.mean + np.exp(kernels.log_width) * normal  # (batch, kernels, n)
        X = np.einsum("bk,bkn->bn", y, each)
        inside = np.clip(X, c.low, c.high)
        cost, slope = self.density.inner.gradient(inside, self.windows())
        good = np.isfinite(cost) & np.isfinite(slope).all(axis=1)
        slope = np.where(good[:, None], slope, 0.0) / max(int(good.sum()), 1)
        slope = np.where((inside == X) | ((X - inside) * slope > 0.0), slope, 0.0)
        by_each = y[..., None] * slope[:, None]
        by_y = np.einsum("bkn,bn->bk", each, slope)
        by_logits = y * (by_y - (y * by_y).sum(axis=1, keepdims=True)) / method.temperature
        gradient = np.concatenate([
            by_logits.sum(axis=0), by_each.sum(axis=0).ravel(),
            (by_each * np.exp(kernels.log_width) * normal).sum(axis=0).ravel(),
        ])  # fmt: skip
        self._step(gradient)
        self.history.append(self.kernels.centre.copy())

    def _step(self, gradient: np.ndarray) -> None:
        """One step of Adam."""
        self.epoch += 1
        self.first = DECAY * self.first + (1.0 - DECAY) * gradient
        self.second = SECOND * self.second + (1.0 - SECOND) * np.square(gradient)
        first = self.first / (1.0 - DECAY**self.epoch)
        second = self.second / (1.0 - SECOND**self.epoch)
        c, step = self.density.coordinates, self.method.rate * first / (np.sqrt(second) + SMALL)
        kernels = self.kernels.like(self.kernels.flat() - step)
        self.kernels = dataclasses.replace(kernels, mean=np.clip(kernels.mean, c.low, c.high))

    def draws(self, *, complete: bool) -> Draws:
        """Samples of the mixture, inside the bounds."""
        kernels, c, rng = (
            self.kernels,
            self.density.coordinates,
            np.random.default_rng([self.method.seed, 8]),
        )
        chosen = rng.choice(len(kernels.weight), self.method.samples, p=kernels.weight)
        normal = rng.standard_normal((self.method.samples, self.density.size))
        X = np.clip(
            kernels.mean[chosen] + np.exp(kernels.log_width[chosen]) * normal, c.low, c.high
        )
        state: dict[str, Any] = {
            "kernels": kernels.flat(), "first": self.first, "second": self.second, "epoch": np.array(self.epoch),
            "history": np.array(self.history).reshape(-1, self.density.size),
        }  # fmt: skip
        note = (
            "the widths of a learned mixture are no posterior: nothing in its loss asks for them."
        )
        modes = _modes(self.density, c, kernels)
        effective = float(self.method.samples)
        return Draws(c.to_u(X), modes, kernels.weight, np.nan, effective, (note,), complete, state)


def sizes(c: Coordinates) -> Float[np.ndarray, " n"]:
    """Widths of boxes, or standard deviations of priors."""
    box = np.where(c.box, c.high, 1.0) - np.where(c.box, c.low, 0.0)
    return np.where(c.normal, 1.0 / np.sqrt(np.where(c.normal, c.precision, 1.0)), box)


def _modes(density: Density, c: Coordinates, kernels: Kernels) -> list[Mode]:
    U: Points = c.to_u(kernels.mean)
    return [Mode(u, float("nan"), np.eye(density.size)) for u in U]


def _softmax(x: np.ndarray) -> np.ndarray:
    y = np.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)
