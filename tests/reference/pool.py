"""Values of PyTorch for pooling (weft/kernels/pool.h) in every type, for tests/kernels/cpu_kernels_reference_test.cc, and sizes
of results for tests/ops/pool_graph_test.cc: writes tests/data/pool/cases.json, bytes.npy and sizes.json. PyTorch
computes in f64; padding that differs from side to side is done apart."""
import itertools
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "pool"
OUT.mkdir(parents=True, exist_ok=True)
MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
LP = {1: F.lp_pool1d, 2: F.lp_pool2d, 3: F.lp_pool3d}
ADAPTIVE_MAX = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
ADAPTIVE_AVERAGE = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
FLOATS = ["f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2"]
SMALL = ["i8", "u8", "i16", "u16", "i32", "u32"]


def reals(type, shape):
    return T(type, rng.normal(0, 1, shape))


def coarse(type, shape):
    """Few values, so that many are equal."""
    return T(type, rng.integers(-2, 3, shape) / 2)


def special(type, shape):
    few = [np.nan, np.inf, -np.inf, 1.0, -0.0, 0.0, -1.0]
    return T(type, np.array(few)[rng.integers(0, 7, shape)])


def integers(type, shape):
    return T(type, rng.integers(0 if type[0] == "u" else -100, 100, shape))


def tensor(t):
    return torch.tensor(np.array(t.values, np.float64))


def padded(x, before, after, value):
    return F.pad(x, [n for pair in reversed(list(zip(before, after))) for n in pair], value=value)


def near(type, absolute=1e-6):
    return {"ulp": 1, "absolute": 1e-13 if type == "f64" else absolute}


def options_of(window, stride, dilation, before):
    return {"window": list(window), "strides": list(stride), "dilations": list(dilation), "before": list(before)}


def positions(indices, whole, before, sizes):
    """Row-major positions among `whole` sizes, of x that begins at `before` there."""
    at = np.unravel_index(indices.numpy(), whole)
    inside = np.all([(a >= b) & (a < b + n) for a, b, n in zip(at, before, sizes)], axis=0)
    return np.where(inside, np.ravel_multi_index([np.clip(a - b, 0, n - 1) for a, b, n in zip(at, before, sizes)], sizes), -1)


