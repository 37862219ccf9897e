"""How often `discover` is right, over fresh data sets: the counts of docs/discover.md."""

import pytest

from isthmus.bench.discovery import Count, counts

pytestmark = pytest.mark.full
BARS = {
    "exact support": 18,
    "3 links, 9 kinds of fault": 35,
    "3 links, a tenth of the effect": 29,
    "3 links, two faults at once": 21,
    "arm of 7 joints": 36,
}
"""Least hits of the rows that begin so."""


def least(count: Count) -> int:
    return next((bar for name, bar in BARS.items() if count.what.startswith(name)), 0)


@pytest.mark.parametrize("part", ["pendulum", "chain", "arm"])
def test_faults_that_were_put_in_are_found(part):
    for count in counts(80_000, parts=(part,)):
        first = int(count.hits.split("/")[0])
        if "nothing missing" in count.what:
            assert first <= 4
        elif "not whitened" not in count.what:
            assert first >= least(count), str(count)
