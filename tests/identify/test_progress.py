"""What is shown while a search runs: on a terminal a small screen, else a line now and then."""

from __future__ import annotations

import io
import sys

import numpy as np

from isthmus.identify.search.progress import head, line, progress
from isthmus.identify.search.search import News
from tests.identify.motions import double_problem


def test_a_line_tells_loss_time_left_and_the_first_values():
    parameters = double_problem().parameters
    text = line(parameters, News(3, 10, 12.5, np.asarray(parameters.start)), 1, 3.0)
    assert text == (
        "step 3 of 10, loss 12.5, at most 7 s left; "
        "link/rod_1/mass = 1, link/rod_2/mass = 1, joint/joint_1/damping = 0.3, …"
    )


def test_progress_tells_loss_islands_best_values_and_time_left(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    parameters = double_problem().parameters
    news = News(20, 100, 12.5, np.asarray(parameters.start))
    assert head(news, 8, 10.0) == "step 20 of 100, 8 islands, loss 12.5, at most 40 s left"
    assert head(News(1, 400, 1.0, news.x), 1, 60.0).endswith("at most 399 min left")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress(parameters, True, islands=8) as listen:
        listen(news)
    shown = sys.stderr.getvalue()
    assert "loss 12.5" in shown
    assert "link/rod_1/mass" in shown


def test_in_a_pipe_progress_is_a_line_now_and_then(monkeypatch, capsys):
    parameters = double_problem().parameters
    monkeypatch.setattr("isthmus.identify.search.progress.EVERY", 0.0)
    with progress(parameters, True) as listen:
        listen(News(20, 100, 12.5, np.asarray(parameters.start)))
    said = capsys.readouterr().err
    assert said.startswith("step 20 of 100, loss 12.5")
    assert "link/rod_1/mass = 1" in said
    assert said.count("\n") == 1
