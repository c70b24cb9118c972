#!/usr/bin/env python3
"""docs/tutorial.md: its C++ is taken from the program that the tests run, its commands exist, its links lead somewhere.

  tutorial_test.py SOURCE_DIR
"""
import pathlib
import re
import subprocess
import sys

from snippets import failures as snippet_failures
from snippets import link_failures, programs


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    page = source / "docs" / "tutorial.md"
    text = page.read_text()
    failures, snippets = snippet_failures("docs/tutorial.md", text, {"tutorial.cc": programs(source)["tutorial.cc"]})
    failures += link_failures("docs/tutorial.md", text, page.parent)
    help_text = subprocess.run([source / "dev", "--help"], capture_output=True, text=True, check=True).stdout
    verbs = set(re.findall(r"\./dev (\w+)", text))
    failures += [f"docs/tutorial.md: ./dev {verb} is not in ./dev --help" for verb in verbs if f"./dev {verb}" not in help_text]
    # Each of its parts is a part of the page, in the same order.
    parts = [int(n) for n in re.findall(r"^## (\d+)\.", text, re.MULTILINE)]
    if parts != list(range(1, len(parts) + 1)):
        failures.append(f"docs/tutorial.md: the parts are numbered {parts}")
    for failure in failures:
        print(failure)
    print(f"{snippets} snippets, {len(verbs)} commands, {len(parts)} parts")
    return 1 if failures or not snippets or not verbs or not parts else 0


if __name__ == "__main__":
    sys.exit(main())
