"""`Job` and `Record`: a run is data in, data out.

A job holds all that decides a result: a function, its settings, a seed. A record holds the job and its result, so that
it can be run again, here or elsewhere. Both are plain data and survive JSON bit for bit.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import importlib.util
import json
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from isthmus.errors import BadOption
from isthmus.schema import ANY_NUMBER, ANYTHING, TABLE, TEXT, WHOLE, faults_of

RECORD = {"job": TABLE, "result": ANYTHING, "seconds": ANY_NUMBER}
JOB = {"task": TEXT, "settings": TABLE, "seed": WHOLE}


@dataclasses.dataclass(frozen=True)
class Job:
    """One run. `task` names a function `(seed, **settings) -> plain data`, as `package.module:function`."""

    task: str
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Numbers, texts, lists and mappings."""
    seed: int = 0

    @functools.cached_property
    def key(self) -> str:
        """A digest of all that decides the result: equal jobs have equal keys."""
        return digest(dataclasses.asdict(self))


@dataclasses.dataclass(frozen=True)
class Record:
    """A job with its result."""

    job: Job
    result: Any
    """Plain data."""
    seconds: float
    """How long it took."""

    def as_text(self) -> str:
        """One line: a checksum, and JSON."""
        text = json.dumps(dataclasses.asdict(self), separators=(",", ":"))
        return f"{checksum(text)} {text}"

    @staticmethod
    def from_text(line: str) -> Record:
        """Reads `as_text`; a line of version 0.1 has no checksum."""
        if not line.startswith("{"):
            sum_, _, line = line.partition(" ")
            if sum_ != checksum(line):
                raise ValueError("the checksum of a record is wrong")
        data = json.loads(line)
        if wrong := [*faults_of(data, RECORD, "a record"), *faults_of(data["job"], JOB, "a job")]:
            raise ValueError(wrong[0])
        return Record(Job(**data["job"]), data["result"], data["seconds"])


def checksum(text: str) -> str:
    """Eight letters that differ where a text was damaged."""
    return f"{zlib.crc32(text.encode()):08x}"


def run(job: Job) -> Record:
    """The record of a job, made in this process."""
    began = time.perf_counter()
    result = named(job.task)(job.seed, **job.settings)
    return Record(job, result, time.perf_counter() - began)


def digest(data: Any) -> str:
    """Of plain data, whatever the order of its keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def named(name: str) -> Callable[..., Any]:
    """The function called `package.module:function`, or `folder/file.py:function`."""
    place, colon, function = name.rpartition(":")
    if not colon or not place or not function:
        raise BadOption(f"{name!r} names no function: write 'package.module:function'.")
    try:
        found = getattr(module(place), function)
    except (ImportError, OSError) as missing:
        raise BadOption(f"{name!r} cannot be loaded: {missing}.") from missing
    except AttributeError as missing:
        raise BadOption(f"{place!r} has no function {function!r}.") from missing
    return found


def module(place: str) -> ModuleType:
    """A module by name, or by the path of its file, which then has a name of its own."""
    if not place.endswith(".py"):
        return importlib.import_module(place)
    path = Path(place).resolve()
    name = f"isthmus_job_{digest(str(path))[:12]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{place} is no Python file")
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        try:
            spec.loader.exec_module(made)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
