"""`isthmus bench`: how fast this machine runs isthmus and its peers."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from isthmus.cli.output import in_background, say, show, working
from isthmus.disk import made_folder

BAR = 30
"""Columns of the longest bar."""


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measures isthmus beside the engines that are installed: a table, a bar chart, and files of both.

    `pip install 'isthmus[bench]'` brings all engines. Best on a machine that does nothing else.
    """

    quick: bool = False
    """Fewer worlds and repeats, some comparisons with XLA left out: a minute or two."""
    only: Annotated[tuple[str, ...], arg(metavar="NAME …")] = ()
    """importing, starting, pendulum, path, network, large, quadruped, threads, contact, tosses, piles, pairs, tree,
    sysid, sysid-arm, design, tracking, xla-pendulum, xla-quadruped."""
    out: Annotated[str, arg(metavar="PATH")] = "."
    """Where to write: the folder of bench.json and bench.png, made if need be."""

    def run(self) -> int:
        """Measures, prints, writes; exit status 1 where a benchmark failed."""
        from isthmus.bench import run

        names = run.chosen(self.only)
        files = _targets(self.out)
        with working("measuring", len(names)) as progress:
            begin = lambda name: progress(names.index(name))
            result = in_background(lambda: run.run(self.only, self.quick, begin))
        show(*_parts(result))
        _write(result, *files)
        print(f"wrote {files[0]} and {files[1]}")
        for name, reason in result["failed"].items():
            say(f"benchmark {name!r} failed: {reason}")
        return 1 if result["failed"] else 0


def _targets(folder: str) -> tuple[Path, Path]:
    """The two files, refused before the work where they cannot be written."""
    from isthmus.disk import check_target

    place = made_folder(folder)
    files = place / "bench.json", place / "bench.png"
    for file in files:
        check_target(file, (file.suffix,))
    return files


def _write(result: dict[str, Any], data: Path, picture: Path) -> None:
    from isthmus.bench.chart import draw
    from isthmus.disk import whole_file
    from isthmus.figures.plot import save_figure

    with whole_file(data) as file:
        file.write(json.dumps(result, indent=2, ensure_ascii=False).encode() + b"\n")
    save_figure(draw(result), picture)


def _parts(result: dict[str, Any]) -> list[Any]:
    """What is printed: the machine, a table for each group of benchmarks, the bars."""
    from rich.text import Text

    from isthmus.bench.chart import compared
    from isthmus.bench.machine import described

    parts: list[Any] = []
    for line in described(result["machine"], result["versions"]).split(" · "):
        parts.append(Text(line, style="dim"))
    for title in dict.fromkeys(row["table"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["table"] == title]
        parts += [Text(""), Text(title, style="bold"), _table(rows)]
    if rows := compared(result["rows"]):
        parts += [Text(""), Text("how many times faster isthmus is, log scale", style="bold")]
        parts.append(_bars(rows))
    return parts


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    from isthmus.bench.rows import shown, times

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("work", ratio=1)
    for name in ("isthmus", "(compile)"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("peer", min_width=9)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("ratio", justify="right", no_wrap=True)
    before = ""
    for row in rows:
        again = row["work"] == before
        before = row["work"]
        ours = ("", "", "") if again else (before, shown(row["ours"]), shown(row["compile"]))
        peer = f"{row['peer']}: not installed, {row['missing']}" if row["missing"] else row["peer"]
        ratio = "" if row["ratio"] is None else times(row["ratio"])
        if row["own"] and row["theirs"] < row["ours"]:
            ratio = f"takes {times(1.0 / row['ratio'])}"
        style = "dim" if row["missing"] else ""
        cells = [Text(cell) for cell in ours]
        table.add_row(
            *cells, Text(peer, style=style), Text(shown(row["theirs"])), Text(ratio, style="bold")
        )
    return table


def _bars(rows: list[dict[str, Any]]) -> Any:
    """One bar for each row with a peer; those to the left of the line are slower."""
    from rich.table import Table
    from rich.text import Text

    from isthmus.bench.rows import times

    grid = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    grid.add_column(justify="right", ratio=1)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    longest = max(abs(math.log(row["ratio"])) for row in rows) or 1.0
    for row in rows:
        length = max(1, round(BAR * abs(math.log(row["ratio"])) / longest))
        faster = row["ratio"] >= 1.0
        bar = Text(("█" if faster else "░") * length, style="green" if faster else "yellow")
        bar.append(f" {times(row['ratio'])}")
        grid.add_row(Text(row["work"]), Text(row["peer"], style="dim"), bar)
    return grid
