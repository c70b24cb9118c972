"""Products of chosen matrices and of segments, by NumPy, for tests/kernels/cpu_kernels_reference_test.cc: writes
tests/data/products."""
import itertools
import json
import pathlib

import numpy as np
import cpu_kernel_cases
from cpu_kernel_cases import FLOATS, T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "products"
OUT.mkdir(parents=True, exist_ok=True)
SMALL = ["i8", "u8", "i16", "u16", "i32", "u32"]


def some(type, shape):
    """Multiples of an eighth, of which all sums are exact, or integers."""
    if type in FLOATS:
        return T(type, rng.integers(-8, 9, shape) / 8)
    return T(type, rng.integers(0 if type[0] == "u" else -9, 10, shape))


def both(a_type, b_type, y_type, index_type, **near):
    a, b = some(a_type, (2, 4, 3, 5)), some(b_type, (3, 5, 6))
    # Some are clamped.
    chosen = T(index_type, [2, 0, 1, 7] if index_type[0] == "u" else [2, 0, -4, 7])
    at = np.clip(chosen.values.astype(np.int64), 0, 2)
    y = np.stack([a.values[:, i] @ b.values[at[i]] for i in range(4)], 1)
    case("gather_matmul", [a, b, chosen], [T(y_type, y)], **near)
    a, b = some(a_type, (3, 9)), some(b_type, (9, 4))
    segments = [[0, 4], [4, 9], [3, 3], [0, 9], [7, 2], [6, 200 if index_type == "u8" else 100]]
    if index_type[0] == "i":
        segments.append([-5, 3])
    begin, end = np.clip(np.array(segments), 0, 9).T
    y = np.stack([a.values[:, p:q] @ b.values[p:q] if p < q else np.zeros((3, 4), a.values.dtype) for p, q in zip(begin, end)])
    case("segmented_matmul", [a, b, T(index_type, segments)], [T(y_type, y)], **near)


indices = itertools.cycle(["i32", "u32", "i64", "u64", "i8", "u8", "i16", "u16"])
for a_type in FLOATS:
    for b_type in FLOATS:
        for y_type in sorted({a_type, b_type, "f32"}):
            both(a_type, b_type, y_type, next(indices), ulp=1)
for a_type in SMALL:
    for b_type in SMALL:
        for y_type in ("i32", "u32"):
            both(a_type, b_type, y_type, next(indices))
# What lies outside of a segment, and in matrices that nobody chose, does not reach the results.
a, b = some("f32", (2, 6)), some("f32", (6, 3))
y = np.stack([a.values[:, :2] @ b.values[:2], a.values[:, 4:] @ b.values[4:]])
for m in (a.values[:, 2], a.values[:, 3], b.values[2], b.values[3]):
    m[:] = rng.choice([np.nan, np.inf], m.shape)
case("segmented_matmul", [a, b, T("u32", [[0, 2], [4, 6]])], [T("f32", y)])
a, b = some("f32", (2, 1, 5)), some("f32", (3, 5, 4))
b.values[1] = np.nan
case("gather_matmul", [a, b, T("u32", [2, 0])], [T("f32", np.stack([a.values[0] @ b.values[2], a.values[1] @ b.values[0]]))])
# Nothing to sum, and no entries.
case("gather_matmul", [T("f32", np.zeros((2, 3, 0))), T("f32", np.zeros((3, 0, 4))), T("u32", [2, 0])], [T("f32", np.zeros((2, 3, 4)))])
case("gather_matmul", [T("f32", np.zeros((0, 3, 5))), T("f32", np.zeros((0, 5, 4))), T("u32", [])], [T("f32", np.zeros((0, 3, 4)))])
case("segmented_matmul", [T("f32", np.zeros((3, 0))), T("f32", np.zeros((0, 4))), T("u32", [[0, 1]])], [T("f32", np.zeros((1, 3, 4)))])
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
