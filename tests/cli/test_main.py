"""The entry point: help without JAX, one sentence for what is wrong, Ctrl-C, broken pipes."""

from __future__ import annotations

import ast
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import isthmus
from isthmus.cli import arguments, output
from isthmus.cli.main import XLA_FLAG, main

ROOT = Path(isthmus.__file__).parent


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that runs `code`."""
    variables = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | environment
    variables["PYTHONPATH"] = str(ROOT.parent)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=variables)


def one_sentence(capsys: pytest.CaptureFixture[str]) -> str:
    """What stands on stderr, which must be one line; stdout must be empty."""
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("isthmus: ")
    assert said.err.count("\n") == 1
    assert said.err.endswith("\n")
    return said.err


@pytest.mark.smoke
@pytest.mark.parametrize(
    "words",
    ["--help", "--version", *(f"{name} --help" for name in arguments.COMMANDS)],
)
def test_help_is_instant(words):
    """No array library is loaded for it."""
    code = f"""
import sys
from isthmus.cli.main import main
assert main({words.split()!r}) == 0
assert not {{"jax", "numpy", "scipy", "matplotlib", "equinox"}} & set(sys.modules)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "isthmus" in done.stdout


def test_help_says_what_decides_the_numbers(capsys):
    assert main(["simulate", "--help"]) == 0
    assert "float64" in capsys.readouterr().out
    assert main(["--help"]) == 0
    assert XLA_FLAG in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, XLA_FLAG),
        ({"XLA_FLAGS": "--xla_foo"}, f"--xla_foo {XLA_FLAG}"),
        ({"XLA_FLAGS": f"{XLA_FLAG[:-5]}true"}, f"{XLA_FLAG[:-5]}true"),
    ],
)
def test_xla_runs_without_its_threads_unless_the_user_wants_them(before, after):
    code = "import os; from isthmus.cli.main import main; main(['--version']); print(os.environ['XLA_FLAGS'])"
    assert run(code, **before).stdout.splitlines()[-1] == after


def test_the_roof_loads_names_when_they_are_used():
    code = "import sys, isthmus as ist; assert 'jax' not in sys.modules; ist.load; assert 'jax' in sys.modules"
    assert run(code).returncode == 0
    assert run("from isthmus import *; State, library.pendulum").returncode == 0
    assert run("import isthmus as ist; ist.dynamics.forward_dynamics").returncode == 0
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        isthmus.nothing  # noqa: B018
    assert set(isthmus.__all__) <= set(dir(isthmus))


def test_type_checkers_see_the_same_names_as_programs():
    tree = ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == isthmus._HOMES


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "The commands are info, simulate, view, check"),
        (["inf"], "no command 'inf'. Did you mean 'info'?"),
        (["wobble"], "no command 'wobble'. The commands are info, simulate, view"),
        (["--jsn"], "a command must come before '--jsn'"),
        (["info"], "'isthmus info' needs a FILE"),
        (["info", "a", "--jsn"], "no option '--jsn'. Did you mean '--json'?"),
        (["info", "a", "--zzzzzzz"], "no option '--zzzzzzz'"),
        (["info", "a", "b"], "does not understand 'b'"),
        (["info", "a", "--json=maybe"], "does not understand 'maybe'"),
        (
            ["info", "a", "--base", "loose"],
            "--base cannot be 'loose'; it is one of 'fixed', 'free'",
        ),
        (["simulate", "a", "--dt", "abc"], "--dt needs a number, not 'abc'"),
        (["simulate", "a", "--seconds", "abc"], "--seconds needs a number, not 'abc'"),
        (["simulate", "a", "--substeps", "1.5"], "--substeps needs a whole number, not '1.5'"),
        (["simulate", "a", "--dt"], "--dt needs a value"),
        (["simulate", "a", "--secnds", "3"], "Did you mean '--seconds'?"),
        (["check", "a", "--seed", "x"], "--seed needs a whole number, not 'x'"),
    ],
)
def test_wrong_arguments_end_in_one_sentence(words, what, capsys):
    assert main(words) == 2
    assert what in one_sentence(capsys)


