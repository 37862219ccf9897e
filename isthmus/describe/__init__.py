"""Robot files and Python code -> a `Description`: plain records of links, joints, shapes and actuators.

`description.py` has the records and is the place to start; `urdf.py` and `mjcf.py` read files, `checks.py`
has every rule of a sound description, and `notes.py` collects faults and warnings, so that a reader can
report all of them at once.
"""

from typing import TYPE_CHECKING

from isthmus.later import at_first_use

if TYPE_CHECKING:
    from isthmus.describe.mjcf import parse_mjcf, read_mjcf
    from isthmus.describe.urdf import parse_urdf, read_urdf

__all__ = ["parse_mjcf", "parse_urdf", "read_mjcf", "read_urdf"]

__getattr__ = at_first_use(__name__, {name: name.rpartition("_")[2] for name in __all__})
