#!/usr/bin/env python3
"""The README's C++ is taken from the examples, its commands exist, and weft/weft.h includes all public headers.

  readme_test.py SOURCE_DIR
"""
import pathlib
import re
import subprocess
import sys

from snippets import failures as snippet_failures
from snippets import link_failures, programs


def brought_by(include, name, seen):
    """All headers that `name` includes, and itself."""
    if name in seen or not (include / name).exists():
        return seen
    seen.add(name)
    for other in re.findall(r'#include "(weft/[^"]+)"', (include / name).read_text()):
        brought_by(include, other, seen)
    return seen


# What the README says is missing, by what a public header would declare if it were there.
MISSING = {
    "Gradients": r"\b(?:grad|gradients?|vjp|backward)\(",
    "Convolution": r"\bconv(?:\d|_transpose|olution)\w*\(",
    "pooling": r"\b(?:max_pool|average_pool|avg_pool|pool2d)\w*\(",
    "resizing": r"\b(?:resize|resample|interpolate)\(",
    "FFT": r"\br?fft\(",
    "linear algebra": r"\b(?:solve|cholesky|svd|qr|eigh)\(",
    "ONNX": r"namespace (?:weft::)?onnx",
    "WebNN": r"namespace (?:weft::)?webnn",
    "DLPack": r"\b(?:from|to)_dlpack\(",
}


def missing_failures(readme, source):
    """What the README calls missing although a header declares it, or does not say although none does."""
    section = readme[readme.index("## What Weft does not do yet"):]
    section = section[:section.index("\n## ")]
    headers = "\n".join(re.sub(r"//[^\n]*", "", path.read_text()) for path in (source / "include").rglob("*.h"))
    for what, declared in MISSING.items():
        if what in section and re.search(declared, headers):
            yield f"README.md: {what} is said to be missing, but a public header has it"
        if what not in section and not re.search(declared, headers):
            yield f"README.md: it is not said that {what} is missing"


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    readme = (source / "README.md").read_text()
    failures, snippets = snippet_failures("README.md", readme, programs(source))
    help_text = subprocess.run([source / "dev", "--help"], capture_output=True, text=True, check=True).stdout
    commands = set(re.findall(r"^\./dev (\w+)", readme, re.MULTILINE))
    failures += [f"README.md: ./dev {verb} is not in ./dev --help" for verb in commands if f"./dev {verb}" not in help_text]
    failures += link_failures("README.md", readme, source)
    failures += missing_failures(readme, source)
    include = source / "include"
    brought = brought_by(include, "weft/weft.h", set())
    failures += [f"weft/weft.h does not bring {path.relative_to(include)}" for path in include.rglob("*.h")
                 if str(path.relative_to(include)) not in brought]
    for failure in failures:
        print(failure)
    print(f"{snippets} snippets, {len(commands)} commands")
    return 1 if failures or not snippets or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
