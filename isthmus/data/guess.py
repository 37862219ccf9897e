"""What the columns of logs are, as far as their names say it: the `columns` of a study that is begun."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from isthmus.data.match import matching
from isthmus.data.missing import Match, address_of, without_column
from isthmus.data.names import Dictionary, Target
from isthmus.data.options import Options
from isthmus.data.tables import read_tables
from isthmus.model.model import Model
from isthmus.motion.match import BY_DOF
from isthmus.motion.spans import joints_of


@dataclasses.dataclass(frozen=True)
class Guess:
    """The columns that all logs have."""

    columns: dict[str, str]
    """Column -> address, with the unit that its name says: `joint/position[elbow] [deg]`."""
    unknown: tuple[str, ...]
    """Columns whose names say nothing, or the same as another one."""
    missing: tuple[str, ...]
    """Addresses that have no column."""


def guess(files: Sequence[Path], model: Model) -> Guess:
    """What each column of these logs of `model` is; no file is refused for its columns."""
    options, words = Options(), Dictionary(joints_of(model), model)
    found = [
        matching(table.columns, words, table.source, options)
        for file in files
        for table in read_tables(file, options)
    ]
    each = [_addresses(match) for match in found]
    common = {k: v for k, v in each[0].items() if all(k in other for other in each)} if each else {}
    missing = dict.fromkeys(_missing(match) for match in found)
    return Guess(
        {column: address for column, address in common.items() if address},
        tuple(column for column, address in common.items() if not address),
        tuple(dict.fromkeys(address for some in missing for address in some)),
    )


def _addresses(found: Match) -> dict[str, str]:
    """The address of every column; empty where it is not known, or where an earlier column has the same."""
    addresses = dict.fromkeys([*found.targets, *found.extra], "")
    taken: set[Target] = set()
    for column, target in found.targets.items():
        if target not in taken:
            unit = f" [{found.said[column]}]" if column in found.said else ""
            addresses[column] = f"{_address(found, column, target)}{unit}"
        taken.add(target)
    return addresses


def _address(found: Match, column: str, target: Target) -> str:
    if target.key in ("q", "v", *BY_DOF):
        return address_of(found.joints, target)
    return "t" if target.key == "t" else column


def _missing(found: Match) -> tuple[str, ...]:
    time = () if Target("t") in found.targets.values() else ("t",)
    return (*time, *(address_of(found.joints, target) for target in without_column(found)))
