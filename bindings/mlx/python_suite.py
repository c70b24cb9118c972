"""Runs MLX's own Python tests with what ./dev mlx build made, each file in a process, and holds the failures against
expected_failures.txt, which has a reason for each.

usage: python_suite.py MLX_SOURCE LIBRARY [MODULE...]
       python_suite.py --file MODULE [TEST...]: runs that file without these tests
       python_suite.py --install LIBRARY: only puts the library where Python's MLX finds it
"""

import concurrent.futures
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

TIMEOUT = float(os.environ.get("WEFT_MLX_TIMEOUT", "1200"))  # seconds a file


def install(library: pathlib.Path) -> None:
    """Puts the library beside the front end, whole at any time."""
    package = importlib.util.find_spec("mlx").submodule_search_locations[0]
    target = pathlib.Path(package) / "lib" / "libmlx.so"
    target.parent.mkdir(exist_ok=True)
    partial = target.with_suffix(".partial")
    shutil.copy(library, partial)
    partial.rename(target)


def run_file(module: str, omitted: set[str]) -> None:
    """Becomes the tests of a file."""
    import mlx.core as mx

    sys.path.insert(0, ".")
    # As many files run as there are processors, and by default each keeps four fifths of all memory to use it again.
    mx.set_cache_limit(1 << 31)

    def without(suite: unittest.TestSuite) -> unittest.TestSuite:
        parts = [without(t) if isinstance(t, unittest.TestSuite) else t for t in suite]
        return unittest.TestSuite(t for t in parts if isinstance(t, unittest.TestSuite) or t.id() not in omitted)

    suite = without(unittest.defaultTestLoader.loadTestsFromName(module))
    sys.exit(0 if unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful() else 1)


def run(tests: pathlib.Path, module: str, omitted: list[str]) -> tuple[str, list[str]]:
    """How the tests of a file went, and the names of those that failed."""
    command = [sys.executable, __file__, "--file", module, *omitted]
    try:
        done = subprocess.run(command, cwd=tests, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"not done after {TIMEOUT:.0f} s", [module]
    ends = re.findall(r"^(Ran .*|OK.*|FAILED.*)$", done.stderr, re.MULTILINE)
    names = re.findall(r"^(?:ERROR|FAIL): \S+ \(([\w.]+)\)", done.stderr, re.MULTILINE)
    failed = {name.removeprefix("unittest.loader._FailedTest.") for name in names}
    if done.returncode != 0 and not failed:
        failed = {module}  # it crashed
    return ", ".join(ends) or f"exit status {done.returncode}", sorted(failed)


def main() -> int:
    if sys.argv[1] == "--file":
        run_file(sys.argv[2], set(sys.argv[3:]))
    if sys.argv[1] == "--install":
        install(pathlib.Path(sys.argv[2]))
        return 0
    source, library = map(pathlib.Path, sys.argv[1:3])
    install(library)
    tests = source / "python" / "tests"
    modules = sys.argv[3:] or sorted(path.stem for path in tests.glob("test_*.py"))
    lines = (pathlib.Path(__file__).parent / "expected_failures.txt").read_text().splitlines()
    expected = {line.split()[0]: line for line in lines if line and not line.startswith("#")}
    omitted = [name.removeprefix("!") for name in expected if name.startswith("!")]
    unexpected = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for module, (summary, failed) in zip(modules, pool.map(lambda m: run(tests, m, omitted), modules)):
            print(f"{module}: {summary}", flush=True)
            for name in failed:
                print(f"  {expected.get(name, name + '  UNEXPECTED')}", flush=True)
                unexpected += [name] if name not in expected else []
    print(f"{len(unexpected)} unexpected failures")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
