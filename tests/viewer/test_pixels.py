"""A saved page in a real browser: the mechanism is there as pixels, and moves."""

from __future__ import annotations

import shutil
import subprocess

import matplotlib.image
import numpy as np
import pytest

import isthmus as ist

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZE = "1000,800"


def picture(browser: str, page, target, milliseconds: int) -> np.ndarray:
    """Red, green and blue of the page after some time."""
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={SIZE}", f"--screenshot={target}",
        f"--virtual-time-budget={milliseconds}", page.as_uri(),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return matplotlib.image.imread(target)[..., :3]


def test_a_browser_draws_the_mechanism_and_moves_it(tmp_path):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("no Chromium is installed")
    model = ist.library.pendulum(1)
    motion = ist.rollout(model, ist.State(np.array([1.0]), np.zeros(1)), None, 0.01, 100)
    page = ist.view(model, motion, save=tmp_path / "page.html")
    first = picture(browser, page, tmp_path / "a.png", 200)
    later = picture(browser, page, tmp_path / "b.png", 900)
    red = (first[..., 0] > 0.5) & (first[..., 1] < 0.5) & (first[..., 2] < 0.3)
    assert red.sum() > 300  # the rod in the colour of what is predicted
    assert np.abs(first - later).max() > 0.3
