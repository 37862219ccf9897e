"""What notebooks show: trees, tables, curves; and never an exception."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadMotion, BadOption
from isthmus.motion.motion import About
from isthmus.posteriors.stacking import Stack
from isthmus.shown import Shown
from tests.report.fits import real


def sound(html: str) -> str:
    """The HTML, which must be balanced."""
    ET.fromstring(f"<x>{html.replace(' open>', '>')}</x>")
    return html


def _legend(motion: ist.Motion) -> set[str]:
    legends = [panel.get_legend() for panel in motion.plot().axes]
    return {text.get_text() for legend in legends if legend for text in legend.get_texts()}


@pytest.fixture(scope="module")
def motion() -> ist.Motion:
    t = np.arange(50) * 0.1
    q = np.stack([np.sin(t), t, *np.tile([[1.0], [0], [0], [0]], 50)], axis=1)
    kinds = (("hinge", "revolute"), ("slide", "prismatic"), ("ball", "spherical"))
    return ist.Motion(t, q, np.zeros((50, 5)), joints=kinds, about=About("run <1>"))


def test_a_model_is_its_tree():
    text = sound(ist.library.pendulum(2)._repr_html_())
    assert text.count("rod_") >= 2
    assert "<details open>" in text
    assert "<details>" in sound(ist.library.pendulum(40)._repr_html_())


def test_a_motion_is_its_curves(motion):
    text = sound(motion._repr_html_())
    assert "<svg" in text
    assert "&lt;1&gt;" in text  # names are text
    panels = motion.plot().axes
    assert [len(panel.lines) for panel in panels] == [1, 1, 1, 1, 4, 3]


def test_motions_of_every_kind_are_plotted_or_refused_in_one_sentence(motion):
    bare = ist.Motion(motion.t, motion.q)
    assert "q[0]" in _legend(bare)
    batch = ist.Motion(np.stack([motion.t] * 3), np.stack([motion.q] * 3))
    assert "the first of 3" in batch.plot().get_suptitle()
    with pytest.raises(BadMotion, match="without positions"):
        ist.Motion(motion.t, None).plot()
    assert "<svg" not in sound(ist.Motion(motion.t, None)._repr_html_())


def test_a_fit_is_its_table_and_has_curves_and_a_report(tmp_path):
    fit = real()
    text = sound(fit._repr_html_())
    assert all(name in text for name in fit.estimates)
    assert "held out" in text
    assert len(fit.plot().axes) > 0
    assert fit.report(tmp_path / "page.html").stat().st_size > 10_000
    loaded = dataclasses.replace(fit, problem=None)
    assert sound(loaded._repr_html_()) == text
    with pytest.raises(BadOption, match="no motions"):
        loaded.plot()


def test_a_blueprint_is_its_picture_and_its_text():
    wire = ist.Wire("joint/torque", reads=["joint/velocity"], net=ist.MLP(width=2, depth=1))
    text = sound(ist.Blueprint([wire])._repr_html_())
    assert "<svg" in text
    assert "joint/torque" in text


def test_a_class_shows_its_text_and_figure_by_one_line():
    class Answer(Shown):
        def __str__(self) -> str:
            return "2 < 3"

    assert sound(Answer()._repr_html_()) == "<pre>2 &lt; 3</pre>"


def test_a_posterior_is_its_histograms_and_its_table():
    samples = np.random.default_rng(0).normal(size=(100, 2))
    found = ist.Posterior(
        samples, samples, ("link/rod_1/mass", "offset"), ("kg", ""), samples[:2], np.array([0.6, 0.4]),
        0.1, 90.0, ist.library.pendulum(1), Stack({}),
    )  # fmt: skip
    assert [len(panel.lines) for panel in found.plot().axes] == [2, 2]
    text = sound(found._repr_html_())
    assert "<svg" in text
    assert "link/rod_1/mass" in text
