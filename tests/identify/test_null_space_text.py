"""What is not determined reads as a sentence."""

from __future__ import annotations

import numpy as np

from isthmus.identify.answer.null_space_text import Undetermined, as_sum, two_digits

NAMES = ("a", "b", "c", "d")


def test_a_sum_leads_with_its_one_then_the_largest_terms_and_leaves_out_what_hardly_counts():
    weights, values = np.array([1.0, -9.5512, 24.93, 4.05]), np.array([0.7, 0.02, 0.03, 0.007])
    assert as_sum(weights, NAMES, values) == "a + 25 c − 9.6 b"  # 4.05 d is 4 % of the largest term
    assert as_sum(np.array([0.0, 1.0, 1.001, -1.0]), NAMES, np.ones(4)) == "b + c − d"


def test_a_leading_term_stays_however_small_it_is():
    assert as_sum(np.array([1.0, 500.0]), NAMES[:2], np.array([1e-3, 1.0])) == "a + 500 b"


def test_numbers_have_two_digits():
    assert [two_digits(x) for x in (0.04217, 9.55, 24.93, 1234.0)] == ["0.042", "9.6", "25", "1200"]


def test_several_sums_are_a_list_and_one_is_a_sentence():
    several = Undetermined(("a", "b", "c"), ("a + 2 c", "b − c"), linear=True)
    assert str(several) == "only these sums are determined, near the estimates: a + 2 c; b − c."
    assert str(Undetermined(("a", "b"), ("a + b",), linear=True)) == "only a + b is determined."
    products = Undetermined(("a", "b", "c"), ("a / c", "b / c"))
    assert str(products) == "only a / c and b / c are determined."


def test_sums_that_nobody_reads_are_counted():
    """Of a quadruped in the air, seven sums of twelve terms each were printed."""
    names = tuple("abcdefgh")
    long = Undetermined(names, (" + 2 ".join(names),), linear=True)
    said = "of 8 numbers (a, b, c, d, e, f, …) only 1 sum is determined: hold some of them, or give them priors."
    assert str(long) == said
    many = Undetermined(tuple("abcdef"), ("a + f", "b − f", "c + f", "d − f", "e + f"), linear=True)
    assert str(many).startswith("of 6 numbers (a, b, c, d, e, f) only 5 sums are determined")
