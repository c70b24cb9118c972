"""Values of PyTorch and NumPy for tests/kernels/reference_test.cc, written to tests/data/kernels/*.npy."""
import pathlib

import numpy as np
import torch

out = pathlib.Path(__file__).parent.parent / "data" / "kernels"
out.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(5)


def save(name, array):
    np.save(out / f"{name}.npy", np.ascontiguousarray(array))


# Unary functions of f32 arguments, in f64. The order is that of kUnary in the test.
x = np.concatenate([rng.normal(0, 1, 200), rng.normal(0, 8, 200), rng.uniform(-100, 100, 100),
                    [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, -2.5]]).astype(np.float32)
d = torch.from_numpy(x).double()
F = torch.nn.functional
unary = [
    -d, d.abs(), torch.from_numpy(np.sign(x).astype(np.float64)), d.ceil(), d.floor(), d.trunc(), d.round(), d.sqrt(), d.rsqrt(), d.reciprocal(), d.square(),
    d.exp(), d.exp2(), d.log(), d.log2(), d.sin(), d.cos(), d.tan(), d.tanh(), torch.erf(d), d.sigmoid(),
    F.softplus(d, threshold=1000), F.relu(d),
    # PyTorch's own gelu subtracts nearly equal numbers for negative arguments, in f64 too; these are its definitions.
    0.5 * d * torch.erfc(-d / np.sqrt(2)), d * torch.sigmoid(2 * np.sqrt(2 / np.pi) * (d + 0.044715 * d**3)),
    d * torch.sigmoid(1.702 * d), F.silu(d),
]
save("unary_x", x)
save("unary_y", torch.stack(unary).numpy())

# Binary functions of f32 by NumPy, special values meeting each other.
special = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, np.inf, -np.inf, np.nan, 1e30, -1e-30, 7.25, 3.5], np.float32)
a, b = (m.ravel() for m in np.meshgrid(special, special))
a = np.concatenate([a, rng.normal(0, 5, 300).astype(np.float32)])
b = np.concatenate([b, rng.normal(0, 5, 300).astype(np.float32)])
with np.errstate(all="ignore"):
    binary = np.stack([a + b, a - b, a * b, a / b, np.fmod(a, b),
                       np.power(a.astype(np.float64), b.astype(np.float64)).astype(np.float32),
                       np.minimum(a, b), np.maximum(a, b)])
    compare = np.stack([a == b, a != b, a < b, a <= b, a > b, a >= b])
save("binary_a", a)
save("binary_b", b)
save("binary_y", binary)
save("compare_y", compare)

# Integers, wrapping; division truncates, and by zero gives 0.
i = np.concatenate([rng.integers(-(2**31), 2**31, 200), rng.integers(-20, 20, 200), [-(2**31), -(2**31), 5, -5]]).astype(np.int32)
j = np.concatenate([rng.integers(-(2**31), 2**31, 200), rng.integers(-5, 5, 200), [-1, 1, 0, 0]]).astype(np.int32)
with np.errstate(all="ignore"):
    wide_i, wide_j = i.astype(np.int64), j.astype(np.int64)
    quotient = np.where(wide_j == 0, 0, np.trunc(wide_i / np.where(wide_j == 0, 1, wide_j))).astype(np.int64).astype(np.int32)
    integer = np.stack([i + j, i - j, i * j, quotient, np.where(j == 0, 0, np.fmod(wide_i, np.where(j == 0, 1, wide_j))).astype(np.int32),
                        np.minimum(i, j), np.maximum(i, j), i & j, i | j, i ^ j])
save("integer_a", i)
save("integer_b", j)
save("integer_y", integer)

# Narrow floats: all rounding cases around f16's and the others' neighbours.
patterns = rng.integers(0, 2**32, 1500, dtype=np.uint32).view(np.float32)
f16 = rng.integers(0, 2**16, 500, dtype=np.uint16).view(np.float16).astype(np.float32)
nudged = (f16.view(np.uint32) + rng.integers(-2, 3, 500).astype(np.uint32)).view(np.float32)
f = np.concatenate([patterns, f16, nudged, rng.normal(0, 100, 500).astype(np.float32),
                    np.array([448, 464, 464.1, 57344, 61440, 65504, 65519.99, 65520, 3.4e38, 2**-9, 2**-10, 2**-17], np.float32)])
t = torch.from_numpy(f)
save("narrow_x", f.view(np.uint32))
save("narrow_f16", t.to(torch.float16).view(torch.int16).numpy().view(np.uint16))
save("narrow_bf16", t.to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16))
# PyTorch saturates to 448; OFP8 allows that or NaN, and Weft gives NaN.
e4m3 = t.to(torch.float8_e4m3fn).view(torch.uint8).numpy()
save("narrow_f8e4m3", np.where(np.abs(f) > 464, e4m3 | 0x7F, e4m3).astype(np.uint8))
save("narrow_f8e5m2", t.to(torch.float8_e5m2).view(torch.uint8).numpy())

# Gather along the middle axis; NumPy's take.
table = rng.normal(0, 1, (4, 10, 3)).astype(np.float32)
index = rng.integers(-10, 10, (2, 5))
save("gather_x", table)
save("gather_indices", index)
save("gather_y", np.take(table, index, axis=1))
