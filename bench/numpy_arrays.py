#!/usr/bin/env python3
"""Times NumPy on the cases of `weft_bench arrays`, under the same names, for weft_bench --compare.

  numpy_arrays.py [--only NAME] [--seconds 0.3] > numpy.jsonl
"""
import argparse
import json
import time

import numpy as np

COUNT = 1 << 20


def accelerations(bodies):
    away = bodies[None, :, :] - bodies[:, None, :]
    squares = (away * away).sum(-1, keepdims=True) + np.float32(0.01)
    return (away / (squares * np.sqrt(squares))).sum(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=0.3)
    args = parser.parse_args()
    rng = np.random.default_rng(7)

    def normal(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    def measure(name, call):
        if args.only not in name:
            return
        least, begin, turns = 1e300, time.perf_counter(), 0
        while turns < 5 or time.perf_counter() - begin < args.seconds:
            start = time.process_time()
            call()
            least = min(least, time.process_time() - start)
            turns += 1
        print(json.dumps({"name": name, "value": least * 1e3, "unit": "ms"}), flush=True)

    for width in (1, 2, 3, 4, 5, 7, 24):
        rows = COUNT // width
        x, column, row = normal(rows, width), normal(rows, 1), normal(width)
        measure(f"x * column, rows of {width}", lambda: x * column)
        measure(f"x - row, rows of {width}", lambda: x - row)
        measure(f"sum of each row, rows of {width}", lambda: x.sum(-1))
        measure(f"argmax of each row, rows of {width}", lambda: x.argmax(-1))
    bodies, points, row = normal(256, 3), normal(COUNT // 3, 3), normal(3)
    halves, small, planes = points.astype(np.float16), rng.integers(0, 99, points.shape, np.int32), normal(3, COUNT // 3)
    measure("accelerations of 256 bodies", lambda: accelerations(bodies))
    measure("(x - row) / max(x), rows of 3", lambda: (points - row) / points.max(-1, keepdims=True))
    half_row = row.astype(np.float16)
    measure("x - row f16, rows of 3", lambda: halves - half_row)
    measure("x - row i32, rows of 3", lambda: small - small[5:6])
    measure("planes of 3 and rows of 3", lambda: planes.T * points)
    measure("every second column of 4", lambda: points.reshape(-1)[: COUNT // 4 * 4 - 4].reshape(-1, 4)[:, ::2] * 2)

    x, half, sixth, square = normal(COUNT), normal(COUNT // 2), normal(COUNT // 6, 3), normal(512, 512)
    order = rng.permutation(COUNT).astype(np.int32)
    rows, columns = rng.integers(0, COUNT // 3, COUNT // 3, np.int32), rng.integers(0, 1024, 1024, np.int32)
    table, elements = normal(1024, 1024), rng.integers(0, 1024, (1024, 1024), np.int32)
    measure("tile, twice 2^19", lambda: np.tile(half, 2))
    measure("tile, a row of 3", lambda: np.tile(row, (COUNT // 3, 1)))
    measure("tile, 3 elements", lambda: np.tile(row, COUNT // 3))
    measure("tile, rows of 3 twice", lambda: np.tile(sixth, (1, 2)))
    measure("tile, 2 x 2 of 512 x 512", lambda: np.tile(square, (2, 2)))
    measure("repeat each twice", lambda: half.repeat(2))
    measure("repeat rows of 3 twice", lambda: sixth.repeat(2, 0))
    measure("roll by 1000", lambda: np.roll(x, 1000))
    measure("roll rows of 3 by 1", lambda: np.roll(points, 1, 1))
    measure("pad rows of 3 by 1", lambda: np.pad(sixth, ((0, 0), (1, 1))))
    measure("x[indices]", lambda: x[order])
    measure("x[indices], rows of 3", lambda: points[rows])
    measure("x[:, indices] of 1024", lambda: table[:, columns])
    measure("gather_elements, last axis of 1024", lambda: np.take_along_axis(table, elements, 1))

    def assigned():
        y = x.copy()
        y[order] = x
        return y

    measure("x[indices] = y", assigned)

    numbers = rng.integers(-1000000, 1000000, COUNT, np.int32)
    long_numbers, rows, short_rows, tiny = numbers.astype(np.int64), x.reshape(1024, 1024), x.reshape(-1, 16), x.reshape(-1, 4)
    values = rng.integers(0, 1000, COUNT, np.int32)
    halves, doubles, bytes_ = x.astype(np.float16), x.astype(np.float64), values.astype(np.uint8)
    ascending, queries = np.sort(x), normal(COUNT)
    measure("sort f32", lambda: np.sort(x))
    measure("sort f32 descending", lambda: np.sort(x)[::-1])
    measure("sort f32, sorted already", lambda: np.sort(ascending))
    measure("sort i32", lambda: np.sort(numbers))
    measure("sort f16", lambda: np.sort(halves))
    measure("sort u8", lambda: np.sort(bytes_))
    measure("sort i64", lambda: np.sort(long_numbers))
    measure("sort f64", lambda: np.sort(doubles))
    measure("sort f32, rows of 1024", lambda: np.sort(rows))
    measure("sort f32, columns of 1024", lambda: np.sort(rows, 0))
    measure("sort f32, rows of 16", lambda: np.sort(short_rows))
    measure("sort f32, rows of 4", lambda: np.sort(tiny))
    measure("argsort f32", lambda: np.argsort(x))
    measure("argsort i32", lambda: np.argsort(numbers))
    measure("argsort f64", lambda: np.argsort(doubles))
    measure("argsort f32, rows of 1024", lambda: np.argsort(rows))
    measure("argsort f32, rows of 16", lambda: np.argsort(short_rows))
    measure("unique of 1,000 values", lambda: np.unique(values))
    measure("permutation", lambda: rng.permutation(COUNT))
    measure("searchsorted", lambda: np.searchsorted(ascending, queries))
    measure("argmax f32", lambda: x.argmax())
    measure("argmax i32", lambda: numbers.argmax())
    measure("argmax f16", lambda: halves.argmax())
    measure("argmax f32, rows of 1024", lambda: rows.argmax(-1))
    measure("argmax f32, columns of 1024", lambda: rows.argmax(0))

    x, y = numbers, rng.integers(1, 1000, COUNT, np.int32)
    bytes_, long_x, long_y = y.astype(np.uint8) | 1, x.astype(np.int64), y.astype(np.int64)
    f, g = normal(COUNT), normal(COUNT)
    measure("f32 + f32", lambda: f + g)
    measure("f32 // f32", lambda: f // g)
    # NumPy has no division of integers that truncates: // floors.
    measure("i32 / 7", lambda: x // 7)
    measure("i32 / i32", lambda: x // y)
    measure("i32 // 7", lambda: x // 7)
    measure("i32 // i32", lambda: x // y)
    measure("i32 % 7", lambda: x % 7)
    measure("i32 % i32", lambda: x % y)
    measure("u8 // u8", lambda: bytes_ // bytes_)
    measure("i64 // 7", lambda: long_x // 7)
    measure("i64 // i64", lambda: long_x // long_y)
    a, b, v, a3, b3, one = (normal(10000, 4, 4), normal(10000, 4, 4), normal(10000, 4, 1), normal(10000, 3, 3),
                            normal(10000, 3, 3), normal(4, 4))
    measure("10,000 products of 4 x 4", lambda: a @ b)
    measure("10,000 products of 3 x 3", lambda: a3 @ b3)
    measure("10,000 products of 4 x 4 and 4", lambda: a @ v)
    measure("10,000 products of 4 x 4 by one", lambda: a @ one)


if __name__ == "__main__":
    main()
