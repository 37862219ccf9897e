"""Where the command line starts: Ctrl-C ends it quietly from here on, also while the other modules load."""

import os
import signal
import sys
from types import FrameType


def leave(number: int, frame: FrameType | None) -> None:
    """Hears Ctrl-C before anything was begun: one sentence, and the process ends."""
    os.write(sys.stderr.fileno(), b"isthmus: stopped by Ctrl-C; no file is left half-written.\n")
    os._exit(130)


def main() -> int:
    """Runs the command of `sys.argv` and returns the exit status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    from isthmus.cli.main import main  # slow to import

    return main()
