"""`isthmus fit`: what it says, writes and refuses; Ctrl-C keeps the best."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

import isthmus as ist
from isthmus.cli import fitting
from isthmus.cli.main import main
from isthmus.identify.search.search import News
from tests.cli.test_main import one_sentence
from tests.study.logs import write_logs
from tests.study.test_run import TEXT

SIMPLE = ["fit", "library:pendulum", "logs/run_0.csv", "logs/run_1.csv", "--no-check"]
SIMPLE += ["--free", "link/*/mass=0.2:4", "--loss", "windows:20", "--noise", "1e-3"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_logs(tmp_path / "logs", 3)
    (tmp_path / "study.toml").write_text(TEXT.replace('"mjcf", ', ""), encoding="utf-8")
    return tmp_path


def test_a_study_is_checked_fitted_and_written(place, capsys):
    assert main(["fit", "study.toml"]) == 0
    said = capsys.readouterr()
    assert all("so far)" in line for line in said.err.splitlines())  # phases, on a slow machine
    for words in ["windows", "link/rod_1/mass", "held out joint/position", "converged"]:
        assert words in said.out
    assert (
        "wrote fit: fit.json, fit.npz, model.safetensors, study.toml, table.txt, pendulum_2.urdf"
        in said.out
    )
    assert ist.Fit.load("fit").status == "converged"
    assert main(["fit", "study.toml"]) == 2
    assert "--resume goes on from it, --replace overwrites it" in one_sentence(capsys)


def test_robot_logs_and_free_are_enough(place, capsys):
    assert main([*SIMPLE, "--heldout", "1", "--out", "there"]) == 0
    assert "held out" in capsys.readouterr().out
    assert abs(ist.Fit.load("there")["link/rod_2/mass"].value - 0.7) < 0.05
    again = ist.Study.load(place / "there" / "study.toml")
    assert again.loss == ist.Windows(20)


def test_the_command_that_designs_a_motion_is_said_once_and_not_in_python(capsys):
    extra = ["link/rod_1/inertia", "--out", "there"]
    main([*SIMPLE[:7], *extra[:1], *SIMPLE[7:], *extra[1:]])
    said = capsys.readouterr().out
    assert said.count("isthmus design library:pendulum") == 1
    assert "ist.design" not in said


def test_ctrl_c_keeps_the_best_and_resume_goes_on(monkeypatch, capsys):
    @contextlib.contextmanager
    def stopped(*_, **__):
        def listen(news: News) -> None:
            if news.step >= 1:
                raise KeyboardInterrupt

        yield listen

    with monkeypatch.context() as patch:
        patch.setattr(fitting, "progress", stopped)
        assert main(SIMPLE) == 130
    assert "the best so far is written, --resume goes on" in capsys.readouterr().err
    first = ist.Fit.load("fit")
    assert "stopped by the user" in first.status
    assert main([*SIMPLE, "--resume"]) == 0
    assert ist.Fit.load("fit").loss <= first.loss


def test_init_writes_a_study_that_runs_and_overwrites_nothing(place, capsys):
    assert main(["fit", "--init", "library:pendulum", "logs/", "--out", "mine.toml"]) == 0
    assert "isthmus fit mine.toml" in capsys.readouterr().out
    assert ist.Study.load("mine.toml").robot == "library:pendulum"
    assert main(["fit", "--init", "library:pendulum", "logs/", "--out", "mine.toml"]) == 2
    assert "--replace overwrites it" in one_sentence(capsys)


def test_init_takes_a_folder_for_the_study(place, capsys):
    assert main(["fit", "--init", "library:pendulum", "logs/", "--out", "new/"]) == 0
    assert ist.Study.load(place / "new" / "study.toml").robot == "library:pendulum"


def test_old_names_of_options_work_and_say_what_they_are_called_now(place, capsys):
    (place / "study.toml").touch()
    assert main(["fit", "--init", "library:pendulum", "logs/", "--force", "--unchecked"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert (
        said[0] == "isthmus: --force is now --replace; the old name will be removed in version 0.3."
    )
    assert said[1].startswith("isthmus: --unchecked is now --no-check;")
    assert main(["fit", "--help"]) == 0
    assert "--force" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "needs a study file, or a robot and its logs"),
        ("library:pendulum", "There are no logs after 'library:pendulum'"),
        ("library:pendulum logs/run_0.csv", "nothing is free"),
        ("library:pendulum logs/run_0.csv --free link/*/mas", "nothing of 'pendulum_2' is called 'link/*/mas'"),
        ("library:pendulum logs/run_0.csv --free gravity=1", "not of the form NAME=LOW:HIGH"),
        ("library:pendulum logs/run_0.csv --free gravity --loss windows:x", "no whole number"),
        ("library:pendulum logs/run_0.csv --free gravity --search adm", "Did you mean 'adam'?"),
        ("study.toml --free gravity", "--free belongs into the study file"),
        ("study.toml logs/run_0.csv", "a study names its logs itself"),
        ("stdy.toml", "Did you mean 'study.toml'?"),
        ("study.toml --resume", "nothing to resume"),
        ("--init study.toml", "--init takes a robot and its logs"),
        ("--init library:pendulum --out new.toml", "logs are missing"),
        ("study.toml --resme", "Did you mean '--resume'?"),
    ],
)  # fmt: skip
def test_what_makes_no_fit_is_said_in_one_sentence(words, sentence, place, capsys):
    assert main(["fit", *words.split()]) == 2
    assert sentence in one_sentence(capsys)
    assert not (place / "fit").exists()


def test_a_log_without_any_number_is_one_line(capsys):
    rows = "\n".join(f"{0.01 * k:.2f},nan," for k in range(50))
    Path("nan.csv").write_text(f"t,joint_1,joint_2\n{rows}\n", encoding="utf-8")
    assert main(["fit", "library:pendulum", "nan.csv", "--free", "link/*/mass"]) == 2
    assert "'nan.csv' holds no number besides its time stamps" in one_sentence(capsys)


def test_a_study_is_begun_with_a_word_about_logs_that_cannot_be_read_yet(capsys):
    rows = "\n".join(f"{0.01 * k:.2f},{k},{-k}" for k in range(50))
    Path("de.csv").write_text(f"zeit,schulter,ellbogen\n{rows}\n", encoding="utf-8")
    assert main(["fit", "--init", "library:pendulum", "de.csv", "--out", "de.toml"]) == 0
    said = capsys.readouterr()
    assert "wrote de.toml" in said.out
    assert said.err.startswith("isthmus: warning: 'de.csv' cannot be read yet")
    assert '# "schulter" = ""' in Path("de.toml").read_text(encoding="utf-8")


def test_options_that_a_begun_study_would_not_hold_are_refused(capsys):
    assert main(["fit", "--init", "library:pendulum", "logs/", "--loss", "torque"]) == 2
    assert "--init does not take --loss" in one_sentence(capsys)
