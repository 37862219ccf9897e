"""How many cores a process may use."""

from __future__ import annotations

import os

import pytest

from isthmus.native.runtime.cores import cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system does not tell")
def test_a_process_held_on_one_core_counts_one():
    before = os.sched_getaffinity(0)
    assert cores() == len(before)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, before)
