#!/usr/bin/env python3
"""Times NumPy on the cases of `weft_bench evaluations`, under the same names, for weft_bench --compare.

  numpy_evaluations.py [--only NAME] [--seconds 0.3] > numpy.jsonl
"""
import argparse
import json
import time

import numpy as np

COUNT, BATCH = 1000, 16


def chain(x, y, nodes):
    z = x + y
    for i in range(1, nodes):
        z = z * y if i % 2 else z + x
    return z


def reductions(rows, others):
    a = rows * others + rows
    b = a - a.max(-1, keepdims=True)
    return (np.sqrt(np.abs(b)) / a.sum(-1, keepdims=True)).T + np.float32(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=0.3)
    args = parser.parse_args()
    rng = np.random.default_rng(7)
    x, y = (rng.random(COUNT, dtype=np.float32) for _ in range(2))
    rows, others = x.reshape(10, -1), y.reshape(10, -1)
    cases = {
        "one node: x + y": lambda: x + y,
        "one node with a number: x * 0.5": lambda: x * np.float32(0.5),
        "one sum: sum(x)": lambda: x.sum(),
        "ten nodes: sums and products": lambda: chain(x, y, 10),
        "ten nodes with numbers: a polynomial":
            lambda: ((((x * 0.5 + 0.25) * x - 1.5) * x + 2.0) * x - 0.125) * x + 3.0,
        "ten nodes with reductions: rows of 100": lambda: reductions(rows, others),
        "a hundred nodes: sums and products": lambda: chain(x, y, 100),
    }
    for name, call in cases.items():
        if args.only not in name:
            continue
        least, begin, turns = 1e300, time.perf_counter(), 0
        while turns < 5 or time.perf_counter() - begin < args.seconds:
            start = time.perf_counter()
            for _ in range(BATCH):
                call()
            least = min(least, time.perf_counter() - start)
            turns += 1
        print(json.dumps({"name": name, "value": least / BATCH * 1e6, "unit": "us"}), flush=True)


if __name__ == "__main__":
    main()
