"""`isthmus simulate`: a motion of a model, to a file and to a figure."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

import isthmus as ist
from isthmus.cli.models import Base, Contacts, Height, Packages, Pairs, Repair, load_model
from isthmus.cli.numbers import named_numbers, positive
from isthmus.cli.output import in_background, say, target, working
from isthmus.errors import BadOption

MAX_STEPS = 100_000_000
MAX_SUBSTEPS = 1000
"""Each one is compiled."""
SECONDS = 2.0
"""Where nothing else says how long."""
MAX_SHOWN = 6
"""Coordinates of the end state that are printed."""

Integrator = Literal["semi_implicit", "explicit_euler", "rk4"]


@dataclasses.dataclass(frozen=True)
class Simulate:
    """A motion of a model, in float64: to a file (.npz, .csv) and to a figure (.png, .svg, .pdf)."""

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """URDF or MJCF file, a saved model, the folder of a fit, or library:NAME."""
    seconds: Annotated[float | None, arg(metavar="S", help_behavior_hint="")] = None
    """How long [s]; 2, or as long as the control file."""
    dt: Annotated[float, arg(metavar="S")] = 1e-3
    """Time step [s]."""
    control: Annotated[str, arg(metavar="WHAT")] = "zero"
    """zero; numbers such as 1.5,-0.2 or elbow=1.5 (constant); sine:AMPLITUDE,HERTZ; chirp:AMPLITUDE,HERTZ,HERTZ, both
    with @JOINT to drive some joints only; or a .csv or .npz file with columns named as the joints."""
    q: Annotated[str, arg(metavar="NAME=NUMBER,…", help_behavior_hint="")] = ""
    """Positions at the start [rad, m], such as elbow=0.5,trunk.z=0.4 (joint or link); the others are neutral, free
    bodies on the ground, not in it."""
    v: Annotated[str, arg(metavar="NAME=NUMBER,…", help_behavior_hint="")] = ""
    """Velocities at the start [rad/s, m/s], such as elbow=1,trunk.vx=0.4; the others are zero."""
    out: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """Where to write: the motion's file (.npz or .csv), or a folder for motion.npz."""
    plot: Annotated[str, arg(metavar="PATH", help_behavior_hint="")] = ""
    """Where to draw positions and velocities over time: a file (.png, .svg or .pdf), or a folder for motion.png."""
    view: bool = False
    """Show the motion in the browser, as 'isthmus view' does."""
    record: Annotated[tuple[str, ...], arg(metavar="SIGNAL …", help_behavior_hint="")] = ()
    """Signals to write too, such as link/pose or joint/elbow/torque; 'isthmus info' lists them."""
    integrator: Integrator = "semi_implicit"
    """How time is stepped."""
    explicit: bool = False
    """Take joint friction and stops explicitly too."""
    substeps: Annotated[int, arg(metavar="N")] = 1
    """Parts of each step."""
    base: Base = "fixed"
    """Whether the root link of a URDF is welded to the world or moves freely."""
    ground: Height = None
    """Put a horizontal plane at this height [m], which the model touches."""
    contact: Contacts = ()
    """What touches the ground, and how: impulse, penalty, shapes or links such as '*_foot', or several of
    shapes=*_foot,kind=penalty,friction=0.9; unless given, links that carry no others, by impulses."""
    pair: Pairs = ()
    """Shapes that touch each other, by names or patterns: 'finger*+cube', or finger*+cube,kind=penalty,friction=0.9;
    '*+*' for all that may."""
    repair: Repair = "none"
    """nearest: replace impossible inertias by the nearest possible ones."""
    packages: Packages = ()
    """Folders in which meshes of a URDF (package://…) are looked for."""

    def run(self) -> int:
        """Simulates, writes, and says what it did."""
        import jax

        from isthmus.cli.controls import read_commands

        positive(self.dt, "--dt")
        if not 1 <= self.substeps <= MAX_SUBSTEPS:
            raise BadOption(f"--substeps must be from 1 to {MAX_SUBSTEPS}, not {self.substeps}.")
        files = self._targets()
        model = load_model(
            self.file, self.base, self.repair, self.ground, self.packages, self.contact, self.pair
        )
        commands = read_commands(self.control, model)
        steps = self._steps(commands)
        record = tuple(n.strip() for name in self.record for n in name.split(",") if n.strip())
        shown = tuple(n for n in self._drawn(model) if n not in record)
        _refuse_too_large(model, steps, (*record, *shown))
        began = time.perf_counter()
        with jax.enable_x64(True):
            state = _start(model, self.q, self.v)
            motion = self._simulate(model, state, commands, steps, (*record, *shown))
        wall = time.perf_counter() - began
        status = _report(model, motion, self.dt, wall, _conserves(model, commands))
        _write(model, _without(motion, shown), *files)
        if self.view:
            from isthmus.cli.viewing import view_files

            return view_files(model, motion, {"packages": self.packages, "measured": ""})
        return status

    def _simulate(
        self,
        model: ist.Model,
        state: ist.State,
        commands: Any,
        steps: int,
        record: tuple[str, ...],
    ) -> ist.Motion:
        from isthmus.cli.parts import PART, simulate_in_parts

        options: dict[str, Any] = {
            "integrator": self.integrator, "explicit": self.explicit, "substeps": self.substeps
        }  # fmt: skip
        with working(f"simulating {model.name}", steps if steps > PART else None) as progress:
            return simulate_in_parts(
                model, state, commands, self.dt, steps, record, progress, **options
            )

    def _drawn(self, model: ist.Model) -> tuple[str, ...]:
        """Signals that the viewer draws, so that it need not simulate to find them."""
        if not (self.view and model.contact_kinds):
            return ()
        from isthmus.scene.along import CONTACT

        return CONTACT

    def _targets(self) -> tuple[Path | None, Path | None]:
        """The files of motion and figure, refused before the work where they cannot be written."""
        from isthmus.disk import check_target
        from isthmus.figures import plot
        from isthmus.motion.files import KINDS

        data = target(self.out, "motion.npz") if self.out else None
        picture = target(self.plot, "motion.png") if self.plot else None
        for path, kinds in ((data, KINDS), (picture, plot.KINDS)):
            if path:
                check_target(path, kinds)
        return data, picture

    def _steps(self, commands: Any) -> int:
        """How many steps the options ask for."""
        own = commands.seconds(self.dt) if commands.seconds else None
        seconds = self.seconds if self.seconds is not None else own if own is not None else SECONDS
        positive(seconds, "--seconds")
        if own is not None and seconds > own + 0.5 * self.dt:
            raise BadOption(
                f"--seconds {seconds:g} is longer than {self.control!r}, which ends after {own:g} s."
            )
        if seconds / self.dt > MAX_STEPS:
            raise BadOption(
                f"{seconds:g} s in steps of {self.dt:g} s are {seconds / self.dt:.3g} steps; at most {MAX_STEPS:g} "
                f"can be simulated."
            )
        steps = round(seconds / self.dt)
        if steps < 1:
            raise BadOption(f"--seconds {seconds:g} is shorter than one step of {self.dt:g} s.")
        return steps


