"""An append-only file of records, one line of JSON each; a stopped study goes on from it.

The first line says what the records belong to. Lines are flushed to the disk before `append` returns, so a run that
is killed loses at most its current jobs; an incomplete last line, which a kill may leave, is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from isthmus.disk import made_folder
from isthmus.distributed.job import Record
from isthmus.errors import BadStore

FORMAT = "isthmus records 1"
HEAD = json.dumps({"format": FORMAT}).rstrip("}").encode()
"""How every file of records begins."""


class Store:
    """Records by the key of their job. `about`: settings that all records of one file share.

    `resume=False` begins a new file and refuses one that is there; `resume=True` goes on with it, if `about` is
    the same, or begins it.
    """

    def __init__(self, path: str | Path, about: Mapping[str, Any], *, resume: bool = False) -> None:
        self.path = Path(path)
        self.records: dict[str, Record] = {}
        there = self.path.exists() and self.path.stat().st_size > 0
        if there and not resume:
            raise BadStore(
                f"{self.path} holds an earlier run: go on with it (resume=True), or take another file."
            )
        made_folder(self.path.parent)
        self.file = open(self.path, "a+b")  # noqa: SIM115 - it stays open as long as the store
        try:
            _lock(self.file, self.path)
            text = json.dumps({"format": FORMAT, "about": about})
            if not self._read(json.loads(text)["about"]):
                self._write([text])
        except BaseException:
            self.file.close()
            raise

    def __contains__(self, key: str) -> bool:
        return key in self.records

    def __getitem__(self, key: str) -> Record:
        return self.records[key]

    def __len__(self) -> int:
        return len(self.records)

    def append(self, records: Iterable[Record]) -> None:
        """Adds records; they are on the disk when this returns."""
        records = list(records)
        self.records |= {record.job.key: record for record in records}
        self._write(record.as_text() for record in records)

    def close(self) -> None:
        """Others may open the file now."""
        self.file.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, lines: Iterable[str]) -> None:
        self.file.write("".join(line + "\n" for line in lines).encode())
        self.file.flush()
        os.fsync(self.file.fileno())

    def _read(self, about: Mapping[str, Any]) -> bool:
        """Reads all records, without an incomplete last line; False if the file was empty."""
        self.file.seek(0)
        data = self.file.read()
        if not data or (HEAD.startswith(data[: len(HEAD)]) and b"\n" not in data):
            self.file.truncate(0)  # new, or killed while its first line was written
            return False
        whole = data[: data.rfind(b"\n") + 1]
        lines = (whole or data).decode("utf-8", errors="replace").split("\n")
        self._check(lines[0], about)
        self.file.truncate(len(whole))
        lines = lines[:-1]
        for number, line in enumerate(lines[1:], start=2):
            try:
                record = Record.from_text(line)
                self.records[record.job.key] = record
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise BadStore(
                    f"line {number} of {self.path} is damaged: remove it and what follows, then resume."
                ) from error
        return True

    def _check(self, line: str, about: Mapping[str, Any]) -> None:
        try:
            head = json.loads(line)
        except (ValueError, RecursionError):
            head = None
        head = head if isinstance(head, dict) else {}
        before = head.get("about")
        if not isinstance(before, dict) or head.get("format") != FORMAT:
            raise BadStore(f"{self.path} is no file of records ({FORMAT!r}): take another file.")
        for name in [*before, *(set(about) - set(before))]:
            if before.get(name) != about.get(name):
                raise BadStore(
                    f"{self.path} belongs to another run: its {name} is {_short(before.get(name))}, "
                    f"here it is {_short(about.get(name))}. Take another file, or the settings of that run."
                )


def discard(path: Path) -> None:
    """Removes a file of records, if there is one and no run is writing into it."""
    if not path.exists():
        return
    with open(path, "r+b") as file:
        _lock(file, path)
        path.unlink()


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _lock(file: Any, path: Path) -> None:
    """Locks the file, so that one run at a time writes to it; does nothing on systems without file locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadStore(
            f"another run is writing into {path}: wait for it, or take another file."
        ) from None
    except OSError:
        return  # a file system without locks
