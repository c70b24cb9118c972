#!/usr/bin/env python3
"""The README's C++ is taken from the examples, its CMake from projects that a test builds, its commands exist and what
they write is ignored by Git, and weft/weft.h includes all public headers. The links of CONTRIBUTING.md and CHANGELOG.md
lead somewhere.

  readme_test.py SOURCE_DIR
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

from snippets import failures as snippet_failures
from snippets import in_order, link_failures, programs, stripped


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


def build_failures(source, readme):
    """What of the README's CMake and of its line for pkg-config is not what the tests of packages use."""
    projects = [stripped(path.read_text()) for path in (source / "tests" / "consumer").rglob("CMakeLists.txt")]
    found, blocks = [], re.findall(r"```cmake\n(.*?)```", readme, re.DOTALL)
    for block in blocks:
        lines = stripped(block)
        reached = max(in_order(lines, project) for project in projects)
        if reached < len(lines):
            found.append(f"README.md: in no project of tests/consumer, after the lines before it: {lines[reached]}")
    flags = "$(pkg-config --cflags --libs weft)"
    for text, name in ((readme, "README.md"), ((source / "tests/install/install_test.sh").read_text(), "install_test.sh")):
        if flags not in text:
            found.append(f"{name} has no {flags}")
    return found + ([] if len(blocks) >= 2 else ["README.md: its CMake for find_package and FetchContent is gone"])


def written_files(readme):
    """The files that the commands of the README write where they run."""
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", readme, re.DOTALL))
    return set(re.findall(r"(?:> |--output |--html |--trace )([\w.-]+\.\w+)", commands))


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    readme = (source / "README.md").read_text()
    failures, snippets = snippet_failures("README.md", readme, programs(source))
    help_text = subprocess.run([source / "dev", "--help"], capture_output=True, text=True, check=True).stdout
    commands = set(re.findall(r"^\./dev (\w+)", readme, re.MULTILINE))
    failures += [f"README.md: ./dev {verb} is not in ./dev --help" for verb in commands if f"./dev {verb}" not in help_text]
    failures += link_failures("README.md", readme, source)
    failures += missing_failures(readme, source)
    failures += build_failures(source, readme)
    ignored = [line.lstrip("/") for line in (source / ".gitignore").read_text().splitlines() if line and line[0] != "#"]
    written = written_files(readme)
    failures += [f"README.md: {name}, which a command writes, is not in .gitignore" for name in sorted(written)
                 if not any(fnmatch.fnmatch(name, pattern) for pattern in ignored)]
    failures += [] if written else ["README.md: no command writes a file; did its form change?"]
    for page in ("CONTRIBUTING.md", "CHANGELOG.md"):
        failures += link_failures(page, (source / page).read_text(), source)
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
