"""The picture of a blueprint: everything is on it, nothing lies upon another, and it is written as asked."""

from __future__ import annotations

from itertools import pairwise

import equinox as eqx
import pytest
from matplotlib.patches import FancyBboxPatch, PathPatch

import isthmus as ist
from isthmus.blueprint.draw import DARK, LIGHT, Sheet
from isthmus.errors import BadOption

Q_V = ["joint/position", "joint/velocity"]
FRICTION = ist.Wire("joint/passive_torque", Q_V, ist.Dissipative(ist.MLP(), coupled=True))


def several(key) -> ist.Blueprint:
    """Every mode, kind of input and kind of network; three wires on one target."""
    own = eqx.nn.MLP(2, 2, 2, 2, key=key)
    motor = ["joint/control", "previous/joint/torque", "extra/heat[2]", *Q_V]
    return ist.Blueprint(
        [
            FRICTION,
            ist.Wire("joint/passive_torque", Q_V[0], ist.Conservative(ist.MLP(8, 0))),
            ist.Wire("joint/torque", motor, ist.GRU(4), mode="scale", rows="each", name="motors"),
            ist.Wire("link/external_force", Q_V, ist.Internal(ist.Linear(), ("a", "b"))),
            ist.Wire("link/mass[$x$]", (), ist.Constant(), mode="scale"),
            ist.Wire("joint/friction", Q_V[0], ist.Spline(), mode="replace"),
            ist.Wire("joint/torque", ["time"], ist.Filter()),
            ist.Wire("joint/passive_torque", ["link/velocity" * 9], own),
        ]
    )


def texts(figure) -> list[str]:
    return [
        text.get_text() for text in (*figure.texts, *(figure.axes[0].texts if figure.axes else ()))
    ]


def test_every_signal_network_mode_and_guarantee_is_on_the_picture(key):
    figure = several(key).draw()
    shown = texts(figure)
    for text in (
        "joint/position", "previous/joint/torque", "extra/heat[2]", "joint/friction", "link/mass[$x$]",
        "passive_torque", "passive_torque_2", "motors", "MLP 16–16, tanh", "MLP flat, tanh",
        "GRU, 4 remembered · each row", "Filter, 4 of 0.01 to 0.5 s", "Constant", "MLP",
        "dissipative, coupled", "conservative", "internal, a ↔ b",
    ):  # fmt: skip
        assert text in shown
    assert shown.count("joint/passive_torque") == 1
    assert [shown.count(sign) for sign in "+×="] == [5, 2, 1]
    (legend,) = [text for text in shown if "add" in text]
    assert "last step's value" in legend
    assert "channel of the log" in legend
    curves = [patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    assert len(curves) == sum(len(wire.reads) for wire in several(key)) + len(several(key))


@pytest.mark.parametrize("many", [1, 8, 40])
def test_nothing_lies_upon_another_and_all_is_on_the_sheet(many, key):
    wires = [*several(key)][:1] if many == 1 else [*several(key)] * (many // 8)
    sheet = Sheet(wires, [f"network_{n}" for n in range(len(wires))], LIGHT)
    for column in (sheet.sources, sheet.networks, sheet.targets):
        for above, below in pairwise(column):
            assert above.y + above.height / 2 < below.y - below.height / 2
        assert sheet.top <= column[0].y - column[0].height / 2
        assert column[-1].y + column[-1].height / 2 < sheet.height
    for right, left in zip(sheet.right, sheet.left[1:], strict=False):
        assert right < left


def test_names_stay_within_their_boxes(key):
    figure = several(key).draw()
    figure.canvas.draw()
    boxes = [p.get_window_extent() for p in figure.axes[0].patches if isinstance(p, FancyBboxPatch)]
    for text in figure.axes[0].texts:
        if text.get_text() in ("reads", "network", "corrects", *"+×=") or "add" in text.get_text():
            continue
        extent = text.get_window_extent()
        assert any(
            box.x0 < extent.x0 and extent.x1 < box.x1 and box.y0 < extent.y0 and extent.y1 < box.y1
            for box in boxes
        ), text.get_text()


def test_it_is_written_as_its_ending_says_and_dark_where_asked(tmp_path):
    blueprint = ist.Blueprint([FRICTION])
    for ending, begin in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        figure = blueprint.draw(tmp_path / f"picture{ending}", dark=True)
        assert (tmp_path / f"picture{ending}").read_bytes().startswith(begin)
    assert figure.get_facecolor() != blueprint.draw().get_facecolor()
    assert DARK.ink != LIGHT.ink
    with pytest.raises(BadOption, match=r"must end in \.png or \.svg or \.pdf"):
        blueprint.draw(tmp_path / "picture.bmp")
    assert texts(ist.Blueprint().draw()) == ["a blueprint without wires"]
