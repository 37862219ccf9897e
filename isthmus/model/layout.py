"""Where each joint's numbers stand in `q` and `v`.

*Independent* coordinates are those of `State`: joints in order, mimicking joints left out. *Expanded* ones have a
place for every joint; the algorithms over the tree use them. Without mimicking joints the two are the same.
"""

from __future__ import annotations

import dataclasses
import functools

from isthmus.model.joints import JOINTS

Span = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Layout:
    """Spans `(start, stop)` of each joint, and which independent number feeds each expanded one."""

    q: tuple[Span, ...]
    v: tuple[Span, ...]
    """In expanded coordinates."""
    q_own: tuple[Span, ...]
    v_own: tuple[Span, ...]
    """In independent coordinates; empty for a joint that mimics."""
    q_source: tuple[int, ...]
    v_source: tuple[int, ...]
    nq: int
    nv: int
    """Of independent coordinates."""


@functools.lru_cache(maxsize=256)
def layout_of(kinds: tuple[str, ...], mimics: tuple[tuple[int, int], ...]) -> Layout:
    """The layout of joints of these `kinds`; `mimics` are pairs of joint and its source."""
    source = dict(mimics)
    q_own, nq = _spans([0 if i in source else JOINTS[k].nq for i, k in enumerate(kinds)])
    v_own, nv = _spans([0 if i in source else JOINTS[k].nv for i, k in enumerate(kinds)])
    q, _ = _spans([JOINTS[k].nq for k in kinds])
    v, _ = _spans([JOINTS[k].nv for k in kinds])
    feeds = [source.get(i, i) for i in range(len(kinds))]
    return Layout(
        q, v, q_own, v_own,
        q_source=tuple(n for i in feeds for n in range(*q_own[i])),
        v_source=tuple(n for i in feeds for n in range(*v_own[i])),
        nq=nq, nv=nv,
    )  # fmt: skip


def _spans(sizes: list[int]) -> tuple[tuple[Span, ...], int]:
    spans, start = [], 0
    for size in sizes:
        spans.append((start, start + size))
        start += size
    return tuple(spans), start
