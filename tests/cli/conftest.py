"""Commands on a slow machine: what is said every five seconds of work stays out of what the tests compare."""

from __future__ import annotations

import contextlib

import pytest

from isthmus.cli import output


@pytest.fixture(autouse=True)
def _no_news_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "repeating", lambda *_, **__: contextlib.nullcontext())
