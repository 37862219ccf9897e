"""Arguments -> a command: tyro parses them, and its error messages become one sentence.

Names of commands and options are checked here first, so that a misspelt one is answered with its neighbour; the
rest of what tyro has to say is taken from the box that it prints.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import operator
import re
from typing import Annotated, Any

from isthmus import __version__
from isthmus.cli.bench import Bench
from isthmus.cli.check import Check
from isthmus.cli.completion import Completion
from isthmus.cli.demo import Demo
from isthmus.cli.design import Design
from isthmus.cli.discover import Discover
from isthmus.cli.doctor import Doctor
from isthmus.cli.export import Export
from isthmus.cli.fit import Fit
from isthmus.cli.info import Info
from isthmus.cli.output import Refused, say
from isthmus.cli.posterior import Posterior
from isthmus.cli.predict import Predict
from isthmus.cli.randomise import Randomise
from isthmus.cli.reproduce import Reproduce
from isthmus.cli.simulate import Simulate
from isthmus.cli.track import Track
from isthmus.cli.view import View
from isthmus.errors import did_you_mean

COMMANDS: dict[str, Any] = {
    "info": Info, "simulate": Simulate, "view": View, "check": Check, "fit": Fit, "posterior": Posterior,
    "discover": Discover, "predict": Predict, "track": Track, "design": Design, "randomise": Randomise,
    "export": Export, "reproduce": Reproduce, "bench": Bench, "demo": Demo, "doctor": Doctor, "completion": Completion,
}  # fmt: skip
DESCRIPTION = """A differentiable simulator of articulated rigid bodies.

FILE is a URDF or MJCF file, a model that ist.save wrote, or one that comes with isthmus: library:pendulum …
XLA runs with --xla_cpu_multi_thread_eigen=false, which is faster here, unless XLA_FLAGS says otherwise."""

RENAMED = {"fit": {"--force": "--replace", "--unchecked": "--no-check"}}
"""Old names of options, by command; they work until version 0.3 and are not in the help."""

WHAT_THERE_IS = f"The commands are {', '.join(COMMANDS)}; 'isthmus --help' says more."


def parse(argv: list[str]) -> Any:
    """The requested command, or an exit status where help or the version was printed."""
    if argv == ["--version"]:
        print(f"isthmus {__version__}")
        return 0
    argv = _with_new_names(argv)
    _check_names(argv)
    argv = _each_once(argv)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return _by_tyro(argv)
    except SystemExit as end:
        if not end.code:
            return 0
    raise Refused(_sentence(said.getvalue(), argv))


def completion(shell: str) -> int:
    """Prints the script by which `shell` completes our commands; returns the exit status."""
    try:
        _by_tyro(["--tyro-print-completion", shell])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _by_tyro(argv: list[str]) -> Any:
    import tyro
    from tyro.conf import FlagCreatePairsOff, subcommand

    named = [Annotated[kind, subcommand(name)] for name, kind in COMMANDS.items()]
    kinds = functools.reduce(operator.or_, named)
    settings = (FlagCreatePairsOff,)
    return tyro.cli(kinds, prog="isthmus", description=DESCRIPTION, args=argv, config=settings)


def _with_new_names(argv: list[str]) -> list[str]:
    """The arguments with old names of options replaced, each with a notice on stderr."""
    renamed = RENAMED.get(argv[0], {}) if argv else {}
    for old in dict.fromkeys(part for part in argv if part in renamed):
        say(f"{old} is now {renamed[old]}; the old name will be removed in version 0.3.")
    return [renamed.get(part, part) for part in argv]


def _check_names(argv: list[str]) -> None:
    """Refuses unknown commands and options."""
    if not argv:
        raise Refused(f"no command was given. {WHAT_THERE_IS}")
    command, *rest = argv
    if command.startswith("-"):
        if command not in ("-h", "--help", "-H", "--help-verbose"):
            raise Refused(f"a command must come before {command!r}. {WHAT_THERE_IS}")
        return
    if command not in COMMANDS:
        near = did_you_mean(command, COMMANDS) or f" {WHAT_THERE_IS}"
        raise Refused(f"there is no command {command!r}.{near}")
    fields = [field.name for field in dataclasses.fields(COMMANDS[command])]
    known = [
        f"--{name.replace('_', '-')}"
        for name in fields
        if name not in ("file", "files", "study", "shell")
    ]
    for option in (part.partition("=")[0] for part in rest if part.startswith("--")):
        if option not in (*known, "--help", "--help-verbose"):
            near = did_you_mean(option, known) or f" 'isthmus {command} --help' lists them."
            raise Refused(f"'isthmus {command}' has no option {option!r}.{near}")


def _each_once(argv: list[str]) -> list[str]:
    """The values of an option that takes several behind each other; one that takes a single value may not come twice.

    Of an option that comes again, tyro would forget what came first.
    """
    defaults = {f"--{f.name.replace('_', '-')}": f.default for f in _fields(argv[0])}
    kept: list[list[str]] = [[]]
    first: dict[str, list[str]] = {}
    for part in argv:
        option, _, value = part.partition("=")
        if option not in defaults:
            kept[-1].append(part)
        elif option not in first:
            kept.append([part])
            first[option] = kept[-1]
        elif isinstance(defaults[option], tuple):
            kept.append(first[option])  # what follows goes there
            kept[-1] += [value] if value else []
        elif not isinstance(defaults[option], bool):
            raise Refused(f"{option} was given twice; it takes one value.")
    whole = {id(group): group for group in kept}
    return [part for group in whole.values() for part in group]


def _fields(command: str) -> tuple[dataclasses.Field, ...]:
    """The options of a command; of none, or of one that does not exist: none."""
    return dataclasses.fields(COMMANDS[command]) if command in COMMANDS else ()


def _sentence(box: str, argv: list[str]) -> str:
    """The error message in tyro's box, as one sentence."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip("│╭╮╰╯|+ ") for line in box.splitlines()]
    text = " ".join(line for line in lines if line and "──" not in line and "---" not in line)
    if found := re.search(
        r"Error parsing (--\S+):.*could not convert string to float: ('.*?')", text
    ):
        return f"{found[1]} needs a number, not {found[2]}."
    if found := re.search(r"Error parsing (--\S+):.*invalid literal for int\(\).*?: ('.*?')", text):
        return f"{found[1]} needs a whole number, not {found[2]}."
    if found := re.search(
        r"invalid choice ('.*?') for argument '(.*?)'. Expected one of \((.*?),?\)", text
    ):
        return f"{found[2]} cannot be {found[1]}; it is one of {found[3]}."
    if found := re.search(r"Missing value for argument '(--\S+?)'", text):
        return f"{found[1]} needs a value."
    if "FILE" in text and "Missing from" in text:
        return f"'isthmus {argv[0]}' needs a FILE: a URDF or MJCF file, a saved model, or library:NAME."
    if found := re.search(r"Missing from [^:]*: (--\S+) \{(.*?)\}", text):
        return f"'isthmus {argv[0]}' needs {found[1]}, one of {found[2].replace(',', ', ')}."
    if found := re.search(r"Unrecognized options: (.*?)(?: For full| Perhaps|$)", text):
        return f"'isthmus {argv[0]}' does not understand {found[1].strip()!r}."
    return text.partition("For full helptext")[0].strip() or "these arguments are not understood."
