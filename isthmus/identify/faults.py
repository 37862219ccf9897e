"""Everything that is wrong with the logs of a problem, said before anything is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isthmus.errors import BadLog

if TYPE_CHECKING:
    from isthmus.identify.problem import Problem


def check_logs(problem: Problem) -> None:
    """Refuses logs that cannot be fitted."""
    if not problem.runs[0]:
        raise BadLog("there is no motion to fit: give motions=.")
