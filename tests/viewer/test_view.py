"""The viewer, driven through viser's own handles: what a slider changes is what is drawn."""

from __future__ import annotations

import sys
import time
import urllib.request

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadMotion, BadOption, MissingExtra
from isthmus.viewer.panel import Panel
from isthmus.viewer.viewer import Viewer
from isthmus.viewer.worlds import FLOATS, notes_on, simulated, still, titles_of, worlds_of
from tests.report.fits import real
from tests.scene.test_scene import ball

viser = pytest.importorskip("viser", reason="viser, the extra `view`, is not installed")
ARM = ist.library.pendulum(2)
DT = 0.01
CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0, 0, 0], "position": [3.0, 3, 3], "look_at": [0.0, 0, 0],
    "up_direction": [0.0, 0, 1], "fov": 1.0, "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800,
}  # fmt: skip
"""What a browser says first."""


@pytest.fixture(scope="module")
def swing() -> ist.Motion:
    controls = np.tile([0.5, 0.0], (80, 1))
    return ist.rollout(ARM, ist.State(np.array([0.5, 0.2]), np.zeros(2)), controls, DT)


@pytest.fixture
def opened(swing, monkeypatch):
    """A viewer of the swing, and its panel."""
    panels = []
    monkeypatch.setattr("isthmus.viewer.view.Panel", lambda viewer: panels.append(Panel(viewer)))
    viewer = ist.view(ARM, swing, open_browser=False, port=9123)
    viewer.playing = False
    yield viewer, panels[0]
    viewer.stop()


def links(viewer: Viewer, world: int = 0, ghost: bool = False) -> np.ndarray:
    """Positions of the links as viser has them."""
    drawn = viewer.drawn[world]
    return np.array([h.position for h in (drawn.ghost if ghost else drawn.body).links])


def test_the_viewer_serves_its_page_and_prints_its_address(swing, capsys):
    viewer = ist.view(ARM, swing, open_browser=False, port=9124)
    assert viewer.address in capsys.readouterr().out
    assert b"<html" in urllib.request.urlopen(viewer.address).read()
    assert viewer.address in viewer._repr_html_()
    viewer.stop()
    assert not viewer._threads[0].is_alive()


def test_scrubbing_shows_the_poses_of_that_time(opened, swing):
    viewer, panel = opened
    panel.scrub.value = 0.4
    k = round(0.4 / viewer.worlds[0].take.seconds)
    np.testing.assert_allclose(links(viewer), viewer.worlds[0].take.predicted[k][:, :3], atol=1e-6)
    assert not viewer.drawn[0].ghost.root.visible
    viewer.show(0.0)
    assert panel.scrub.value == 0.0


def test_a_slider_of_a_mass_simulates_again_and_leaves_the_old_motion_as_a_ghost(opened, swing):
    viewer, panel = opened
    viewer.show(0.7)
    before = links(viewer)
    panel.numbers["rod_2"].value = 2.0
    assert viewer.settle()
    assert float(viewer.worlds[0].model.get("link/rod_2/mass")) == 2.0
    again = ist.rollout(
        ARM.set("link/rod_2/mass", 2.0), swing.state(0), swing.signals["joint/control"][:-1], DT
    )
    np.testing.assert_allclose(viewer.worlds[0].motion.q, again.q, atol=1e-9)
    assert np.abs(links(viewer) - before).max() > 1e-3
    np.testing.assert_allclose(links(viewer, ghost=True), before, atol=1e-6)
    viewer.reset()
    viewer.show(0.7)
    np.testing.assert_allclose(links(viewer), before, atol=1e-6)


def test_a_slider_of_a_joint_moves_where_the_motion_starts(opened):
    viewer, panel = opened
    assert list(panel.joints) == ["joint_1", "joint_2"]
    panel.joints["joint_1"].value = 1.0
    assert viewer.settle()
    np.testing.assert_allclose(viewer.worlds[0].motion.q[0], [1.0, 0.2])
    assert viewer.time == 0.0


def test_every_number_of_the_model_has_a_slider(opened):
    viewer, panel = opened
    for quantity in ("joint/damping", "link/com", "gravity"):
        panel.quantity.value = quantity
        size = np.size(viewer.models[0].get(quantity))
        assert len(panel.numbers) == size
    panel.numbers["[2]"].value = -1.5
    assert viewer.settle()
    np.testing.assert_allclose(viewer.worlds[0].model.gravity, [0.0, 0.0, -1.5])


def test_a_number_that_is_refused_says_so_and_changes_nothing(opened):
    viewer, panel = opened
    viewer.change("link/rod_2/mass", -1.0)
    assert viewer.settle()
    assert "link/rod_2/mass" in panel.text.content
    assert viewer.models[0] is ARM


def test_any_signal_is_plotted_over_time(opened, swing):
    _, panel = opened
    for name in ("joint/velocity", "joint/acceleration"):
        panel.signal.value = name
        time, one, two, now = panel.plot.data
        assert len(time) == len(one) == len(two) == len(now) == len(swing)
        assert np.isfinite(one).all()
    panel.signal.value = "joint/velocity"
    panel.row.value = "joint_2"
    np.testing.assert_allclose(panel.plot.data[1], swing.v[:, 1])
    assert "rad/s" in panel.note.content


def test_shapes_frames_and_networks_can_be_hidden(opened):
    viewer, panel = opened
    panel.frames.value = True
    assert all(handle.show_axes for handle in viewer.drawn[0].body.links)
    panel.shapes.value = "collision"
    assert all(h.visible for s, h in viewer.drawn[0].body.surfaces if s.kind == "collision")


