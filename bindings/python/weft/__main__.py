"""`python -m weft` is the command line."""

import os
import shutil
import sys


def main() -> None:
    beside = os.path.join(os.path.dirname(__file__), "bin", "weft")
    program = beside if os.access(beside, os.X_OK) else shutil.which("weft")
    if not program:
        sys.exit("weft: this installation has no program weft, and PATH names none")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
