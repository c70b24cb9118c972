#!/usr/bin/env python3
"""Makes tests/data/matmul: operands in f32 and their product in f64, by NumPy.

Each case is a_N.npy, b_N.npy, y_N.npy. The operands hold different numbers everywhere, so that a transposed or swapped
operand or a batch taken twice shows.
"""
import pathlib

import numpy as np

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "matmul"
CASES = [
    ((1, 1), (1, 1)),
    ((7, 13), (13, 5)),
    ((2, 3, 4, 6), (2, 1, 6, 5)),    # batches broadcast
    ((3, 4, 33), (33, 9)),           # one b for all batches
    ((4, 17), (3, 17, 8)),           # one a for all batches
    ((1, 70), (70, 1)),
]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(20261121)
    for i, (a_shape, b_shape) in enumerate(CASES):
        a = random.normal(size=a_shape).astype(np.float32)
        b = random.normal(size=b_shape).astype(np.float32)
        np.save(OUT / f"a_{i}.npy", a)
        np.save(OUT / f"b_{i}.npy", b)
        np.save(OUT / f"y_{i}.npy", np.matmul(a.astype(np.float64), b.astype(np.float64)))


if __name__ == "__main__":
    main()
