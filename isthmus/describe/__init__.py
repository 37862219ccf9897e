"""Text or code to description: plain Python."""

from isthmus.describe.mjcf import parse_mjcf, read_mjcf
from isthmus.describe.urdf import parse_urdf, read_urdf

__all__ = ["parse_mjcf", "parse_urdf", "read_mjcf", "read_urdf"]
