"""The viewer and its saved pages in a real browser: the mechanism is there as pixels, and moves."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from tests.browser import Browser, browser, until

ARM = ist.library.pendulum(1)
DT, STEPS = 0.01, 100
LABEL = "[...document.querySelectorAll('label')].find(x => x.textContent == 'rod_1')"
SLIDER = f"document.getElementById({LABEL}?.htmlFor)?.querySelector('.mantine-Slider-track')"

__all__ = ["browser"]


@pytest.fixture(scope="module")
def swing() -> ist.Motion:
    push = np.full((STEPS, 1), 4.0)
    return ist.rollout(ARM, ist.State(np.array([1.0]), np.zeros(1)), push, DT)


def orange(picture: np.ndarray) -> np.ndarray:
    """Where the colour of what is predicted is seen on a page."""
    red, green, blue = np.moveaxis(picture, -1, 0)
    return (red > 0.6) & (green < 0.6) & (blue < 0.45) & (red - blue > 0.35)


def blue(picture: np.ndarray) -> np.ndarray:
    """Where the viewer shows the mechanism: its canvas is on the left, beside the panel."""
    red, green, blue = np.moveaxis(picture[:, : picture.shape[1] // 2], -1, 0)
    return (blue - red > 0.2) & (green - red > 0.05)


def test_a_saved_page_draws_the_mechanism_moves_it_and_asks_for_nothing(browser, swing, tmp_path):
    browser.go(ist.view(ARM, swing, save=tmp_path / "page.html").as_uri())
    scrub = "document.getElementById('scrub')"
    seen = []
    for k in (0, 20):
        browser.run(f"{scrub}.value = {k}, {scrub}.dispatchEvent(new Event('input'))")
        seen.append(orange(browser.picture()))
    assert min(x.sum() for x in seen) > 300
    assert (seen[0] ^ seen[1]).sum() > 300
    assert browser.run("document.getElementById('clock').textContent") == "0.80 s of 1.00 s"
    assert browser.complaints() == []
    assert all(address.startswith("file:") for address in browser.requests())


def test_moving_a_slider_changes_the_motion_and_the_picture(browser: Browser, swing):
    viewer = ist.view(ARM, swing, open_browser=False, port=9130)
    try:
        viewer.playing = False
        viewer.show(0.6)
        browser.go(viewer.address)
        until(lambda: blue(browser.picture()).sum() > 200)  # loaded, and faded in
        browser.run("document.querySelector('.mantine-Notification-closeButton')?.click()")
        tab = "[...document.querySelectorAll('[role=tab]')].find(x => x.textContent == 'Numbers')"
        browser.press(tab)
        before = blue(browser.picture())
        browser.press(SLIDER, 0.95)  # from 1 kg to nearly 4 kg
        until(lambda: viewer.worlds[0].model is not ARM)
        until(lambda: (blue(browser.picture()) ^ before).sum() > 200)
        assert float(viewer.worlds[0].model.get("link/rod_1/mass")) == pytest.approx(3.8, abs=0.15)
        assert abs(viewer.worlds[0].motion.q[60, 0] - swing.q[60, 0]) > 0.05
        assert browser.complaints() == []
        assert all(a.startswith((viewer.address, "data:", "blob:")) for a in browser.requests())
    finally:
        viewer.stop()
