"""Values of PyTorch for the convolutions (weft/kernels/conv.h) in every type, for tests/kernels/cpu_kernels_reference_test.cc:
writes tests/data/conv/cases.json and bytes.npy. PyTorch computes in f64; padding is done apart, so that each side has
its own."""
import itertools
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "conv"
OUT.mkdir(parents=True, exist_ok=True)
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
FLOATS = ["f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2"]
SMALL = ["i8", "u8", "i16", "u16", "i32", "u32"]


def reals(type, shape):
    return T(type, rng.normal(0, 1, shape))


def integers(type, shape):
    return T(type, rng.integers(0 if type[0] == "u" else -9, 10, shape))


def tensor(t):
    return torch.tensor(np.array(t.values, np.float64))


def padded(x, before, after):
    """With zeros; negative numbers crop."""
    return F.pad(x, [n for pair in reversed(list(zip(before, after))) for n in pair])


def conv(make, types, n, C, O, size, window, stride, dilation, before, after, groups):
    dims = len(size)
    x_type, w_type, y_type = types
    near = {} if x_type in SMALL else {"ulp": 1, "absolute": 1e-12 if "f64" in (x_type, w_type) and y_type == "f64" else 2e-5 + 1e-7 * C * np.prod(window)}
    options = {"strides": list(stride), "dilations": list(dilation), "before": list(before), "groups": groups}
    x, w = make(x_type, (n, C, *size)), make(w_type, (O, C // groups, *window))
    y = CONV[dims](padded(tensor(x), before, after), tensor(w), None, stride, 0, dilation, groups)
    case("conv", [x, w], [T(y_type, y.numpy())], options, **near)
    # Its gradients, for a gradient of y.
    dy = make(y_type if y_type in (x_type, w_type) else x_type, tuple(y.shape))
    a, b = tensor(x).requires_grad_(), tensor(w).requires_grad_()
    CONV[dims](padded(a, before, after), b, None, stride, 0, dilation, groups).backward(tensor(dy))
    f64 = {} if x_type in SMALL else {"ulp": 1, "absolute": 1e-12 if y_type == "f64" and "f64" in (dy.type, w_type) else 2e-5 + 1e-7 * O * np.prod(window)}
    if all(b >= 0 for b in before):
        case("conv_transpose", [dy, w], [T(y_type, a.grad.numpy())], options, **f64)
    f64 = {} if x_type in SMALL else {"ulp": 1, "absolute": 1e-12 if y_type == "f64" and "f64" in (dy.type, x_type) else 5e-5}
    case("conv_filter_gradient", [x, dy], [T(y_type, b.grad.numpy())], options, **f64)


def transposed(n, C, O, size, window, stride, dilation, cropped, output_padding, groups):
    """As PyTorch's layers: `cropped` elements less on both sides."""
    dims = len(size)
    x, w = reals("f32", (n, C, *size)), reals("f32", (C, O // groups, *window))
    y = TRANSPOSED[dims](tensor(x), tensor(w), None, stride, cropped, output_padding, groups, dilation)
    options = {"strides": list(stride), "dilations": list(dilation), "before": list(cropped), "groups": groups}
    case("conv_transpose", [x, w], [T("f32", y.numpy())], options, absolute=2e-5)


# Every option with every other, in two axes.
F32 = ("f32", "f32", "f32")
for window, stride, dilation, before, after, groups in itertools.product(
        [(3, 2), (1, 1)], [(1, 1), (2, 3)], [(1, 1), (2, 1)], [(0, 0), (2, 1)], [(0, 0), (1, 3)], [1, 2]):
    conv(reals, F32, 2, 4, 6, (7, 6), window, stride, dilation, before, after, groups)
# One and three axes; depthwise, also with several outputs a channel; single elements; cropping.
for groups in (1, 3):
    conv(reals, F32, 2, 3, 6, (11,), (4,), (3,), (2,), (1,), (2,), groups)
    conv(reals, F32, 2, 3, 3, (4, 5, 6), (2, 3, 1), (1, 2, 1), (2, 1, 1), (1, 0, 2), (0, 1, 0), groups)
    conv(reals, F32, 1, 3, 9, (5, 5), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), groups)
conv(reals, F32, 1, 1, 1, (1, 1), (1, 1), (1, 1), (1, 1), (0, 0), (0, 0), 1)
conv(reals, F32, 1, 5, 1, (1, 1), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1)
conv(reals, F32, 2, 3, 4, (8, 9), (3, 3), (1, 1), (1, 1), (-1, -2), (-2, 1), 1)
conv(reals, F32, 1, 40, 33, (6, 5), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1), 1)
conv(reals, F32, 1, 16, 20, (5, 5), (7, 7), (2, 2), (1, 1), (3, 3), (3, 3), 1)
# Every type, and types that differ.
for a, b in itertools.product(FLOATS, FLOATS):
    for y in sorted({a, b, "f32"}):
        conv(reals, (a, b, y), 1, 2, 4, (5, 4), (3, 2), (2, 1), (1, 1), (1, 0), (1, 1), 2)
for a, b in itertools.product(SMALL, SMALL):
    for y in ("i32", "u32"):
        conv_types = (a, b, y)
        x, w = integers(a, (1, 4, 5, 4)), integers(b, (6, 2, 3, 2))
        want = F.conv2d(padded(tensor(x), (1, 0), (1, 1)), tensor(w), None, (2, 1), 0, (1, 1), 2)
        options = {"strides": [2, 1], "dilations": [], "before": [1, 0], "groups": 2}
        case("conv", [x, w], [T(y, want.numpy())], options)
        dy = integers(a, tuple(want.shape))
        grads = [tensor(x).requires_grad_(), tensor(w).requires_grad_()]
        F.conv2d(padded(grads[0], (1, 0), (1, 1)), grads[1], None, (2, 1), 0, (1, 1), 2).backward(tensor(dy))
        case("conv_transpose", [dy, w], [T(y, grads[0].grad.numpy())], options)
        # The types of x and of y's gradient.
        dy = integers(b, tuple(want.shape))
        grads = [tensor(x), torch.zeros(6, 2, 3, 2, dtype=torch.float64, requires_grad=True)]
        F.conv2d(padded(grads[0], (1, 0), (1, 1)), grads[1], None, (2, 1), 0, (1, 1), 2).backward(tensor(dy))
        case("conv_filter_gradient", [x, dy], [T(y, grads[1].grad.numpy())], options)
# Transposed, as layers have it.
for stride, dilation, groups in itertools.product([(1, 1), (2, 3), (3, 2)], [(1, 1), (2, 1), (3, 2)], [1, 2]):
    for padding in ((0, 0), (1, 1)):
        for output_padding in ((0, 0), (1, 0)):
            if all(o < max(s, d) for o, s, d in zip(output_padding, stride, dilation)):
                transposed(2, 4, 6, (4, 3), (3, 2), stride, dilation, padding, output_padding, groups)
transposed(1, 3, 2, (5,), (2,), (4,), (1,), (0,), (3,), 1)  # outputs that nothing reaches
transposed(2, 2, 3, (2, 3, 2), (3, 2, 2), (2, 1, 2), (1, 2, 1), (1, 0, 1), (1, 0, 0), 1)

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