def test_several_motions_stand_side_by_side(swing):
    viewer = ist.view(ARM, [swing, swing[::2]], open_browser=False, port=9125)
    names = [f"/world{k}" for k in (0, 1)]
    places = [viewer.server.scene.get_handle_by_name(name).position for name in names]
    assert (
        places[1][0] - places[0][0] > 2.0 * viewer.scene.half[0]
    )  # seen from −y, x is to the right
    viewer.change("link/rod_2/mass", 2.0)  # in all worlds
    viewer.chosen = 1
    viewer.change("link/rod_1/mass", 3.0)  # in this one
    assert [float(m.get("link/rod_2/mass")) for m in viewer.models] == [2.0, 2.0]
    assert [float(m.get("link/rod_1/mass")) == 3.0 for m in viewer.models] == [False, True]
    viewer.stop()


def test_a_body_without_a_motion_falls_and_its_contacts_are_arrows(monkeypatch):
    monkeypatch.setattr("isthmus.viewer.worlds.SECONDS", 0.3)
    monkeypatch.setattr("isthmus.viewer.worlds.DT", 0.005)
    viewer = ist.view(ball(), open_browser=False, port=9126)
    assert viewer.settle()
    viewer.show(0.25)
    arrows = viewer.drawn[0].arrows
    assert arrows.visible
    start, end = arrows.points[0]
    np.testing.assert_allclose(start[2], 0.0, atol=2e-3)
    assert end[2] - start[2] == pytest.approx(2.0 * 9.81 * viewer.scene.newton, rel=0.05)
    viewer.stop()


def test_a_model_that_nothing_carries_is_shown_at_rest_and_the_page_says_so(tmp_path):
    free = ist.without_contact(ball())
    text = ist.view(free, save=tmp_path / "page.html").read_text(encoding="utf-8")
    assert FLOATS in text
    world = still(free)
    moved = simulated(world, free, np.asarray(world.motion.q[0]))
    assert np.ptp(moved.take.predicted[..., 2]) < 1e-4


def test_a_fit_shows_predicted_runs_with_the_measured_ones_as_ghosts():
    worlds = worlds_of(real().model, real())
    assert [world.take.heldout for world in worlds] == [True, False]
    assert [title.endswith(" (held out)") for title in titles_of(worlds)] == [True, False]
    assert all(w.take.measured is not None and w.take.predicted is not None for w in worlds)


def test_what_cannot_be_viewed_is_refused_in_one_sentence(swing, monkeypatch):
    for bad in ([], [swing] * 99, [3]):
        with pytest.raises((BadOption, TypeError)):
            ist.view(ARM, bad, open_browser=False)
    with pytest.raises(BadMotion, match="positions"):
        ist.view(ist.library.pendulum(3), ist.Motion(swing.t, swing.q), open_browser=False)
    with pytest.raises(BadOption, match="port"):
        ist.view(ARM, swing, port=0)
    with pytest.raises(BadOption, match=r"\.html"):
        ist.view(ARM, swing, save="page.txt")
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtra, match=r"isthmus\[view\]"):
        ist.view(ARM, swing, open_browser=False)


def test_a_page_is_one_file_with_shapes_and_poses(swing, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)  # a page needs none
    path = ist.view(ARM, swing, save=tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert '"solids":[{' in text
    assert '"predicted":"' in text
    assert "http" not in text.replace("http-equiv", "")
    assert len(text) < 3_000_000


def test_a_browser_that_moves_a_slider_is_sent_the_new_poses(opened):
    """Speaks as viser's client does: a message for the slider, then what the server sends until the links moved."""
    msgspec = pytest.importorskip("msgspec")
    client = pytest.importorskip("websockets.sync.client")
    viewer, panel = opened
    viewer.show(0.7)
    slider = {"uuid": panel.numbers["rod_2"]._impl.uuid, "updates": {"value": 2.0}}
    connection = client.connect(
        viewer.address.replace("http", "ws"),
        subprotocols=[f"viser-v{viser.__version__}"],
        max_size=None,
    )
    with connection as browser:
        assert b"world0/now" in _received(browser)
        for message in (CAMERA, {"type": "GuiUpdateMessage", **slider}):
            browser.send(msgspec.msgpack.encode(message))
        deadline = time.monotonic() + 60.0
        while viewer.worlds[0].model is ARM and time.monotonic() < deadline:
            time.sleep(0.05)
        assert b"world0/now" in _received(browser)  # the links, where they are now
    assert float(viewer.worlds[0].model.get("link/rod_2/mass")) == 2.0


def _received(browser) -> bytes:
    """All messages that come until nothing comes for a while, unpacked: two lengths, then zstd."""
    zstandard = pytest.importorskip("zstandard")
    found = []
    try:
        while True:
            data = browser.recv(timeout=1.0)
            packed = data[16 : 16 + int.from_bytes(data[8:16], "little")]
            found.append(zstandard.decompress(packed))
    except TimeoutError:
        return b"".join(found)


def test_bodies_that_start_inside_each_other_are_named_under_the_picture():
    robot = ist.Builder("two")
    for name in ("a", "b"):
        robot.add_link(name, mass=1.0, inertia=(1e-2,) * 3)
        robot.add_joint_free(f"{name}_flight", None, name)
        robot.add_shape_sphere(name, 0.1, name=name)
    model = ist.with_contact(robot.model(), [], pairs=("a", "b"))
    (note,) = notes_on(worlds_of(model, None, None))
    assert "'a' 0.2 m deep in 'b', which will throw it out" in note