def _without(motion: ist.Motion, names: Collection[str]) -> ist.Motion:
    kept = {name: x for name, x in motion.signals.items() if name not in names}
    return dataclasses.replace(motion, signals=kept)


def _write(model: ist.Model, motion: ist.Motion, data: Path | None, picture: Path | None) -> None:
    if data:
        from isthmus.motion.files import save_motion_file

        save_motion_file(model, motion, data)
    if picture:
        from isthmus.figures.plot import plot_motion, save_figure

        save_figure(plot_motion(model, motion), picture)
    if written := " and ".join(str(path) for path in (data, picture) if path):
        print(f"wrote {written}")


def _start(model: ist.Model, q: str, v: str) -> ist.State:
    """The neutral state, but for what the options say; quaternions are brought to unit length.

    Free bodies stand on the ground if the neutral position has them in it and no option says where they are.
    """
    import numpy as np

    from isthmus.model.coordinates import normalise
    from isthmus.motion.files import coordinate_names, dof_names
    from isthmus.simulate.standing import on_the_ground

    neutral = ist.State.neutral(model)
    names_q, names_v = coordinate_names(model), dof_names(model)
    start_q, start_v = np.array(neutral.q), np.array(neutral.v)
    given = named_numbers(q, names_q, "--q", _by_link(model, names_q))
    for name, value in given.items():
        start_q[names_q.index(name)] = value
    for name, value in named_numbers(v, names_v, "--v", _by_link(model, names_v)).items():
        start_v[names_v.index(name)] = value
    unit = np.asarray(normalise(model, start_q))
    if not np.all(np.isfinite(unit)):
        raise BadOption("--q: a quaternion cannot be zero.")
    placed = [i for i, joint in enumerate(model.joint_names) if f"{joint}.z" in given]
    return ist.State(on_the_ground(model, unit, placed), start_v, neutral.memory)


