"""The work of `isthmus track`, behind its arguments. Loads the array libraries."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
from rich.text import Text

from isthmus.cli.models import load_model
from isthmus.cli.numbers import named_or_number
from isthmus.cli.output import in_background, say, show, working
from isthmus.cli.track import PICTURE, TABLE, Track
from isthmus.data.read import read_motion
from isthmus.disk import made_folder
from isthmus.errors import BadLog
from isthmus.figures.plot import save_figure
from isthmus.identify.logs.log import read
from isthmus.identify.parameters.free import as_frees
from isthmus.motion.motion import Motion
from isthmus.tracking.noise import estimated_noise
from isthmus.tracking.setup import usual_drift
from isthmus.tracking.tracker import Tracker


def track_log(given: Track, folder: Path) -> int:
    """Follows numbers along a log; returns the exit status, 1 where an estimate is not finite."""
    model = load_model(given.files[0], given.base)
    motion = read_motion(given.files[1], model)
    if not isinstance(motion, Motion):
        raise BadLog(f"{given.files[1]!r} holds several runs; give one file at a time.")
    log = read(model, motion, given.files[1])
    if not jax.tree.leaves(log.control):
        say("the log has no commands (joint/control), so that no motor acts in the model.")
    noise = named_or_number("--noise", given.noise)
    if noise is None:
        noise = estimated_noise(model, log)
        told = ", ".join(f"{name} {float(np.median(x)):.2g}" for name, x in noise.items())
        say(f"the noise is estimated from the log: {told}; --noise gives it.")
    free = as_frees(given.free)
    drift = named_or_number("--drift", given.drift) or usual_drift(model, free, noise)
    tracker = Tracker(model, free, noise, drift, log.dt, given.alarm, integrator=given.integrator)
    with working("tracking"):
        track = in_background(lambda: tracker.run(motion))
    made_folder(str(folder))
    track.save(folder / TABLE)
    save_figure(track.plot(), folder / PICTURE)
    show(*map(Text, str(track).splitlines()))
    print(f"wrote {folder}: {TABLE}, {PICTURE}")
    return 0 if np.isfinite(track.values).all() else 1
