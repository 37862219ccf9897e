"""What a target offers: its form of a program, the text of it, and, where it runs here, code that can be called."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable

from isthmus.native.ir.program import Program


@dataclasses.dataclass(frozen=True)
class Loaded:
    """Functions of loaded machine code; `keep` holds what must live as long as they do."""

    single: Callable[[int, int, int], None]
    """(inputs, outputs, scratch): one world, by the addresses of its flat arrays."""
    map: Callable[..., None]
    """(first, last, inputs …, outputs …, scratch, rows): worlds `first` to `last` of a caller's arrays."""
    handler: int
    """Address of the function that XLA calls."""
    keep: object


class AbstractTarget(abc.ABC):
    """A language that programs can be written in."""

    @abc.abstractmethod
    def prepare(self, pruned: Program) -> Program:
        """The program in the form that this target writes, from one in which nothing is left to prune."""

    @abc.abstractmethod
    def text(self, program: Program, lanes: int = 1, shared: frozenset[int] = frozenset()) -> str:
        """A prepared program as text, for so many worlds side by side; equal programs give equal text.

        `shared`: positions of inputs that are the same in all lanes of a block.
        """


class AbstractMachine(AbstractTarget):
    """A target whose code runs in this process."""

    @abc.abstractmethod
    def lanes(self, width: int) -> int:
        """Worlds that run side by side, with numbers of `width` bits."""

    @abc.abstractmethod
    def fuses(self) -> bool:
        """`prepare` joins products with the sums that they feed."""

    @abc.abstractmethod
    def toolchain(self) -> tuple[str, ...]:
        """What decides, beside our own sources, which text a function becomes and which code a text becomes."""

    @abc.abstractmethod
    def effort(self, text: str, lanes: int, brief: bool) -> str:
        """How `text` is compiled; `brief`: the code will run so rarely that compiling costs more."""

    @abc.abstractmethod
    def build(self, text: str, lanes: int, brief: bool) -> bytes:
        """`text` as machine code that can be kept on disk."""

    @abc.abstractmethod
    def load(self, image: bytes) -> Loaded:
        """What `build` made, ready to be called; `RuntimeError` where it cannot be used."""
