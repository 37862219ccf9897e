"""Ctrl-C while LLVM works is heard at once, and the work that was begun does no harm."""

from __future__ import annotations

import _thread
import threading

import jax.numpy as jnp
import numpy as np
import pytest

from isthmus import native
from isthmus.native.runtime.interruptible import patiently
from isthmus.native.targets.llvm import machine_code


def test_work_gives_its_result_and_its_error():
    def fails():
        raise ZeroDivisionError("as asked")

    assert patiently(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError, match="as asked"):
        patiently(fails)


def test_a_work_that_times_out_says_so():
    def late():
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        patiently(late)


def test_only_the_main_thread_lets_another_one_work():
    seen = []
    patiently(lambda: seen.append(threading.current_thread()))
    other = threading.Thread(
        target=lambda: patiently(lambda: seen.append(threading.current_thread()))
    )
    other.start()
    other.join()
    assert seen[0] is not threading.main_thread()
    assert seen[1] is other


def test_ctrl_c_is_heard_while_llvm_works(monkeypatch, tmp_path):
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path))
    begun, done = threading.Event(), threading.Event()
    work = machine_code.machine_code

    def slow(text, lanes, brief):
        begun.set()
        assert done.wait(60.0)  # as long as nobody has heard the interrupt
        return work(text, lanes, brief)

    def interrupt():
        begun.wait(60.0)
        _thread.interrupt_main()

    monkeypatch.setattr(machine_code, "machine_code", slow)
    f = native.compile(lambda x: jnp.sin(x) * 3.0, np.ones(3))
    helper = threading.Thread(target=interrupt)
    helper.start()
    with pytest.raises(KeyboardInterrupt):
        f(np.ones(3))
    helper.join()
    done.set()
    monkeypatch.setattr(machine_code, "machine_code", work)
    np.testing.assert_allclose(f(np.ones(3)), 3.0 * np.sin(np.ones(3)))
