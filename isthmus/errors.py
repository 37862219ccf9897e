"""Every deliberate exception and warning of isthmus, each with a stable code.

All exceptions derive from `IsthmusError`; where a built-in class fits (`ValueError`, `KeyError`…) they derive
from that too, so that ordinary `except` clauses work. `docs/errors.md` explains each code.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable, Sequence

MOST_FAULTS = 20
"""How many faults a message lists."""
LONGEST_FAULT = 1000
"""Letters of one line of a message."""
MOST_NAMES = 2000
"""Names among which the nearest one is looked for."""
LONGEST_WORD = 500
"""Letters of a word, such as a path, in a message."""


class IsthmusError(Exception):
    """What every deliberate exception of isthmus derives from."""

    code = "IST000"

    @property
    def message(self) -> str:
        """What the error says, without its code; the middle of a very long line is left out."""
        return "\n".join(map(shortened, str(self.args[0]).split("\n"))) if self.args else ""

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


# input: texts, files, recorded motion --------------------------------------------------------------------


class BadInput(IsthmusError, ValueError):
    """A text or table with faults; the first 20 are listed at once.

    `faults` has all of them one by one; `source` names the file, "" where there is none.
    """

    code = "IST100"

    def __init__(self, faults: str | Sequence[str], source: str = "") -> None:
        self.faults: tuple[str, ...] = (faults,) if isinstance(faults, str) else tuple(faults)
        self.source = source
        where = f"{source}: " if source else ""
        if len(self.faults) == 1:
            text = where + self.faults[0]
        else:
            rows = "\n".join(f"  - {fault}" for fault in self.listed())
            text = f"{where}{len(self.faults)} faults:\n{rows}"
        super().__init__(text)

    def listed(self) -> list[str]:
        """The faults that a message has room for, and how many more there are."""
        return first_of([shortened(fault) for fault in self.faults])


class BadDescription(BadInput):
    """A description (URDF, MJCF, Builder) that makes no mechanism."""

    code = "IST101"


class BadBlueprint(BadInput):
    """The text of a blueprint that makes no blueprint."""

    code = "IST303"


class BadStudy(BadInput):
    """A study file that makes no fit: unknown keys, values of another kind, names that the robot does not have."""

    code = "IST604"


class BadFile(IsthmusError, ValueError):
    """A file that is missing, empty, of the wrong kind or cut off."""

    code = "IST102"


class MissingFile(BadFile, FileNotFoundError):
    """A file that is not there."""

    code = "IST103"


class BadStore(BadFile):
    """A file of records that a run cannot continue: of another run, damaged or in use."""

    code = "IST801"


class BadMotion(IsthmusError, ValueError):
    """A motion that does not fit its robot, or that holds too little or too odd numbers for what was asked."""

    code = "IST104"


class BadLog(BadMotion):
    """A recorded motion that cannot be fitted: it does not match the robot, is too short, constant, in other units."""

    code = "IST602"


# models, names, arguments --------------------------------------------------------------------------------


class BadModel(IsthmusError, ValueError):
    """Numbers or names that do not make a model."""

    code = "IST201"


class BadShape(IsthmusError, ValueError):
    """An array whose shape does not fit the model."""

    code = "IST203"


class BadOption(IsthmusError, ValueError):
    """An option with a value that does not exist, or that does not go with the others."""

    code = "IST204"


class BadArgument(BadOption, TypeError):
    """An argument of another kind than the function takes, a missing one, or one that it does not have."""

    code = "IST205"


class UnknownName(IsthmusError, KeyError):
    """A link, joint, point, leaf or signal that the model does not have."""

    code = "IST202"


class UnknownSignal(UnknownName):
    """A signal that no step publishes."""

    code = "IST301"


class BadWiring(IsthmusError, ValueError):
    """A wire or blueprint that cannot be attached to this model; says which and why."""

    code = "IST302"


# fitting -------------------------------------------------------------------------------------------------


class BadFree(IsthmusError, ValueError):
    """A free number that does not exist, is free twice, or has bounds that leave nothing."""

    code = "IST601"


class BadStart(IsthmusError, ValueError):
    """A search that cannot begin: the simulation of the start values gives no finite loss."""

    code = "IST603"


# what cannot be done -------------------------------------------------------------------------------------


class MissingExtra(IsthmusError, ImportError):
    """An optional library that is not installed; says which extra brings it."""

    code = "IST401"

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}: pip install 'isthmus[{extra}]'.")


class NotTranslatable(IsthmusError, NotImplementedError):
    """An operation that native code does not know; names it and the line of user code it came from."""

    code = "IST501"

    def __init__(self, primitive: str, where: str = "", reason: str = "") -> None:
        self.primitive = primitive
        self.where = where
        place = f", used at {where}" if where else ""
        why = f": {reason}" if reason else ""
        super().__init__(
            f"native code cannot express {primitive!r}{place}{why}. "
            "Write it otherwise, or compile with fallback='xla'."
        )


class NotExpressible(IsthmusError, ValueError):
    """A model that a file format cannot express at all; says why, and what to do."""

    code = "IST701"

    def __init__(self, format: str, reasons: Sequence[str], remedy: str) -> None:
        self.reasons = tuple(reasons)
        super().__init__(f"{format} cannot express this model: {'; '.join(reasons)}. {remedy}")


class JobFailed(IsthmusError, RuntimeError):
    """A job raised an exception in another process."""

    code = "IST802"


class WorkerDied(IsthmusError, RuntimeError):
    """Worker processes died again and again."""

    code = "IST803"


# warnings ------------------------------------------------------------------------------------------------


class IsthmusWarning(UserWarning):
    """What every deliberate warning of isthmus derives from."""


class DescriptionWarning(IsthmusWarning):
    """A description that loads, but says something a physicist would not."""


class DataWarning(IsthmusWarning):
    """A log that can be read, but in which something is doubtful; all of it is listed at once."""


class ExportWarning(IsthmusWarning):
    """A file that does not hold all of the model it was written from."""


class StepWarning(IsthmusWarning):
    """A time step that is too long for the scheme and the model."""


class FitWarning(IsthmusWarning):
    """A fit whose result is uncertain: a parameter at its bound, poorly identifiable or not determined."""


class FallbackWarning(IsthmusWarning):
    """A function that was to be native code runs under XLA instead."""


def warn_renamed(old: str, new: str) -> None:
    """Warns the caller's caller that `old` is now called `new`."""
    text = f"{old} is now {new}; the old name will be removed in version 0.3."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def first_of(items: Sequence[str]) -> list[str]:
    """As many items as a message has room for, and how many more there are."""
    more = len(items) - MOST_FAULTS
    return [*items[:MOST_FAULTS], f"and {more} more"] if more > 0 else [*items]


def shortened(text: str, longest: int = LONGEST_FAULT) -> str:
    """The text without the middle of very long words, and without its own beyond `longest` letters."""
    if len(text) <= min(longest, LONGEST_WORD):
        return text
    text = re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: f"{word[0][:200]}…{word[0][-100:]}", text)
    end = longest // 3
    return text if len(text) <= longest else f"{text[: longest - end - 3]} … {text[-end:]}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or what there is, or nothing; to be put behind a sentence."""
    known = list(known)
    if len(name) > LONGEST_FAULT or len(known) > MOST_NAMES:
        return ""
    if close := difflib.get_close_matches(name, known, n=1, cutoff=0.6):
        return f" Did you mean {close[0]!r}?"
    return f" There are {', '.join(map(repr, known))}." if 0 < len(known) <= 12 else ""
