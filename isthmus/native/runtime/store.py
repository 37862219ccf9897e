"""Compiled code on disk: entries by content, written whole or not at all, checked when they are read.

`ISTHMUS_CACHE=off` (or `0`) keeps nothing; a path moves the folder. Whatever goes wrong with the disk (no
space, no permission, a damaged file) costs time and nothing else: the code is then compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MAGIC = b"isthmus native 1\n"
SUFFIX, HALF = ".code", ".half"
LARGEST = 512 * 1024 * 1024
"""Bytes that the folder may hold; what was not used for longest goes first."""
ABANDONED = 3600.0
"""Seconds after which a half-written file is removed: its writer has been killed."""
OFTEN = 64
"""A process looks through the folder at the first entry that it writes, and then once in so many."""
_written = itertools.count()


def folder() -> Path | None:
    """The folder of entries; None if nothing is to be kept."""
    setting = os.environ.get("ISTHMUS_CACHE", "").strip()
    if setting.lower() in ("off", "0"):
        return None
    if setting:
        return Path(setting).expanduser() / "native"
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        home = "~/Library/Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "isthmus" / "native"


def is_ours(place: Path) -> bool:
    """Only this user can write there: what lies in it will be executed."""
    if not hasattr(os, "getuid"):  # Windows: the profile's folder is the user's own
        return True
    about = place.lstat()
    return about.st_uid == os.getuid() and not about.st_mode & 0o022


def usable() -> Path | None:
    """The folder, made if need be; None where it cannot be used."""
    try:
        place = folder()
        if place is None:
            return None
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place if is_ours(place) else None
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return None


def read(name: str) -> tuple[dict[str, Any], bytes] | None:
    """Header and body of an entry; None where it is missing or not as it was written."""
    place = usable()
    if place is None:
        return None
    path = place / f"{name}{SUFFIX}"
    try:
        data = path.read_bytes()
        found = unpacked(data)
        if found is not None:
            os.utime(path)  # used now: it goes last
        return found
    except OSError:
        return None


def write(name: str, header: dict[str, Any], body: bytes = b"") -> None:
    """Puts an entry in its place in one move; readers see the old one or the new one."""
    place = usable()
    if place is None:
        return
    half = None
    try:
        handle, half = tempfile.mkstemp(HALF, name[:16], place)
        with os.fdopen(handle, "wb") as file:
            file.write(packed(header, body))
        os.replace(half, place / f"{name}{SUFFIX}")
        if next(_written) % OFTEN == 0:
            trim(place)
    except OSError:
        with contextlib.suppress(OSError):
            if half is not None:
                os.unlink(half)


def packed(header: dict[str, Any], body: bytes) -> bytes:
    """An entry as bytes: magic, checksum of the rest, length of the header, header, body."""
    text = json.dumps(header).encode()
    rest = struct.pack("<Q", len(text)) + text + body
    return MAGIC + hashlib.sha256(rest).digest() + rest


def unpacked(data: bytes) -> tuple[dict[str, Any], bytes] | None:
    """Header and body, or None where a single bit is not as it was."""
    start = len(MAGIC) + 32
    rest = data[start:]
    if data[: len(MAGIC)] != MAGIC or hashlib.sha256(rest).digest() != data[len(MAGIC) : start]:
        return None
    (size,) = struct.unpack_from("<Q", rest)
    return json.loads(rest[8 : 8 + size]), rest[8 + size :]


def trim(place: Path) -> None:
    """Lets the oldest entries go where the folder is too large, and what killed processes left behind."""
    entries, total, now = [], 0, time.time()
    for found in os.scandir(place):
        with contextlib.suppress(OSError):
            about = found.stat()
            if found.name.endswith(HALF) and now - about.st_mtime > ABANDONED:
                os.unlink(found.path)
            elif found.name.endswith(SUFFIX):
                entries.append((about.st_mtime, about.st_size, found.path))
                total += about.st_size
    for _, size, path in sorted(entries):
        if total <= LARGEST:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
