"""`python -m weft` is the command line."""

import os
import shutil
import sys


def main() -> None:
    beside = os.path.join(os.path.dirname(__file__), "bin", "weft")
    program = beside if os.access(beside, os.X_OK) else os.environ.get("WEFT_PROGRAM") or shutil.which("weft")
    if not program:
        sys.exit("weft: this installation has no program weft; WEFT_PROGRAM may name one")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