def test_a_bug_ends_in_one_sentence_too(capsys, monkeypatch):
    def stumble(argv: list[str]) -> None:
        raise ZeroDivisionError("seven\nby zero")

    monkeypatch.setattr(arguments, "parse", stumble)
    monkeypatch.delenv("ISTHMUS_TRACEBACK", raising=False)
    assert main(["info", "a"]) == 2
    assert "ZeroDivisionError: seven by zero" in one_sentence(capsys)
    monkeypatch.setenv("ISTHMUS_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["info", "a"])


def test_a_warning_with_items_is_one_line(capsys):
    output.shown_warnings()("'a.csv':\n  - rows stand out. Say so.\n  - a gap.")
    assert capsys.readouterr().err == "isthmus: warning: 'a.csv': rows stand out. Say so; a gap.\n"


def test_warnings_of_a_thousand_logs_are_a_few_lines(capsys):
    show = output.shown_warnings()
    for k in range(1000):
        show(f"'run_{k}.csv': only {k} rows: too short to learn much from.")
    show("'run_7.csv': a gap.")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == output.MAX_ALIKE + 2
    assert lines[-2:] == [
        "isthmus: warning: further warnings like these are not shown.",
        "isthmus: warning: 'run_7.csv': a gap.",
    ]


def test_ctrl_c_is_one_line_and_status_130(capsys, monkeypatch):
    def interrupted(argv: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(arguments, "parse", interrupted)
    assert main(["info", "a"]) == 130
    assert "stopped by Ctrl-C" in one_sentence(capsys)


def test_ctrl_c_stops_a_long_run_at_once_and_leaves_nothing_behind(tmp_path):
    words = ["simulate", "library:pendulum", "--seconds", "50000", "--out", "motion.csv"]
    command = [sys.executable, "-m", "isthmus", *words]
    child = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT.parent)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(2.0)  # somewhere between tracing and the first parts
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert err == "isthmus: stopped by Ctrl-C; no file is left half-written.\n"
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_leaves_is_no_error():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "isthmus", "info", "library:pendulum"]
    variables = os.environ | {"PYTHONPATH": str(ROOT.parent)}
    with os.fdopen(write, "wb") as pipe:
        done = subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, text=True, env=variables
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_a_terminal_without_our_letters_shows_question_marks():
    code = "from isthmus.cli.main import main; raise SystemExit(main(['info', 'library:pendulum']))"
    done = run(code, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "m/s?" in done.stdout


def test_json_says_the_same_where_letters_are_missing(monkeypatch):
    data = {"unit": "N·m", "numbers": [1.5]}
    for encoding in ("ascii", "utf-8"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
        monkeypatch.setattr(sys, "stdout", stream)
        output.show_json(data)
        stream.flush()
        assert json.loads(stream.buffer.getvalue()) == data  # ty: ignore[unresolved-attribute]


def test_a_closed_stdout_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["info", "library:pendulum"]) == 0
    sys.stdout.close()


def test_a_platform_that_jax_does_not_have_is_named(monkeypatch, capsys):
    class Command:
        def run(self) -> int:
            raise RuntimeError("Unable to initialize backend 'foo': it is not known.")

    monkeypatch.setattr(arguments, "parse", lambda argv: Command())
    monkeypatch.setenv("JAX_PLATFORMS", "foo")
    assert main(["info"]) == 2
    assert "JAX cannot compute on JAX_PLATFORMS=foo; unset it" in one_sentence(capsys)


def test_an_option_of_several_values_may_come_again():
    words = ["--seconds", "1", "--pair", "a+b", "c+d", "--view", "--pair=e+f", "--record", "time"]
    command = arguments.parse(["simulate", "robot.xml", *words])
    assert command.pair == ("a+b", "c+d", "e+f")
    assert (command.seconds, command.view, command.record) == (1.0, True, ("time",))
    with pytest.raises(output.Refused, match="--dt was given twice; it takes one value"):
        arguments.parse(["simulate", "robot.xml", "--dt", "0.1", "--dt=0.2"])
