"""What `isthmus demo` shows is true."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus.cli.main import main
from isthmus.experiments import demo


@pytest.mark.compiles_much("the whole job, as a newcomer sees it")
def test_the_demo_finds_the_truth_and_says_what_it_cannot_know(as_the_user, monkeypatch, capsys):
    fits = []
    run = demo.run
    monkeypatch.setattr(demo, "run", lambda *given: fits.extend(run(*given)))
    assert main(["demo", "--quick", "--no-open"]) == 0
    plain, learned, too_much, free_swing = fits
    before, after = (fit.heldout["joint/position"][1] for fit in (plain, learned))
    assert plain.noise > 5.0, "the friction that the model lacks should leave a residual"
    assert after < 0.5 * before, f"held out: {before:.3g} rad before, {after:.3g} rad after"
    for name in demo.TRUE:
        np.testing.assert_allclose(demo.found(learned, name), demo.TRUE[name], rtol=0.1)
    assert not any("network/" in words for words in learned.undetermined)
    assert any("length[1]" in words for words in too_much.undetermined)
    assert any("mass[0] / mass[1]" in words for words in free_swing.undetermined)
    assert "rods alone" in capsys.readouterr().out
    for name in ("identify.png", "identify.txt", "report.html", "pendulum.safetensors"):
        assert (as_the_user / "out" / name).stat().st_size > 100
