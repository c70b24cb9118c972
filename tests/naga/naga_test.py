#!/usr/bin/env python3
"""Gives every portable WGSL module that the tests compiled to Naga, Firefox's compiler: it must be valid there, and
translate to Metal's and Direct3D's languages.

  naga_test.py DIRECTORY    what WEFT_DUMP_WGSL=DIRECTORY wrote
Portable is what enables no extension of Chromium's. Exits with 77 (skipped) where Naga is not installed or nothing was
written; with WEFT_REQUIRE_NAGA=on that is a failure.
"""
import collections
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


def find_naga():
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    for path in (os.environ.get("WEFT_NAGA"), shutil.which("naga"), cache / "weft/naga/bin/naga",
                 pathlib.Path.home() / ".cargo/bin/naga"):
        if path and os.access(path, os.X_OK):
            return str(path)
    return None


def portable(path):
    # The tests' own small shaders are named test.…; those that no compiler takes say so.
    text = path.read_text()
    return not path.name.startswith("test.") and "// wrong on purpose" not in text and "\nenable chromium_" not in text


def skip(why):
    required = os.environ.get("WEFT_REQUIRE_NAGA", "off") not in ("", "off")
    print(f"{'failed, since WEFT_REQUIRE_NAGA is on' if required else 'skipped'}: {why}")
    return 1 if required else SKIPPED


def main():
    naga = find_naga()
    if not naga:
        return skip("Naga is not installed (cargo install naga-cli; ./dev test does it where there is cargo)")
    modules = [path for path in sorted(pathlib.Path(sys.argv[1]).glob("**/*.wgsl")) if portable(path)]
    if not modules:
        return skip(f"no WGSL in {sys.argv[1]}; the unit tests write it there")

    def check(path):
        with tempfile.TemporaryDirectory() as scratch:
            module, *outputs = [str(pathlib.Path(scratch) / name) for name in ("in.wgsl", "out.metal", "out.hlsl")]
            # Naga supports subgroups, but rejects the line that enables them.
            pathlib.Path(module).write_text(path.read_text().replace("\nenable subgroups;", "\n"))
            process = subprocess.run([naga, module, *outputs], stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, check=False)
            return path, process.returncode, process.stdout.decode(errors="replace")

    failures = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, text in pool.map(check, modules):
            if code != 0:
                failures[path.name.rsplit("_", 1)[0]].append((path, text))
    for kernel, cases in sorted(failures.items()):
        path, text = cases[0]
        print(f"{kernel}: {len(cases)} modules are refused; the first, {path}:\n{path.open().readline()}{text}\n")
    broken = sum(len(cases) for cases in failures.values())
    print(f"{len(modules) - broken} passed, {broken} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
