"""A motion as a figure: every coordinate has a line and a name, whatever the numbers and names are."""

from __future__ import annotations

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFile, BadOption
from isthmus.figures.plot import MAX_LINES, plot_motion, save_figure
from isthmus.motion.files import coordinate_names


def motion_of(model: ist.Model, rows: int = 50) -> ist.Motion:
    wave = np.sin(np.linspace(0.0, 6.0, rows))[:, None]
    q = wave + np.arange(model.nq)[None]
    return ist.Motion(np.linspace(0.0, 2.0, rows), q, wave + np.arange(model.dof)[None])


def names_in(figure) -> list[str]:
    legends = [panel.get_legend() for panel in figure.axes]
    return [text.get_text() for legend in legends if legend for text in legend.get_texts()]


@pytest.mark.parametrize(
    "model",
    [
        ist.library.pendulum(2),
        ist.library.pendulum(30),
        ist.library.pendulum(4, joints="spherical"),
        ist.library.swimmer(3),
        ist.library.quadruped(),
    ],
    ids=lambda model: f"{model.name}-{model.nq}",
)
def test_every_coordinate_has_a_line_and_a_name(model):
    figure = plot_motion(model, motion_of(model))
    lines = [len(panel.lines) for panel in figure.axes]
    assert sum(lines[::2]) == model.nq
    assert sum(lines[1::2]) == model.dof
    assert max(lines) <= MAX_LINES
    assert set(coordinate_names(model)) <= set(names_in(figure))
    assert all("[" in panel.get_ylabel() for panel in figure.axes)
    figure.draw_without_rendering()


def test_lines_hold_the_motion():
    model = ist.library.cart_pole()
    motion = motion_of(model)
    left, right, below_left, _ = plot_motion(model, motion).axes
    assert (left.get_ylabel(), right.get_ylabel()) == ("angle [rad]", "velocity [rad/s]")
    assert below_left.get_ylabel() == "position [m]"
    np.testing.assert_array_equal(left.lines[0].get_ydata(), motion.q[:, 1])
    np.testing.assert_array_equal(right.lines[0].get_ydata(), motion.v[:, 1])
    np.testing.assert_array_equal(below_left.lines[0].get_ydata(), motion.q[:, 0])


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".PNG"])
def test_a_figure_is_written_whole(suffix, tmp_path):
    model = ist.library.pendulum(1)
    save_figure(plot_motion(model, motion_of(model)), tmp_path / f"motion{suffix}")
    assert (tmp_path / f"motion{suffix}").stat().st_size > 1000
    assert len(list(tmp_path.iterdir())) == 1


def test_a_figure_that_cannot_be_written_is_refused(tmp_path):
    figure = plot_motion(ist.library.pendulum(1), motion_of(ist.library.pendulum(1)))
    with pytest.raises(BadOption, match=r"must end in \.png or \.svg or \.pdf"):
        save_figure(figure, tmp_path / "motion.bmp")
    with pytest.raises(BadFile, match="no folder"):
        save_figure(figure, tmp_path / "no" / "motion.png")


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_a_motion_that_blew_up_is_drawn_as_far_as_it_goes(bad, tmp_path):
    model = ist.library.pendulum(1)
    motion = motion_of(model)
    q = np.array(motion.q)
    q[20:] = bad
    figure = plot_motion(model, ist.Motion(motion.t, q, motion.v))
    save_figure(figure, tmp_path / "motion.png")
    assert np.isfinite(figure.axes[0].get_ylim()).all()


def test_a_single_row_and_a_model_that_cannot_move_are_drawn(tmp_path):
    model = ist.library.pendulum(1)
    save_figure(plot_motion(model, motion_of(model, rows=1)), tmp_path / "one.png")
    builder = ist.Builder("stone")
    builder.add_link("stone", mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint_fixed("glue", None, "stone")
    save_figure(plot_motion(builder.model(), motion_of(builder.model())), tmp_path / "stone.png")


def test_a_long_motion_is_thinned_and_odd_names_are_shown(tmp_path):
    builder = ist.Builder("$odd_name$")
    for k, name in enumerate(("_hidden", "$x^2$", "a" * 80)):
        builder.add_link(f"link_{k}", mass=1.0, inertia=(1.0, 1.0, 1.0))
        builder.add_joint_revolute(name, f"link_{k - 1}" if k else None, f"link_{k}")
    figure = plot_motion(builder.model(), motion_of(builder.model(), rows=100_001))
    assert len(figure.axes[0].lines[0].get_xdata()) <= 20_001
    assert len(names_in(figure)) == 3
    save_figure(figure, tmp_path / "odd.png")
