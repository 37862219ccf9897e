"""The push study runs on simulated pushes, and its numbers predict real ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import isthmus as ist
from isthmus.errors import BadFile, BadOption
from isthmus.experiments import push, push_average, push_model, push_quasistatic, push_tip
from isthmus.experiments.push_average import NEW, SCATTERS, Averaged, Scatter, gridded, weighed
from isthmus.experiments.push_data import (
    ROWS,
    Pushes,
    clearly_less,
    never_moves,
    ratio,
    recorded,
    rms,
    shape_of,
    squares,
)
from isthmus.experiments.push_fits import by_shape, folds
from isthmus.experiments.run import Settings, reproduce

SQUARE = 0.03 * np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
BAR = SQUARE * np.array([0.8, 1.3])
WAY, SPEED, TIME = 0.01, 0.05, 0.4
TIP = 0.00475
RECORDED = {"offset_x": 0.0, "offset_y": 0.0, "radius": TIP, "delay": 0.0}
"""A tip that is where it was recorded."""
FOUND = {
    "offset_x": 0.00111, "offset_y": 0.00005, "radius": 0.00476, "delay": 0.0057, "tip_friction": 0.3184,
    "tip_speed": 0.0542, "ground_friction": 0.4425, "spread": -1.3727,
}  # fmt: skip
"""Of the analytic model, fitted to all 50 real pushes."""


def standing(names: tuple[str, ...], places: np.ndarray) -> Pushes:
    """Objects at rest, and tips that go from beside their left sides along x; `places`: y of each tip [m]."""
    shapes = {"rect1": shape_of("rect1", SQUARE), "bar": shape_of("bar", BAR)}
    t = np.arange(0.0, TIME + 1e-9, 0.004)
    tips = []
    for name, y in zip(names, places, strict=True):
        x = shapes[name].outline[0, 0] - TIP - 0.001 + np.minimum(SPEED * t, WAY)
        tips.append(np.stack([x, np.full(len(t), y)], axis=1))
    at_rest = np.zeros((len(names), ROWS, 3))
    return Pushes(names, series_of(names), shapes, at_rest, (t,) * len(names), tuple(tips))


def series_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """All at the same speed."""
    return tuple(f"{name}_50" for name in names)


def batch(**changed: float) -> dict[str, np.ndarray]:
    """The numbers that a search starts from, some of them changed."""
    start = RECORDED | {name: number.start for name, number in push_model.NUMBERS.items()}
    return {name: np.array([x]) for name, x in {**start, **changed}.items()}


def quasistatic() -> dict[str, np.ndarray]:
    """The same of the quasi-static model."""
    start = {name: number.start for name, number in push_quasistatic.NUMBERS.items()}
    return {name: np.array([x]) for name, x in {**RECORDED, **start}.items()}


@pytest.fixture(scope="module")
def made() -> Pushes:
    """Eight pushes of two objects whose tip is more slippery than a search starts from."""
    names = ("rect1", "bar") * 4
    pushes = standing(names, np.repeat([-0.012, -0.004, 0.006, 0.013], 2))
    poses = push_model.predict(pushes, batch(tip_friction=0.15, spread=-1.5))[0]
    poses[1::2] = push_model.predict(pushes, batch(tip_friction=0.15, spread=1.5))[0][1::2]
    return dataclasses.replace(pushes, objects=poses)


def published(pushes: Pushes, path: Path) -> Path:
    """The pushes as the gathered file has them."""
    arrays = {f"outline_{name}": shape.outline for name, shape in pushes.shapes.items()}
    for i, (t, tip) in enumerate(zip(pushes.times, pushes.tips, strict=True)):
        rows = np.linspace(0.0, t[-1], ROWS)
        pose = pushes.objects[i] - np.array([0.0, 0.0, 0.5 * np.pi])
        arrays[f"{i:02d}_object_pose"] = np.concatenate([rows[:, None], pose], axis=1)
        arrays[f"{i:02d}_tip_pose"] = np.concatenate([t[:, None], tip, 0 * t[:, None]], axis=1)
        arrays[f"{i:02d}_ft_wrench"] = np.concatenate([t[:, None], np.zeros((len(t), 3))], axis=1)
    meta = np.array([(name, "0", "50", "0", "0", "0") for name in pushes.names])
    np.savez(path, meta=meta, **arrays)
    return path


def test_a_push_through_the_middle_moves_an_object_with_the_tip_and_does_not_turn_it():
    pushes = standing(("rect1", "bar"), np.zeros(2))
    plain = quasistatic()
    ours, theirs = (
        push_model.predict(pushes, batch())[0],
        push_quasistatic.predict(pushes, plain)[0],
    )
    coasts = SPEED**2 / (2.0 * push_model.NUMBERS["ground_friction"].start * push_model.GRAVITY)
    np.testing.assert_allclose(theirs[:, -1, 0], WAY - 0.001, atol=1e-6)
    np.testing.assert_allclose(ours[:, -1, 0], WAY - 0.001 + coasts, atol=2e-4)
    for poses in (ours, theirs):
        np.testing.assert_allclose(poses[:, -1, 1:], 0.0, atol=1e-4)


def test_an_object_turns_further_where_its_load_is_near_the_middle():
    pushes = standing(("rect1", "bar"), np.full(2, 0.012))
    middle, even, rim = (
        push_model.predict(pushes, batch(spread=x))[0][:, -1, 2] for x in (-2.0, 0.0, 2.0)
    )
    assert (middle < even).all()
    assert (even < rim).all()
    assert (rim < 0.0).all()  # clockwise


@pytest.fixture(scope="module")
def grid(made):
    return gridded(made, quick=True)


def test_pushes_tell_friction_and_where_the_load_of_each_series_is(made, grid):
    learned = grid.averaged(SCATTERS)
    found = learned.means()
    assert 0.1 <= found["tip_friction"] <= 0.2
    np.testing.assert_allclose(found["spread of rect1_50"], -1.5, atol=1.0)
    np.testing.assert_allclose(found["spread of bar_50"], 1.5, atol=1.0)
    far, turned = rms(squares(learned.predict(made), made))
    assert far < 0.1
    assert turned < 0.5


def test_of_a_series_that_is_not_known_the_mean_over_likely_ones_is_predicted(made, grid):
    learned = grid.averaged(SCATTERS)
    renamed = dataclasses.replace(made, series=("another",) * len(made))
    poses = push_model.predict(made, learned.numbers)
    np.testing.assert_allclose(
        learned.predict(renamed), np.einsum("p,pitc->itc", learned.weights[NEW], poses), atol=1e-9
    )
    np.testing.assert_allclose(sum(learned.weights[NEW]), 1.0)
    again = Averaged.from_plain(learned.plain())
    np.testing.assert_array_equal(again.predict(made), learned.predict(made))


def test_what_is_left_out_is_judged_as_if_it_had_not_been_there(made, grid):
    parts = folds(made, 2)
    fit, score = parts[0]
    off = grid.left_out(parts, SCATTERS)[score]
    alone = dataclasses.replace(
        grid, pushes=made.pick(fit), poses=grid.poses[:, :, fit], costs=grid.costs[..., fit]
    )
    some = made.pick(score)
    np.testing.assert_allclose(
        off, squares(alone.averaged(SCATTERS).predict(some), some), rtol=0.02, atol=1e-3
    )


def test_weights_are_the_posterior_of_a_small_problem():
    """Two shared points, three places, two pushes of one series: every sum written out."""
    cost = np.random.default_rng(3).uniform(0.0, 4.0, (2, 3, 2))
    scatter = Scatter(noise=0.7, push=2.0, series=3.0)
    places = np.linspace(push_average.PLACES[0], push_average.PLACES[-1], 3)
    near = lambda width: np.exp(-0.5 * np.square(np.subtract.outer(places, places) / width))
    about, own = (near(x) / near(x).sum(axis=0) for x in (scatter.series, scatter.push))
    expected = {"a": np.zeros((2, 3)), NEW: np.zeros((2, 3))}
    for f, middle, place, one, two, next_push in np.ndindex(2, 3, 3, 3, 3, 3):
        likely = np.exp(-0.5 * (cost[f, one, 0] + cost[f, two, 1]) / scatter.noise)
        whole = about[place, middle] * own[one, place] * own[two, place] * likely
        expected["a"][f, next_push] += whole * own[next_push, place]
        for other in range(3):  # the place of a new series
            expected[NEW][f, next_push] += whole * about[other, middle] * own[next_push, other]
    found = weighed(cost, ("a", "a"), [scatter])
    for name, weights in expected.items():
        np.testing.assert_allclose(found[name], weights / weights.sum(), rtol=1e-9)


def test_scatters_count_by_their_evidence():
    """Pushes of one series that differ by far say that pushes scatter."""
    cost = np.full((1, 9, 8), 60.0)
    cost[0, 1, ::2] = cost[0, 7, 1::2] = 0.0
    one = Scatter(noise=1.0, push=0.1, series=2.0)
    wide = one._replace(push=2.0)
    both = weighed(cost, ("a",) * 8, [one, wide])["a"]
    np.testing.assert_allclose(both, weighed(cost, ("a",) * 8, [wide])["a"], atol=1e-6)


def test_both_models_turn_an_object_alike_where_it_is_pushed_beside_its_middle(made):
    plain = quasistatic()
    plain["friction"] = np.array([0.15])
    ours, theirs = made.objects[::2, -1, 2], push_quasistatic.predict(made, plain)[0][::2, -1, 2]
    assert (np.sign(ours) == np.sign(theirs)).all()
    np.testing.assert_allclose(ours, theirs, atol=0.5 * np.abs(ours).max())


def test_errors_are_root_mean_squares_on_one_axis_and_failures_count_as_far(made):
    moved = made.objects + np.array([0.001, 0.001, np.radians(2.0)])
    np.testing.assert_allclose(rms(squares(moved, made)), (1.0, 2.0))
    np.testing.assert_allclose(rms(squares(np.full_like(moved, np.nan), made)), (100.0, 90.0))
    half = ratio(squares(made.objects + 0.5 * (moved - made.objects), made), squares(moved, made))
    np.testing.assert_allclose(half, 0.5)


def test_errors_are_clearly_less_only_beyond_their_scatter():
    others = np.random.default_rng(0).uniform(1.0, 2.0, (12, 2))
    assert clearly_less(0.9 * others, others)
    one = others.copy()
    one[0] *= 0.01  # a single push is better
    assert not clearly_less(one, others)
    assert not clearly_less(others, others)
    assert not clearly_less(0.5 * others[:1], others[:1])


def test_each_push_is_scored_once_and_each_series_is_spread_over_the_folds(made):
    parts = folds(made, 2, seed=1)
    assert sorted(np.concatenate([score for _, score in parts])) == list(range(len(made)))
    for fit, score in parts:
        assert sorted([*fit, *score]) == list(range(len(made)))
        assert [made.pick(score).series.count(name) for name in ("bar_50", "rect1_50")] == [2, 2]


def test_a_shape_left_out_is_scored_and_not_fitted(made):
    for fit, score in by_shape(made):
        assert {made.names[i] for i in fit}.isdisjoint(made.names[i] for i in score)
    assert by_shape(made.pick(made.of(["bar"]))) == []


def test_recorded_contact_tells_where_the_tip_is():
    """Objects that a tip moves in four directions; the record of the tip is shifted and its clock is late."""
    t = np.linspace(0.0, TIME, ROWS)
    shift, delay = np.array([8e-4, -4e-4]), 0.01
    shapes = {"bar": shape_of("bar", BAR)}
    way = lambda at: 0.5 * at[:, None] ** 2 * np.ones((1, 2))
    tips, poses = [], []
    for axis, sign in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)) * 8:
        along = sign * np.eye(2)[axis]
        reach = np.abs(BAR[0, axis]) + 0.005
        poses.append(np.concatenate([way(t) * along, 0 * t[:, None]], axis=1))
        tips.append(way(t - delay) * along - reach * along - shift)
    names = ("bar",) * 32
    pushes = Pushes(names, series_of(names), shapes, np.stack(poses), (t,) * 32, tuple(tips))
    found = push_tip.calibrated(pushes)
    expected = {"offset_x": 8e-4, "offset_y": -4e-4, "radius": 0.005}
    np.testing.assert_allclose([found[n] for n in expected], list(expected.values()), atol=1e-4)
    np.testing.assert_allclose(found["delay"], delay, atol=2e-3)


def test_a_tip_that_overlaps_an_object_at_rest_begins_beside_it():
    pushes = standing(("rect1", "bar"), np.zeros(2))
    tip = np.stack([x[0] for x in pushes.tips])[None]
    np.testing.assert_allclose(push_tip.clearance(pushes, tip, np.array([TIP])), 0.0, atol=1e-12)
    deeper = push_tip.clearance(pushes, tip, np.array([TIP + 0.003]))[0]
    np.testing.assert_allclose(deeper, [[-0.002, 0.0]] * 2, atol=1e-9)


def test_without_recordings_the_study_says_what_it_needs(made, tmp_path):
    with pytest.raises(BadOption, match="--data"):
        push.study(Settings(quick=True))
    one = published(made.pick(made.of(["bar"])), tmp_path / "one.npz")
    with pytest.raises(BadOption, match="pushes of one shape, 'bar'"):
        push.study(Settings(quick=True, data=str(one)))
    lone = published(made.pick(np.array([0, 1, 2])), tmp_path / "lone.npz")
    with pytest.raises(BadOption, match="one push of 'bar'"):
        push.study(Settings(quick=True, data=str(lone)))
    many = Settings(
        quick=True, data=str(published(made, tmp_path / "many.npz")), options=(("folds", 9),)
    )
    with pytest.raises(BadOption, match="2 to 4 folds, not 9"):
        push.study(many)
    arrays = dict(np.load(published(made, tmp_path / "two.npz")))
    del arrays["outline_bar"]
    np.savez(tmp_path / "two.npz", **arrays)
    with pytest.raises(BadFile, match="outline_bar"):
        recorded(str(tmp_path / "two.npz"))


def test_simulated_pushes_go_through_the_whole_study(made, tmp_path):
    path = published(made, tmp_path / "pushes.npz")
    read = recorded(str(path))
    np.testing.assert_allclose(read.objects, made.objects, atol=1e-3)
    assert read.series == made.series
    result = reproduce("push", Settings(quick=True, data=str(path)), tmp_path / "out")
    off = result.numbers["errors"]
    for part in ("seen", "unseen"):
        assert off["hybrid"][part][0] < 0.5 * off["never moves"][part][0]
    assert {"paths.png", "errors.png"} <= {p.name for p in (tmp_path / "out").iterdir()}
    saved = {"hybrid": ist.load(tmp_path / "out" / "hybrid.safetensors")}
    later = push.judged(Settings(judge=str(path)), saved, result.numbers)
    assert later.numbers["errors"]["hybrid"][0] < 0.5 * later.numbers["errors"]["never moves"][0]
    assert {row[0] for row in result.tables[-1].rows} == {"bar", "rect1", "all"}


def test_the_analytic_model_predicts_real_pushes(shared_data):
    """With numbers that were fitted to them."""
    pushes = recorded(str(shared_data / "mit_push_abs.npz"))
    np.testing.assert_allclose(rms(squares(never_moves(pushes), pushes)), (14.2, 12.9), atol=0.15)
    far, turned = rms(squares(push_model.predict(pushes, batch(**FOUND))[0], pushes))
    assert far < 1.6
    assert turned < 3.7
