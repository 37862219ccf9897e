"""The entry point: arguments -> command -> exit status.

0: done. 1: done, and the answer is bad (a wrong gradient, a motion that blew up). 2: refused; one sentence on
stderr says why. 130: stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from isthmus.cli import output
from isthmus.cli.interrupt import ctrl_c
from isthmus.errors import MOST_FAULTS, BadInput, IsthmusError, IsthmusWarning

XLA_FLAG = "--xla_cpu_multi_thread_eigen=false"
"""Without its thread pool, XLA runs the small arrays of a mechanism several times faster."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status; `argv` without the program's name."""
    output.prepare_streams()
    _prepare_xla()
    with ctrl_c(until_exit=argv is None):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", IsthmusWarning)
                warnings.showwarning = output.shown_warnings()  # ty: ignore[invalid-assignment]
                return _run(list(sys.argv[1:] if argv is None else argv))
        except KeyboardInterrupt:
            output.say("stopped by Ctrl-C; no file is left half-written.")
            output.leave_if_busy(130)
            return 130
        except BrokenPipeError:  # `isthmus info … | head`
            output.silence()
            return 141


def _run(argv: list[str]) -> int:
    try:
        from isthmus.cli import arguments

        command = arguments.parse(argv)
        status = command if isinstance(command, int) else command.run()
        sys.stdout.flush()
        return status
    except output.Refused as refused:
        output.say(str(refused))
    except BadInput as bad:
        output.say(_all_faults(bad))
    except IsthmusError as error:
        output.say(str(error))
    except BrokenPipeError:
        raise
    except OSError as failed:  # a full disk behind stdout, among others
        output.say(f"{failed.strerror or failed}.")
        output.silence()
    except Exception as bug:
        platforms = os.environ.get("JAX_PLATFORMS")
        if platforms and "initialize backend" in str(bug):
            output.say(
                f"JAX cannot compute on JAX_PLATFORMS={platforms}; unset it, or set it to cpu."
            )
            return 2
        if os.environ.get("ISTHMUS_TRACEBACK"):
            raise
        output.say(
            f"{type(bug).__name__}: {bug or 'no message'} (this should not happen; "
            f"ISTHMUS_TRACEBACK=1 shows where it comes from)."
        )
    return 2


def _all_faults(bad: BadInput) -> str:
    """The faults of a file in one sentence."""
    if len(bad.faults) < 2:
        return str(bad)
    faults, more = bad.listed()[:MOST_FAULTS], bad.listed()[MOST_FAULTS:]
    listed = [f"({k}) {fault.rstrip('.')}" for k, fault in enumerate(faults, 1)] + more
    where = f"{bad.source}: " if bad.source else ""
    return f"{where}{len(bad.faults)} faults: {'; '.join(listed)}. [{bad.code}]"


def _prepare_xla() -> None:
    """Chooses XLA's threads, unless jax runs already or the user chose."""
    flags = os.environ.get("XLA_FLAGS", "")
    if "jax" not in sys.modules and "xla_cpu_multi_thread_eigen" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {XLA_FLAG}".strip()


if __name__ == "__main__":
    sys.exit(main())
