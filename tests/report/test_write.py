"""A report is one complete page: nothing is loaded, nothing is missing, whatever the numbers are."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import isthmus as ist
from isthmus.identify.answer.abstract_fit import Estimate
from isthmus.phases import listening
from isthmus.report.write import page
from tests.browser import browser
from tests.report.fits import Outline, made_up, real

__all__ = ["browser"]


@pytest.fixture(scope="module")
def text() -> str:
    return page(real(), notes=["A pendulum on the bench."])


def test_the_page_is_sound_and_loads_nothing(text):
    outline = Outline(text)
    assert all(tag == "a" and value.startswith("#") for tag, value in outline.loads)
    assert {value[1:] for _, value in outline.loads} <= set(outline.ids)
    assert len(set(outline.ids)) == len(outline.ids)
    assert not re.search(r"https?:|@import|url\(|<link|<iframe", text)


def test_every_section_is_there(text):
    assert Outline(text).headings == [
        "The mechanism",
        "Estimates",
        "What the data cannot tell",
        "Correlations",
        "Measured and predicted",
        "What remains",
        "Convergence",
        "What was run",
    ]
    for part in ("held out", "A pendulum on the bench.", "ist.Free(&#x27;link/*/mass&#x27;"):
        assert part in text


def test_equal_fits_give_equal_pages(text):
    assert page(real(), notes=["A pendulum on the bench."]) == text


def test_the_code_of_the_page_states_the_same_problem(text):
    code = text.split('<pre id="code">')[1].split("</pre>")[0]
    for part in (
        "loss=ist.Windows(steps=20",
        "heldout=1",
        "ist.export_report(fit",
    ):
        assert part in code
    assert "isthmus fit study.toml" in page(made_up(1), command="isthmus fit study.toml")


def test_names_cannot_become_elements():
    wild = '<script>alert("x")</script>&\'/damping'
    fit = made_up(2, warnings=(wild,), undetermined=(wild,), status=wild)
    fit.estimates[wild] = fit.estimates.pop("joint/0/damping")
    written = page(fit, title=wild, notes=[wild], command=wild)
    Outline(written)
    assert "<script>alert" not in written


@pytest.mark.parametrize("count", [1, 60])
def test_one_number_or_many_make_a_page(count):
    written = page(made_up(count, heldout=None))
    headings = Outline(written).headings
    assert ("Correlations" in headings) == (count > 1)
    assert "No motion was held out" in written
    assert "The mechanism" not in headings
    assert written.count('class="value') == count


def test_numbers_that_failed_are_told_and_not_drawn():
    errors = {"joint/position": (np.nan, 0.0)}
    fit = made_up(3, noise=np.nan, loss=np.inf, history=(np.inf, np.nan), heldout=errors)
    fit.correlations[:] = np.nan
    a, b, c = fit.estimates
    fit.estimates[a] = Estimate(np.nan, np.nan, "kg", 1.0)
    fit.estimates[b] = Estimate(1.0, np.inf, "kg", np.inf)
    fit.estimates[c] = Estimate(1e300, 1e-300, "", -1e300)
    written = page(fit)
    Outline(written)
    assert "not told by the data" in written
    assert "at its bound" in written
    drawn = " ".join(re.findall(r' (?:d|x|y|cx|width)="([^"]*)"', written))
    assert not re.search("nan|inf", drawn)


def test_a_long_log_makes_no_large_page():
    fit = real()
    log, rows = fit.problem.runs[0][0], 60_000
    long = ist.Motion(
        0.01 * np.arange(rows),
        np.resize(log.q, (rows, 1)),
        np.resize(log.v, (rows, 1)),
        {"joint/control": np.zeros((rows, 1))},
    )
    logs = [dataclasses.replace(long, q=long.q + 1e-6 * k) for k in range(3)]
    again = dataclasses.replace(fit.problem, motions=logs)
    again.evaluation.compiled = fit.problem.evaluation.compiled
    assert len(page(fit, problem=again)) < 1_500_000


def test_a_loaded_fit_says_how_to_see_the_motion(tmp_path):
    loaded, told = ist.Fit.load(real().save(tmp_path / "fit")), []
    with listening(lambda now: told.append(str(now))):
        path = ist.export_report(loaded, tmp_path / "new" / "report.html")
    assert told[:2] == ["writing the report", "predicting the runs for the report"]
    assert "export_report(fit, path, problem=problem)" in path.read_text(encoding="utf-8")


def test_a_browser_shows_the_page_without_complaint(browser, tmp_path):
    browser.go(ist.export_report(real(), tmp_path / "report.html").as_uri())
    clock = browser.run("document.getElementById('clock').textContent")
    assert re.fullmatch(r"\d\.\d\d s of 0\.\d\d s", clock)
    assert browser.run("document.querySelectorAll('option').length") == 7
    browser.press("document.getElementById('play')")  # shows the stage above it
    red, green, blue = np.moveaxis(browser.picture(), -1, 0)
    assert ((red > 0.6) & (green < 0.6) & (red - blue > 0.35)).sum() > 200  # the mechanism
    light = browser.run("getComputedStyle(document.body).backgroundColor")
    browser.press("document.getElementById('theme')")
    assert browser.run("getComputedStyle(document.body).backgroundColor") != light
    assert browser.complaints() == []
