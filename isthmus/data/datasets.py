"""Published recordings as motions in our conventions, each with its licence and citation.

Nothing is downloaded: `ist.read_motion(path, dataset="NAME")` takes the files that you have, in the published format
or gathered in an NPZ file. "Ragged" NPZ files hold one long array, `offsets` (run `i` is rows `offsets[i]` to
`offsets[i + 1]`) and `ids` (the run's number in the original).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from isthmus.data import datasets_arms, datasets_bodies, datasets_pendulums, datasets_push
from isthmus.data.options import Options
from isthmus.errors import BadFile, BadOption, did_you_mean
from isthmus.model.model import Model
from isthmus.motion.motion import Motion


@dataclasses.dataclass(frozen=True)
class DataSet:
    """A published set of recordings."""

    title: str
    licence: str
    citation: str
    model: str
    """The model of our library whose joints the motions have."""
    read: Callable[[Path, Options], list[Motion]]

    def __str__(self) -> str:
        return f"{self.title}. {self.citation} Licence: {self.licence}. Joints as in {self.model}."


DATASETS: dict[str, DataSet] = {
    "ibm_double_pendulum": DataSet(
        "A real double pendulum, filmed",
        "CDLA-Sharing-1.0",
        "A. Asseman, T. Kornuta, A. Ozcan, Learning beyond simulated physics, 2018.",
        "library.pendulum(2, lengths=(0.091, 0.070))",
        datasets_pendulums.ibm_double_pendulum,
    ),
    "dfki_double_pendulum": DataSet(
        "A torque-driven double pendulum in three designs",
        "BSD-3-Clause",
        "F. Wiebe et al., Open-source dual-purpose acrobot and pendubot platform, IEEE Robotics & Automation Magazine, "
        "2023.",
        "library.pendulum(2)",
        datasets_pendulums.dfki_double_pendulum,
    ),
    "flobaroid_arm": DataSet(
        "Exciting trajectories of a KUKA LWR4+ with measured joint torques",
        "LGPL-3.0",
        "S. Bethge, J. Malzahn, N. Tsagarakis, D. Caldwell, FloBaRoID: a software package for the identification of "
        "robot dynamics parameters, RAAD 2017.",
        "the URDF file that comes with it: joints lwr_0_joint …",
        datasets_arms.flobaroid_arm,
    ),
    "mit_push": DataSet(
        "A robot pushes objects on a table",
        "not stated with the data: ask its authors before passing it on",
        "K.-T. Yu, M. Bauza, N. Fazeli, A. Rodriguez, More than a million ways to be pushed, IROS 2016.",
        "library.pusher()",
        datasets_push.mit_push,
    ),
    "contactnets_cube": DataSet(
        "A cube tossed on a table",
        "BSD-3-Clause",
        "S. Pfrommer, M. Halm, M. Posa, ContactNets: learning discontinuous contact dynamics with smooth, implicit "
        "representations, CoRL 2020.",
        "library.cube()",
        datasets_bodies.contactnets_cube,
    ),
    "dairpll_elbow": DataSet(
        "Two boxes joined by a free hinge, tossed",
        "BSD-3-Clause",
        "B. Bianchini, M. Halm, M. Posa, Simultaneous learning of contact and continuous dynamics, CoRL 2023.",
        "a free joint 'flight' and a hinge 'hinge'",
        datasets_bodies.dairpll_elbow,
    ),
    "swimmer_mujoco": DataSet(
        "A swimmer of three links in a fluid, simulated in MuJoCo",
        "simulated; the model is that of dm_control, Apache-2.0",
        "Y. Tassa et al., DeepMind Control Suite, 2018; E. Todorov, T. Erez, Y. Tassa, MuJoCo, IROS 2012.",
        "library.swimmer(3), or the MJCF file with its joints rootx, rooty, rootz",
        datasets_bodies.swimmer_mujoco,
    ),
}  # fmt: skip
"""The data sets that we know how to read."""


def read_dataset(path: Path, name: str, model: Model | None, options: Options) -> list[Motion]:
    """All runs of a file or folder of a data set; brought into the order of `model`, if there is one."""
    if name not in DATASETS:
        raise BadOption(f"no data set is called {name!r}.{did_you_mean(name, DATASETS)}")
    try:
        motions = DATASETS[name].read(path, options)
    except (KeyError, IndexError) as failed:
        raise BadFile(
            f"{str(path)!r} is not in the format of {name!r}: it lacks {failed}."
        ) from None
    if model is not None:
        motions = [datasets_bodies.renamed(motion, model).matched(model) for motion in motions]
    return motions
