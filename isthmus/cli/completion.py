"""`isthmus completion`: a script with which a shell completes commands and options."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from tyro.conf import Positional, arg


@dataclasses.dataclass(frozen=True)
class Completion:
    """Prints a script that completes commands and options.

    bash: isthmus completion bash > ~/.local/share/bash-completion/completions/isthmus.
    zsh: isthmus completion zsh > a file _isthmus in a folder of $fpath.
    """

    shell: Annotated[Positional[Literal["bash", "zsh", "tcsh"]], arg(metavar="SHELL")] = "bash"
    """bash, zsh or tcsh."""

    def run(self) -> int:
        """Prints the script."""
        from isthmus.cli import arguments

        return arguments.completion(self.shell)