def max_pool(x, window, stride, dilation, before, after, ceil=False, gradient=True):
    size, dims = x.shape[2:], len(window)
    options = options_of(window, stride, dilation, before)
    a = tensor(x).requires_grad_()
    if before == after and all(b <= w // 2 for b, w in zip(before, window)):
        y, indices = MAX[dims](a, window, stride, before, dilation, ceil, return_indices=True)
        indices = indices.numpy()
    else:
        y, indices = MAX[dims](padded(a, before, after, -np.inf), window, stride, 0, dilation, ceil, return_indices=True)
        indices = positions(indices, [n + b + c for n, b, c in zip(size, before, after)], before, size)
    y_values = T(x.type, y.detach().numpy())
    case("max_pool", [x], [y_values], options)
    case("max_pool_with_indices", [x], [y_values, T("i32", indices)], options)
    if gradient and x.type in FLOATS:
        dy = reals(x.type, tuple(y.shape))
        y.backward(tensor(dy))
        case("max_pool_gradient", [dy, T("i32", indices)], [T(x.type, a.grad.numpy())], options, **near(x.type))


def sums(x, window, stride, dilation):
    """Of the windows, each channel by itself."""
    channels = x.shape[1]
    return CONV[len(window)](x, torch.ones(channels, 1, *window, dtype=torch.float64), None, stride, 0, dilation, channels)


def average_pool(x, window, stride, dilation, before, after, count_padding, divisor=0):
    a = tensor(x).requires_grad_()
    y = sums(padded(a, before, after, 0), window, stride, dilation)
    if divisor:
        y = y / divisor
    else:
        ones = padded(torch.ones_like(tensor(x)), before, after, 1.0 if count_padding else 0.0)
        y = y / sums(ones, window, stride, dilation)
    averages(x, a, y, {**options_of(window, stride, dilation, before), "after": list(after),
                       "count_padding": int(count_padding), "divisor": divisor})


def averages(x, a, y, options):
    case("average_pool", [x], [T(x.type, y.detach().numpy())], options, **near(x.type))
    dy = reals(x.type, tuple(y.shape))
    y.backward(tensor(dy))
    case("average_pool_gradient", [dy], [T(x.type, a.grad.numpy())], options, **near(x.type))


def torch_average_pool(x, window, stride, padding, ceil, count_padding, divisor=None):
    """As PyTorch's layers."""
    a = tensor(x).requires_grad_()
    more = [divisor] if divisor else []
    y = AVERAGE[len(window)](a, window, stride, padding, ceil, count_padding, *more)
    averages(x, a, y, {**options_of(window, stride, (1,) * len(window), padding), "after": list(padding),
                       "count_padding": int(count_padding), "divisor": divisor or 0})


def lp_pool(x, p, window, stride, dilation, before, after):
    y = sums(padded(tensor(x).abs() ** p, before, after, 0), window, stride, dilation) ** (1 / p)
    case("lp_pool", [x], [T(x.type, y.numpy())], {**options_of(window, stride, dilation, before), "p": p},
         **{**near(x.type, 3e-6), **({"relative": 1e-12} if x.type == "f64" else {"relative": 4e-6})})


def adaptive(x, sizes, gradient=True):
    dims = len(sizes)
    a = tensor(x).requires_grad_()
    y, indices = ADAPTIVE_MAX[dims](a, sizes, return_indices=True)
    case("max_pool", [x], [T(x.type, y.detach().numpy())], {"adaptive": 1})
    case("max_pool_with_indices", [x], [T(x.type, y.detach().numpy()), T("i32", indices.numpy())], {"adaptive": 1})
    if x.type not in FLOATS or not gradient:
        return
    dy = reals(x.type, tuple(y.shape))
    y.backward(tensor(dy))
    case("max_pool_gradient", [dy, T("i32", indices.numpy())], [T(x.type, a.grad.numpy())], {"adaptive": 1}, **near(x.type))
    a = tensor(x).requires_grad_()
    averages(x, a, ADAPTIVE_AVERAGE[dims](a, sizes), {"adaptive": 1})


# Every option with every other, in two axes.
for window, stride, dilation, before, after in itertools.product(
        [(3, 2), (1, 1), (2, 4)], [(1, 1), (2, 3)], [(1, 1), (2, 1)], [(0, 0), (2, 1)], [(0, 0), (1, 2)]):
    if any(max(b, c) >= (w - 1) * d + 1 for b, c, w, d in zip(before, after, window, dilation)):
        continue
    x = reals("f32", (2, 2, 7, 6))
    max_pool(x, window, stride, dilation, before, after)
    for count_padding in (True, False):
        average_pool(x, window, stride, dilation, before, after, count_padding)
    average_pool(x, window, stride, dilation, before, after, True, 5)
    for p in (1, 2, 3, 1.5):
        lp_pool(x, p, window, stride, dilation, before, after)
# As PyTorch's layers have it: padding and ceil mode, also where the last window would begin behind x.
for size, window, stride, padding, ceil in itertools.product([(5, 4), (8, 7)], [(2, 3), (4, 4)], [(2, 2), (3, 1), (4, 5)],
                                                             [(0, 0), (1, 1)], [False, True]):
    max_pool(coarse("f32", (1, 2, *size)), window, stride, (1, 1), padding, padding, ceil)
    for count_padding, divisor in ((True, None), (False, None), (True, 3)):
        torch_average_pool(reals("f32", (1, 2, *size)), window, stride, padding, ceil, count_padding, divisor)
# One and three axes; single elements; NaN and infinities; many channels; a window as large as x.
max_pool(reals("f32", (2, 3, 11)), (4,), (3,), (2,), (1,), (2,))
max_pool(coarse("f32", (2, 3, 4, 5, 6)), (2, 3, 1), (1, 2, 1), (2, 1, 1), (1, 0, 0), (0, 1, 0))
average_pool(reals("f32", (2, 3, 11)), (4,), (3,), (2,), (1,), (2,), False)
average_pool(reals("f32", (2, 3, 4, 5, 6)), (2, 3, 1), (1, 2, 1), (2, 1, 1), (1, 0, 0), (0, 1, 0), True)
torch_average_pool(reals("f32", (1, 2, 9)), (3,), (2,), (1,), True, True)
torch_average_pool(reals("f32", (1, 2, 4, 5, 3)), (3, 2, 2), (2, 2, 1), (1, 1, 1), True, False)
lp_pool(reals("f32", (2, 3, 11)), 2, (4,), (3,), (2,), (1,), (2,))
lp_pool(reals("f32", (2, 3, 4, 5, 6)), 2.5, (2, 3, 1), (1, 2, 1), (2, 1, 1), (1, 0, 0), (0, 1, 0))
for shape, window in (((1, 1, 1, 1), (1, 1)), ((3, 1, 1, 5), (1, 5)), ((1, 33, 4, 4), (4, 4)), ((1, 20, 3, 3), (2, 2))):
    x = reals("f32", shape)
    max_pool(x, window, window, (1, 1), (0, 0), (0, 0))
    torch_average_pool(x, window, window, (0, 0), False, True)
for n in range(4):
    max_pool(special("f32", (2, 3, 6, 7)), (2, 3), (2, 1), (1, 1), (1, 1), (1, 1), gradient=False)
    adaptive(special("f16", (1, 2, 5, 6)), (2, 4), gradient=False)
for p, window in ((1, (2, 2)), (2, (3, 2)), (3, (2, 3))):
    x = T("f32", np.abs(rng.normal(0, 1, (2, 2, 6, 6))))
    y = LP[2](tensor(x), p, window)
    case("lp_pool", [x], [T("f32", y.numpy())], {"window": list(window), "p": p}, absolute=2e-6, relative=4e-6)
# Adaptive windows: more and fewer than elements, one, as many.
for size, sizes in (((7, 6), (3, 4)), ((5, 5), (5, 5)), ((4, 9), (7, 2)), ((3, 8), (1, 1)), ((1, 1), (3, 2)), ((10, 7), (4, 7))):
    adaptive(reals("f32", (2, 2, *size)), sizes)
adaptive(coarse("f32", (2, 3, 11)), (4,))
adaptive(coarse("f32", (1, 2, 4, 5, 6)), (3, 2, 4))
# Every type.
for type in FLOATS:
    x = coarse(type, (1, 5, 5, 6))
    max_pool(x, (3, 2), (2, 1), (1, 1), (1, 1), (1, 1))
    adaptive(x, (2, 4))
    average_pool(x, (3, 2), (2, 1), (1, 2), (1, 0), (1, 1), False)
    for p in (1, 2, 3):
        lp_pool(x, p, (3, 2), (2, 1), (1, 1), (1, 0), (1, 1))
for type in SMALL:
    x = integers(type, (1, 5, 5, 6))
    max_pool(x, (3, 2), (2, 1), (1, 2), (1, 1), (1, 1))
    adaptive(x, (2, 4))
# Nothing: no batch, no channels.
for shape in ((0, 2, 5, 5), (2, 0, 5, 5)):
    x, y, dx = (T("f32", np.zeros(s)) for s in (shape, (*shape[:2], 2, 2), shape))
    case("max_pool", [x], [y], {"window": [2, 2]})
    case("average_pool_gradient", [y], [dx], {"window": [2, 2]})

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")

# [elements, window, stride, dilation, padding, ceil mode, windows]
sizes = []
for n, window, stride, dilation, padding, ceil in itertools.product(range(1, 12), (1, 2, 3, 5), (1, 2, 3, 7), (1, 2), (0, 1, 2), (0, 1)):
    if padding <= window // 2 and n + 2 * padding >= (window - 1) * dilation + 1:
        y = F.max_pool1d(torch.zeros(1, 1, n), window, stride, padding, dilation, bool(ceil))
        sizes.append([n, window, stride, dilation, padding, ceil, y.shape[2]])
(OUT / "sizes.json").write_text("[\n" + ",\n".join(json.dumps(s, separators=(",", ":")) for s in sizes) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes,", len(sizes), "sizes")
