"""`python -m weft` is the command line, which is also installed as `weft`."""

import sys

from . import _core


def main() -> None:
    sys.exit(_core.command_line(["weft", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
