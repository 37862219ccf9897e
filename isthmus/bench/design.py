"""How much a designed motion is worth: `python -m isthmus.bench.design`.

The arm of the library with seven joints, ten seconds, five harmonics: errors of the base parameters beside those of 200
random motions within the same limits (aim D), and the condition of the sensitivities (aim E); with and without the
bodies that must keep apart. Then fits by simulation: torques of a designed and of a random motion, with noise, and the
ratio of the rms errors that least squares really has, beside the ratio that was promised.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from typing import Any

import numpy as np

import isthmus as ist
from isthmus.bench.rows import Row
from isthmus.identify.torque.base_parameters import base_parameters
from isthmus.identify.torque.regressor import parameter_names, parameter_vector, regressor

FITS = 200
"""Simulated fits for each motion."""


def bare_arm() -> ist.Model:
    """The arm without shapes: nothing must keep apart."""
    none: dict[str, Any] = {
        "shape_names": (), "shape_kinds": (), "shape_links": (), "shape_spans": (),
        "shape_origin": np.zeros((0, 3)), "shape_orientation": np.zeros((0, 4)),
        "shape_size": np.zeros((0, 3)), "shape_points": np.zeros((0, 3)),
    }  # fmt: skip
    return dataclasses.replace(ist.library.arm(), **none)


def within(design: ist.Design) -> bool:
    """Whether all rows keep to all limits."""
    m, limits = design.motion, design.limits
    a = np.asarray(m.signals["joint/acceleration"])
    pairs = [(m.q - limits.middle, limits.half), (m.v, limits.velocity), (a, limits.acceleration)]
    return all(np.all(np.abs(x) <= y) for x, y in [*pairs, (design.torque, limits.torque)])


def rms_errors(model: ist.Model, motion: ist.Motion, rng: np.random.Generator) -> np.ndarray:
    """Rms errors of base parameters fitted to torques of a motion with noise of 1 N·m."""
    rows = [motion.q, motion.v, np.asarray(motion.signals["joint/acceleration"])]
    fn = ist.native.compile(lambda q, v, a: regressor(model, q, v, a), *(x[0] for x in rows))
    whole = fn.map(*rows)
    base = base_parameters(whole, parameter_names(model))
    W = whole.reshape(-1, whole.shape[-1])[:, list(base.own)]
    clean = np.asarray(ist.needed_torque(model, motion)).ravel()
    noisy = clean[:, None] + rng.standard_normal((len(clean), FITS))
    found = np.linalg.lstsq(W, noisy, rcond=None)[0]
    return np.sqrt(np.mean((found - base.of(parameter_vector(model))[:, None]) ** 2, axis=1))


def promised(model: ist.Model, design: ist.Design, seed: int) -> tuple[float, float]:
    """The ratio of errors of two designed motions, found by simulated fits and promised by their information."""
    short = ist.design(model, seconds=4.0, harmonics=3, starts=1, seed=seed)
    rng = np.random.default_rng(seed)
    found = rms_errors(model, design.motion, rng) / rms_errors(model, short.motion, rng)
    mean = lambda x: float(np.exp(np.mean(np.log(x))))
    return mean(found), mean(design.errors / short.errors)


def design(quick: bool) -> list[Row]:
    """Times of a design, as rows of `isthmus bench`."""
    began = time.process_time()
    ist.design(bare_arm(), starts=1 if quick else 8)
    return [
        Row("design for 43 numbers of 7 joints, compiling included", time.process_time() - began)
    ]


def main() -> None:
    """Prints all rows."""
    parser = argparse.ArgumentParser(prog="python -m isthmus.bench.design")
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    for name, model in (("no bodies", bare_arm()), ("bodies apart", ist.library.arm())):
        for aim in ("D", "E"):
            began = time.process_time()
            found = ist.design(model, aim=aim, seed=seed)
            print(
                f"7 joints, {name}, aim {aim}: errors {found.ratio:.2f} of the median random motion, condition "
                f"{found.condition:.1f} (random {np.median(found.random_conditions):.1f}), unscaled "
                f"{found.raw_condition:.0f}; within all limits: {within(found)}; "
                f"{time.process_time() - began:.0f} s of CPU time",
                flush=True,
            )
            if aim == "D":
                fits, said = promised(model, found, seed)
                print(
                    f"    errors of simulated fits beside another motion: {fits:.3f}, promised {said:.3f}"
                )


if __name__ == "__main__":
    main()
