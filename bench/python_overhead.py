#!/usr/bin/env python3
"""Times what a call from Python costs beside what it computes: Weft, and other libraries that are installed, in one run
on the CPU. A JSON line a figure, under the same names, in microseconds: the median of 15 rounds, in which the libraries
take turns.

  ./dev python run bench/python_overhead.py [--libraries weft mlx torch jax numpy] [--rounds 15]
"""

import argparse
import importlib
import importlib.util
import json
import statistics
import subprocess
import sys
import time


class Weft:
    eager = False

    def __init__(self):
        import weft

        weft.set_default_device("cpu")
        self.m, self.array = weft, weft.asarray
        self.eval, self.compile = weft.eval, weft.compile

    def wait(self, y):
        self.m.wait(y)


class Mlx:
    eager = False

    def __init__(self):
        import mlx.core

        mlx.core.set_default_device(mlx.core.cpu)
        self.m, self.array = mlx.core, mlx.core.array
        self.eval, self.compile, self.wait = mlx.core.eval, mlx.core.compile, mlx.core.eval


class Torch:
    eager = True

    def __init__(self):
        import torch

        torch.set_num_threads(1)
        self.m, self.array = torch, lambda values: torch.tensor(values)
        self.eval = self.wait = lambda *y: None
        self.compile = None


class Jax:
    eager = True

    def __init__(self):
        import jax

        self.m, self.array = jax.numpy, jax.numpy.asarray
        self.eval = self.wait = jax.block_until_ready
        self.compile = jax.jit


class Numpy:
    eager = True

    def __init__(self):
        import numpy

        self.m, self.array = numpy, lambda values: numpy.asarray(values, dtype=numpy.float32)
        self.eval = self.wait = lambda *y: None
        self.compile = None


LIBRARIES = {"weft": (Weft, "weft"), "mlx": (Mlx, "mlx.core"), "torch": (Torch, "torch"), "jax": (Jax, "jax"),
             "numpy": (Numpy, "numpy")}


def per_call(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls * 1e6


def ten_nodes(m, x, y):
    a = m.exp(x * 0.5) + y
    b = a - m.sin(a)
    c = m.sqrt(abs(b)) / (a * a + 1.0)
    return c + y


def cases(lib):
    """Name and a function of how many turns, which gives microseconds of one."""
    x, y = lib.array([0.5] * 16), lib.array([0.25] * 16)
    lib.wait(x + y)
    # What is dropped before it is evaluated costs a lazy library the node alone.
    node = "a node" if not lib.eager else "an eager addition of 16 elements"
    result = {node: lambda: x + y,
              "ten nodes of 16 elements, evaluated": lambda: lib.eval(ten_nodes(lib.m, x, y))}
    if lib.compile:
        def sum_of(a, b, c, d, e, f, g, h, i, j):
            return a + b + c + d + e + f + g + h + i + j

        compiled, arguments = lib.compile(sum_of), [x] * 10
        lib.wait(compiled(*arguments))
        result["a call of a compiled function with ten arguments"] = lambda: lib.eval(compiled(*arguments))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, help="default: those that are installed")
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()

    def installed(name):
        package = LIBRARIES[name][1]
        return importlib.util.find_spec(package.split(".")[0]) is not None

    names = args.libraries or [n for n in LIBRARIES if installed(n)]
    for name in names:
        package = LIBRARIES[name][1]
        text = f"import time; t = time.perf_counter(); import {package}; print(time.perf_counter() - t)"
        times = [float(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout)
                 for _ in range(5)]
        print(json.dumps({"library": name, "name": "import", "value": round(statistics.median(times) * 1e6), "unit": "us"}),
              flush=True)
    all_cases = [(n, case, call) for n in names for case, call in cases(LIBRARIES[n][0]()).items()]
    times = {(n, case): [] for n, case, _ in all_cases}
    for turn in range(args.rounds + 1):
        for n, case, call in all_cases:
            spent = per_call(call, 2000)
            if turn:  # the first is a warm-up
                times[n, case].append(spent)
    for (n, case), spent in times.items():
        print(json.dumps({"library": n, "name": case, "value": round(statistics.median(spent), 3), "unit": "us"}))


if __name__ == "__main__":
    main()
