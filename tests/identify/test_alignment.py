"""A shift in time is mentioned where it says something, in words that agree with its sign."""

from __future__ import annotations

import pytest

from isthmus.identify.answer.alignment import Shift


@pytest.mark.parametrize(
    ("rows", "error", "share", "visible", "warned"),
    [
        (2.0, 0.2, 0.0, False, False),  # explains nothing
        (0.4, 0.6, 0.2, False, False),  # may be chance
        (120.0, 0.2, 0.9, False, False),  # no shift
        (-0.5, 0.05, 0.2, True, False),
        (-2.0, 0.2, 0.9, True, True),
    ],
)
def test_a_shift_is_said_only_where_it_explains_something(rows, error, share, visible, warned):
    shift = Shift("measurements", rows, error, share)
    assert shift.visible == visible
    assert bool(shift.warning) == warned


def test_a_negative_shift_is_early_and_has_no_sign():
    text = str(Shift("measurements", -2.0, 0.2, 0.5))
    assert (
        text
        == "time alignment: measurements 2 ± 0.2 rows early, which explains 50 % of the residual"
    )
