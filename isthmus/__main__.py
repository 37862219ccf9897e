"""`python -m isthmus`: the command line."""

import sys

from isthmus.cli.start import main

if __name__ == "__main__":
    sys.exit(main())
