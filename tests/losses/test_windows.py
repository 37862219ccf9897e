"""Which stretches of a run are simulated."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import isthmus as ist
from isthmus.errors import BadOption
from isthmus.losses.windows import NAMES, as_loss


@given(rows=st.integers(2, 300), steps=st.integers(1, 60))
def test_shooting_segments_cover_a_run_once_without_gaps(rows, steps):
    spans = ist.MultipleShooting(steps).spans(0, rows)
    assert spans[0].first == 0
    assert all(a.first + a.steps == b.first for a, b in itertools.pairwise(spans))
    assert spans[-1].first + spans[-1].steps == rows - 1


@given(rows=st.integers(2, 300), steps=st.integers(1, 60), stride=st.none() | st.integers(1, 30))
def test_windows_stay_inside_their_run(rows, steps, stride):
    spans = ist.Windows(steps, stride).spans(3, rows)
    assert spans
    assert all(s.run == 3 and s.steps >= 1 and s.first + s.steps <= rows - 1 for s in spans)


def test_a_single_row_has_no_window():
    for loss in (ist.WholeRun(), ist.Windows(5), ist.OneStep(), ist.MultipleShooting(5)):
        assert loss.spans(0, 1) == []
    assert len(ist.OneStep().spans(0, 10)) == 9
    assert ist.WholeRun().spans(0, 10)[0].steps == 9


def test_losses_by_name_and_what_is_refused():
    assert as_loss("whole_run") == ist.WholeRun()
    assert as_loss("torque") == ist.TorqueLoss()
    with pytest.raises(BadOption, match="Did you mean 'one_step'"):
        as_loss("onestep")
    with pytest.raises(BadOption, match="steps must be a whole number"):
        ist.Windows(0)
    with pytest.raises(BadOption, match="defect_weight"):
        ist.MultipleShooting(5, defect_weight=0.0)


def test_the_old_name_of_the_torque_loss_warns_until_version_03():
    with pytest.warns(DeprecationWarning, match=r"now ist.TorqueLoss.*version 0.3"):
        assert ist.Torque is ist.TorqueLoss


def test_every_loss_cuts_held_out_logs_into_windows_that_start_as_measured():
    for kind in NAMES.values():
        heldout = kind().for_heldout()
        assert heldout.gap_weight is None
        assert heldout.for_heldout() == heldout
    assert ist.MultipleShooting(7).for_heldout() == ist.Windows(7)
