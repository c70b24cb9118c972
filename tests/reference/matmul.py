#!/usr/bin/env python3
"""Makes tests/data/matmul: operands in f32 and their product in f64, by NumPy.

Each case is a_N.npy, b_N.npy, y_N.npy; i_a_N… are integers and their sums modulo 2^32, c_a_N… complex numbers and their
products as f64 with the parts along a last axis. The operands hold different numbers everywhere, so that a transposed or swapped
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


INTEGERS = [
    ("int8", "int8", "int32", (7, 13), (13, 5)),
    ("uint8", "uint8", "int32", (4, 64), (64, 6)),
    ("int8", "uint8", "int32", (2, 3, 4, 8), (2, 1, 8, 5)),
    ("int16", "int16", "int32", (5, 40), (40, 3)),   # wraps
    ("uint32", "int32", "uint32", (3, 9), (9, 4)),   # wraps
    ("uint16", "int8", "int32", (1, 20), (20, 1)),
]
COMPLEX = [
    ("complex64", "complex64", (2, 6, 11), (11, 7)),
    ("complex64", "float32", (4, 9), (9, 3)),
    ("float32", "complex64", (1, 16), (3, 16, 5)),
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
    for i, (a_type, b_type, y_type, a_shape, b_shape) in enumerate(INTEGERS):
        a, b = (random.integers(np.iinfo(t).min, np.iinfo(t).max, size=shape, dtype=t, endpoint=True)
                for t, shape in ((a_type, a_shape), (b_type, b_shape)))
        np.save(OUT / f"i_a_{i}.npy", a)
        np.save(OUT / f"i_b_{i}.npy", b)
        # In Python's integers, which have no end.
        exact = np.matmul(a.astype(object), b.astype(object))
        wrapped = np.vectorize(lambda v: v % 2**32, otypes=[np.uint64])(exact).astype(np.uint32)
        np.save(OUT / f"i_y_{i}.npy", wrapped.view(y_type))
    for i, (a_type, b_type, a_shape, b_shape) in enumerate(COMPLEX):
        a, b = ((random.normal(size=shape) + 1j * random.normal(size=shape)) for shape in (a_shape, b_shape))
        a, b = (v.astype(t) if t == "complex64" else v.real.astype(t) for v, t in ((a, a_type), (b, b_type)))
        np.save(OUT / f"c_a_{i}.npy", a)
        np.save(OUT / f"c_b_{i}.npy", b)
        y = np.matmul(a.astype(np.complex128), b.astype(np.complex128))
        np.save(OUT / f"c_y_{i}.npy", np.ascontiguousarray(y).view(np.float64).reshape(*y.shape, 2))


if __name__ == "__main__":
    main()