def _by_link(model: ist.Model, names: list[str]) -> dict[str, str]:
    """`trunk.z` -> `root_joint.z`: names by the link that a joint carries, where no joint is called so."""
    joints = dict(zip(model.joint_names, model.link_names, strict=True))
    parts = (name.rpartition(".") for name in names if name not in joints)
    return {
        f"{joints[joint]}.{part}": f"{joint}.{part}"
        for joint, _, part in parts
        if joints[joint] not in joints
    }


def _refuse_too_large(model: ist.Model, steps: int, record: tuple[str, ...]) -> None:
    """Refuses a motion that does not fit into half of the memory."""
    import numpy as np

    from isthmus.networks.names import select, shape_of, signals_of

    specs = {spec.name: spec for spec in signals_of(model)}
    chosen = [shape_of(model, specs[select(model, name).name]) for name in record]
    width = 1 + model.nq + 2 * model.dof + sum(int(np.prod(shape)) for shape in chosen)
    needed = 2 * 8 * width * steps  # parts, and the whole
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return
    if needed > memory / 2:
        raise BadOption(
            f"{steps} steps need {needed / 2**30:.1f} GiB of memory; simulate a shorter time."
        )


# what it says --------------------------------------------------------------------------------------------


def _conserves(model: ist.Model, commands: Any) -> bool:
    """Whether energy is conserved, apart from joint limits."""
    losses = (model.joint_damping, model.joint_friction, model.joint_stiction)
    return commands.zero and not (
        any(x.any() for x in losses)
        or model.prescribed
        or model.position_controlled
        or model.biased
        or model.networks
        or model.contact_kinds
    )


def _report_contacts(model: ist.Model) -> None:
    """Prints how many points may touch the ground, and how many pairs of shapes each other."""
    from isthmus.phases import counted

    ground = [model.shape_kinds[other] == "plane" for other in model.contact_planes]
    if points := sum(ground):
        shapes = {s for s, on_plane in zip(model.contact_shapes, ground, strict=True) if on_plane}
        print(f"{counted(points, 'point')} of {counted(len(shapes), 'shape')} may touch the ground")
    both = zip(model.contact_shapes, model.contact_planes, ground, strict=True)
    if pairs := {(first, second) for first, second, on_plane in both if not on_plane}:
        print(f"{counted(len(pairs), 'pair')} of shapes may touch each other")


def _report(model: ist.Model, motion: ist.Motion, dt: float, wall: float, conserves: bool) -> int:
    """Prints two lines; returns exit status 1 where the motion is not finite."""
    import jax
    import numpy as np

    from isthmus.dynamics.energy import energy

    steps = len(motion) - 1
    print(f"simulated {model.name}: {steps} steps of {dt:g} s in {wall:.2f} s, compiling included")
    _report_contacts(model)
    finite = np.all(np.isfinite(motion.q), axis=1) & np.all(np.isfinite(motion.v), axis=1)
    if not finite.all():
        lost = float(motion.t[int(np.argmin(finite))])
        say(
            f"the motion is not finite from t = {lost:g} s on; shorten --dt, or look at the model and --control."
        )
        return 1
    ends = (motion.q[[0, -1]], motion.v[[0, -1]])
    first, last = in_background(
        lambda: np.asarray(jax.jit(jax.vmap(lambda q, v: energy(model, q, v)))(*ends))
    )
    what = "drift" if conserves else "change"
    change = f"energy {last:.6g} J, {what} {last - first:+.2g} J"
    print(f"at t = {motion.t[-1]:g} s: {_positions(model, motion.q[-1])}; {change}")
    return 0


def _positions(model: ist.Model, q: Any) -> str:
    from isthmus.motion.files import coordinate_names

    shown = [
        f"{name} = {value:.4g}" for name, value in zip(coordinate_names(model), q, strict=True)
    ]
    more = f" and {len(shown) - MAX_SHOWN} more" if len(shown) > MAX_SHOWN else ""
    return ", ".join(shown[:MAX_SHOWN]) + more if shown else "nothing moves"
