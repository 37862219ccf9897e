"""`SourceFile`: the text that a model was read from, which travels with the model and is no part of what it is."""

from __future__ import annotations

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True)
class SourceFile:
    """The file of a model, for `export_urdf` and `export_mjcf`, which keep what they do not change.

    All of them are equal: no trace, cache or comparison of models depends on a text. A function under `jax.jit` that
    returns a model therefore gives it the text of the model that it was traced with.
    """

    text: bytes = dataclasses.field(default=b"", compare=False, repr=False)
    """Content of the file; empty: the model came from none."""
    format: Literal["", "urdf", "mjcf"] = dataclasses.field(default="", compare=False, repr=False)
    base: str = dataclasses.field(default="fixed", compare=False, repr=False)
    """Whether the root was welded to the world or free, as `ist.load` was told."""
    folder: str = dataclasses.field(default="", compare=False, repr=False)
    """Where the file stood, for its meshes; `ist.save` does not keep it."""
    packages: tuple[str, ...] = dataclasses.field(default=(), compare=False, repr=False)
    """Folders in which its `package://` paths are looked for; `ist.save` does not keep them."""
