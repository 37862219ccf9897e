"""Speed of native code beside its peers: one table, ratios measured in one run, compile time apart.

Peers that are installed are used: CasADi (with gcc) and Pinocchio. Times are CPU seconds of one thread,
medians of alternating repeats; compilers are measured in CPU seconds of all their threads, XLA's runs on
the wall, and the row on threads by the least of many on the wall: it says little on a busy machine.
"""

from __future__ import annotations

from benchmarks.native_cases import double_pendulum, network, path_problem, quadruped, threads
from benchmarks.native_timing import show


def main(quick: bool = False) -> None:
    """Prints the table; `quick`: fewer repeats, no XLA."""
    cases = (double_pendulum, path_problem, network, quadruped, threads)
    show([row for case in cases for row in case(quick)])
