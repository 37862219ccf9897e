"""`isthmus doctor`: what is installed, what each extra would bring, whether native code and the cache work."""

from __future__ import annotations

import dataclasses
from typing import Any

from isthmus.cli.output import show


@dataclasses.dataclass(frozen=True)
class Doctor:
    """Looks at the installation: versions, extras, native code, cache, compiler; names a cure for each fault.

    The exit status is 1 where something that isthmus needs does not work.
    """

    def run(self) -> int:
        """Runs all checks and prints them."""
        from isthmus.cli.checkup import checkup

        found = checkup()
        show(_table(found))
        faults = sum(finding.state == "fault" for finding in found)
        print(f"\n{faults} to be cured." if faults else "\nIsthmus is ready.")
        return 1 if faults else 0


def _table(found: list[Any]) -> Any:
    from rich.table import Table
    from rich.text import Text

    from isthmus.cli.checkup import SIGNS

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for finding in found:
        sign, style = SIGNS[finding.state]
        text = Text(finding.text)
        if finding.cure:
            text.append(f" {finding.cure}", style="bold" if finding.state == "fault" else "dim")
        table.add_row(Text(sign, style=style), Text(finding.what), text)
    return table
