#!/usr/bin/env python3
"""A page of documentation: its C++ is taken from the examples, its links lead somewhere.

  page_test.py SOURCE_DIR PAGE
"""
import pathlib
import sys

from snippets import failures as snippet_failures
from snippets import link_failures, programs


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    page = source / sys.argv[2]
    text = page.read_text()
    failures, snippets = snippet_failures(sys.argv[2], text, programs(source))
    failures += link_failures(sys.argv[2], text, page.parent)
    for failure in failures:
        print(failure)
    print(f"{snippets} snippets")
    return 1 if failures or not snippets else 0


if __name__ == "__main__":
    sys.exit(main())
