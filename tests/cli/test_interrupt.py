"""Ctrl-C is heard whenever it comes, and not in the middle of an import."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import isthmus
from isthmus import interrupts
from isthmus.cli.interrupt import ctrl_c
from isthmus.interrupts import Once

LATER = """
    import os, signal, time
    os.kill(os.getpid(), signal.SIGINT)  # as if Ctrl-C were pressed while this is loaded
    time.sleep(0.2)
    loaded = True
"""


def _load_and_wait() -> None:
    importlib.import_module("slow_to_load")
    time.sleep(5.0)


def test_ctrl_c_waits_until_a_module_is_loaded(tmp_path, monkeypatch):
    (tmp_path / "slow_to_load.py").write_text(textwrap.dedent(LATER))
    monkeypatch.syspath_prepend(tmp_path)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), ctrl_c():
            _load_and_wait()
        assert sys.modules["slow_to_load"].loaded
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        sys.modules.pop("slow_to_load", None)


def test_where_ctrl_c_is_ignored_it_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ctrl_c():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def once():
    """The handler of a command, in place of pytest's."""
    handler = Once(too_early=lambda frame: False)
    before = signal.signal(signal.SIGINT, handler)
    yield handler
    signal.signal(signal.SIGINT, before)


def test_a_second_ctrl_c_is_the_first_one_until_some_time_has_passed(once, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    monkeypatch.setattr(interrupts, "GRACE", 0.0)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_work_that_must_not_be_lost_answers_one_ctrl_c_and_none_if_there_was_one_before(once):
    said: list[str] = []
    for _ in range(2):
        with interrupts.postponed("writing the results", said.append):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        assert said == ["the search is over; writing the results, a moment."]
        assert signal.getsignal(signal.SIGINT) is once
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("seconds", [0.8, 1.2])
def test_ctrl_c_while_libraries_load_ends_a_command(seconds, tmp_path):
    words = ["simulate", "library:pendulum", "--seconds", "50000", "--out", "motion.csv"]
    child = subprocess.Popen(
        [sys.executable, "-m", "isthmus", *words],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(isthmus.__file__).parents[1])},
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(seconds)
    child.send_signal(signal.SIGINT)
    time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert err == "isthmus: stopped by Ctrl-C; no file is left half-written.\n"


EARLY = """
    import os, signal, sys
    from isthmus.cli.start import main

    class Pressed:
        def find_spec(self, name, *_):
            if name == "isthmus.cli.main":
                os.kill(os.getpid(), signal.SIGINT)

    sys.meta_path.insert(0, Pressed())
    sys.exit(main())
"""


def test_ctrl_c_before_the_command_line_is_loaded_is_one_sentence():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(EARLY)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr == "isthmus: stopped by Ctrl-C; no file is left half-written.\n"
