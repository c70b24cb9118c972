"""Values for resampling (weft/kernels/resize.h), for tests/kernels/cpu_kernels_reference_test.cc: writes
tests/data/resize/cases.json and bytes.npy. They are PyTorch's, computed in f64, where PyTorch has the mode; else those of
matrices made here from the text of ONNX's operator Resize (version 19), an element at a time, as the text has it."""
import itertools
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
import cpu_kernel_cases
from cpu_kernel_cases import INTEGERS, T, case, of, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "resize"
OUT.mkdir(parents=True, exist_ok=True)
FLOATS = ["f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2"]
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def reals(type, shape):
    return T(type, rng.normal(0, 1, shape))


def tensor(t):
    return torch.tensor(np.array(t.values, np.float64))


def near(type):
    return {"ulp": 1, "absolute": 1e-13 if type == "f64" else 2e-6}


def numbers(list):
    return [float(n) for n in list]


# ---- PyTorch
def with_torch(type, shape, size, attributes, gradient=True, **how):
    x = reals(type, shape)
    a = tensor(x).requires_grad_()
    y = F.interpolate(a, size=size, **how)
    case("resize", [x], [T(type, y.detach().numpy())], attributes, **({} if attributes["mode"] == "nearest" else near(type)))
    if gradient:
        dy = reals(type, tuple(y.shape))
        y.backward(tensor(dy))
        case("resize_gradient", [dy], [T(type, a.grad.numpy())], attributes, **{**near(type), "absolute": near(type)["absolute"] * 4})


SIZES = {1: [((7,), (7,)), ((5,), (10,)), ((9,), (4,)), ((1,), (6,)), ((6,), (1,)), ((3,), (8,))],
         2: [((5, 4), (10, 8)), ((6, 7), (3, 5)), ((4, 5), (7, 2)), ((1, 3), (2, 1)), ((3, 1), (3, 4)), ((8, 8), (2, 2))],
         3: [((2, 3, 4), (4, 5, 3)), ((3, 2, 5), (1, 4, 5))]}
for dims, sizes in SIZES.items():
    for size, to in sizes:
        shape = (2, 3, *size)
        with_torch("f32", shape, to, {"mode": "nearest", "coordinates": "asymmetric", "rounding": "floor"}, mode="nearest")
        with_torch("f32", shape, to, {"mode": "nearest", "rounding": "prefer_ceil"}, mode="nearest-exact")
        with_torch("f32", shape, to, {"mode": "area"}, mode="area")
        for aligned in (False, True):
            coordinates = "align_corners" if aligned else "half_pixel"
            with_torch("f32", shape, to, {"mode": "linear", "coordinates": coordinates}, mode=LINEAR[dims], align_corners=aligned)
            if dims == 2:
                with_torch("f32", shape, to, {"mode": "cubic", "coordinates": coordinates}, mode="bicubic", align_corners=aligned)
        if dims == 2:
            smooth = {"antialias": True, "exclude_outside": True}
            with_torch("f32", shape, to, {"mode": "linear", **smooth}, mode="bilinear", antialias=True)
            with_torch("f32", shape, to, {"mode": "cubic", "cubic_a": -0.5, **smooth}, mode="bicubic", antialias=True)
# Large steps; more products than a pass has.
with_torch("f32", (1, 2, 40, 33), (3, 5), {"mode": "linear", "antialias": True, "exclude_outside": True}, mode="bilinear", antialias=True)
with_torch("f32", (1, 2, 31, 40), (4, 80), {"mode": "cubic", "cubic_a": -0.5, "antialias": True, "exclude_outside": True}, mode="bicubic", antialias=True)
for type in FLOATS:
    with_torch(type, (1, 2, 5, 6), (8, 4), {"mode": "linear"}, mode="bilinear")
    with_torch(type, (1, 2, 6, 4), (4, 8), {"mode": "cubic"}, mode="bicubic")
    with_torch(type, (1, 2, 6, 5), (4, 2), {"mode": "area"}, mode="area")
    with_torch(type, (1, 2, 3, 5), (4, 10), {"mode": "nearest", "coordinates": "asymmetric", "rounding": "floor"}, mode="nearest")
# Given scales, which are not the sizes' quotients.
for scale, mode in itertools.product((1.7, 0.65, 2.3), ("linear", "nearest")):
    x = reals("f32", (2, 3, 7))
    y = F.interpolate(tensor(x), scale_factor=scale, mode=mode, recompute_scale_factor=False)
    how = {"mode": mode, **({"coordinates": "asymmetric", "rounding": "floor"} if mode == "nearest" else {})}
    case("resize", [x], [T("f32", y.numpy())], {**how, "scales": numbers((1, 1, scale))}, **({} if mode == "nearest" else near("f32")))


# ---- The text of ONNX
def position(i, n, m, coordinates, scale, start, end):
    """x_original for x_resized = i, length_original = n and length_resized = m."""
    if coordinates == "half_pixel":
        return (i + 0.5) / scale - 0.5
    if coordinates == "half_pixel_symmetric":
        adjustment = m / (scale * n)
        center = n / 2
        return center * (1 - adjustment) + (i + 0.5) / scale - 0.5
    if coordinates == "pytorch_half_pixel":
        return (i + 0.5) / scale - 0.5 if m > 1 else 0
    if coordinates == "align_corners":
        return i * (n - 1) / (m - 1) if m > 1 else 0
    if coordinates == "asymmetric":
        return i / scale
    return start * (n - 1) + i * (end - start) * (n - 1) / (m - 1) if m > 1 else 0.5 * (start + end) * (n - 1)


def convolution(t, a):
    t = abs(t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0


ROUND = {"prefer_floor": lambda p: math.ceil(p - 0.5), "prefer_ceil": lambda p: math.floor(p + 0.5), "floor": math.floor, "ceil": math.ceil}


def matrix(n, m, o, axis):
    """Of m rows and n columns; None for a row outside of x."""
    scale = o.get("scales", {}).get(axis, m / n)
    start, end = (o.get(k, {}).get(axis, d) for k, d in (("starts", 0.0), ("ends", 1.0)))
    coordinates = o.get("coordinates", "half_pixel")
    w, outside = np.zeros((m, n)), np.zeros(m, bool)
    for i in range(m):
        p = position(i, n, m, coordinates, scale, start, end)
        p = round(2 * p) / 2 if abs(2 * p - round(2 * p)) < 1e-9 else p
        if coordinates == "crop" and (p < 0 or p > n - 1):
            outside[i] = True
            continue
        if o["mode"] == "nearest":
            w[i, min(max(ROUND[o.get("rounding", "prefer_floor")](p), 0), n - 1)] = 1
            continue
        squeeze = min(scale, 1) if o.get("antialias") else 1
        taps = {}
        for j in range(math.floor(p) - 40, math.floor(p) + 42):
            d = (j - p) * squeeze
            taps[j] = convolution(d, o.get("cubic_a", -0.75)) if o["mode"] == "cubic" else max(0, 1 - abs(d))
        if o.get("exclude_outside"):
            taps = {j: v for j, v in taps.items() if 0 <= j < n}
        total = sum(taps.values()) if o.get("antialias") or o.get("exclude_outside") else 1
        for j, v in taps.items():
            w[i, min(max(j, 0), n - 1)] += v / total
    return w, outside


def attributes_of(o, rank):
    a = {k: v for k, v in o.items() if k not in ("scales", "starts", "ends")}
    for k, usual in (("scales", 1.0), ("starts", 0.0), ("ends", 1.0)):
        if k in o:
            a[k] = numbers([o[k].get(d, usual) for d in range(rank)])
    return a


def resized(x, shape, o):
    y = np.asarray(x, np.float64)
    out = np.zeros(shape, bool)
    for d, m in enumerate(shape):
        touched = m != y.shape[d] or d in o.get("scales", {}) or d in o.get("starts", {})
        if not touched:
            continue
        w, outside = matrix(y.shape[d], m, o, d)
        y = np.moveaxis(np.tensordot(w, y, (1, d)), 0, d)
        out |= outside.reshape([-1 if k == d else 1 for k in range(len(shape))])
    return np.where(out, o.get("value", 0), y)


def with_text(type, size, shape, o, gradient=False):
    x = reals(type, size)
    how = {} if o["mode"] == "nearest" else near(type)
    case("resize", [x], [T(type, resized(x.values, shape, o))], attributes_of(o, len(shape)), **how)
    if gradient:
        dy = reals(type, shape)
        g = dy.values
        for d, (n, m) in enumerate(zip(size, shape)):
            if n != m or d in o.get("scales", {}) or d in o.get("starts", {}):
                g = np.moveaxis(np.tensordot(matrix(n, m, o, d)[0].T, g, (1, d)), 0, d)
        case("resize_gradient", [dy], [T(type, g)], attributes_of(o, len(shape)), ulp=1, absolute=1e-5)


ALL = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"]
for coordinates, n, m in itertools.product(ALL, (1, 4, 7), (1, 3, 8)):
    for rounding in ROUND:
        with_text("f32", (2, n), (2, m), {"mode": "nearest", "coordinates": coordinates, "rounding": rounding}, gradient=rounding == "ceil")
    for mode, outside, smooth in itertools.product(("linear", "cubic"), (False, True), (False, True)):
        o = {"mode": mode, "coordinates": coordinates, "exclude_outside": outside, "antialias": smooth}
        with_text("f32", (n, 3), (m, 3), o, gradient=True)
# Scales whose products with the sizes are no integers.
for coordinates, (n, m, s), mode in itertools.product(ALL, [(5, 8, 1.7), (7, 4, 0.65), (10, 2, 0.29)], ("nearest", "linear", "cubic")):
    for smooth in (False, True) if mode != "nearest" else (False,):
        with_text("f32", (3, n), (3, m), {"mode": mode, "coordinates": coordinates, "scales": {1: s}, "antialias": smooth}, gradient=True)
for rounding in ROUND:
    for n, m, s in [(8, 6, float(np.float32(0.8))), (5, 11, float(np.float32(2.2))), (20, 6, float(np.float32(0.3)))]:
        o = {"mode": "nearest", "coordinates": "asymmetric", "rounding": rounding, "scales": {0: s}}
        exact = {**o, "scales": {0: round(s, 6)}}  # the number whose rounding to f32 it is
        x = reals("f32", (n, 2))
        case("resize", [x], [T("f32", resized(x.values, (m, 2), exact))], attributes_of(o, 2))
# Parts of x, and beyond it; mirrored.
for mode, (start, end), m in itertools.product(("nearest", "linear", "cubic"), [(0.25, 0.75), (-0.3, 1.4), (1.0, 0.0), (0.5, 0.5)], (1, 6)):
    o = {"mode": mode, "coordinates": "crop", "starts": {0: start, 1: 0.0}, "ends": {0: end, 1: 1.2}, "value": 10}
    with_text("f32", (5, 7, 2), (m, 4, 2), o, gradient=True)
# Any axes, one to six of them; cubic coefficients.
for mode, a in (("linear", -0.75), ("cubic", -0.5), ("cubic", -1.0), ("nearest", -0.75)):
    with_text("f32", (3, 4, 2, 5), (5, 2, 4, 7), {"mode": mode, "cubic_a": a}, gradient=True)
    with_text("f32", (2, 3, 2, 2, 3, 2), (3, 2, 2, 3, 5, 1), {"mode": mode, "cubic_a": a}, gradient=True)
# Nothing.
for o in ({"mode": "linear"}, {"mode": "nearest"}):
    for size, shape in (((0, 3), (0, 5)), ((4, 3), (0, 5)), ((2, 0), (2, 0))):
        with_text("f32", size, shape, o)
    case("resize_gradient", [reals("f32", (0, 5))], [T("f32", np.zeros((4, 3)))], o)

# ---- Types
for type in [*FLOATS, *INTEGERS, "bool", "c64"]:
    x = of(type, 36)
    for o, shape in (({"mode": "nearest"}, (7, 5)), ({"mode": "nearest", "coordinates": "crop", "starts": {0: -0.5}, "ends": {0: 1.5}, "value": 1}, (5, 9))):
        t = T(type, x.values.reshape(4, 9))
        rows = [np.argmax(matrix(4, shape[0], o, 0)[0], 1), np.argmax(matrix(9, shape[1], o, 1)[0], 1) if shape[1] != 9 else np.arange(9)]
        y = t.values[np.ix_(*rows)].copy()
        if "value" in o:
            y[matrix(4, shape[0], o, 0)[1]] = 1
        case("resize", [t], [T(type, y)], attributes_of(o, 2))


def integers(type, shape, to, o):
    """Rounded up from halfway, saturated. Weights of 14 bits may round to another integer where the exact sum is close
    to a half: other values are drawn then."""
    low, high = (0, 255) if type == "u8" else (-128, 127)
    while True:
        x = T(type, rng.integers(low, high, shape, endpoint=True))
        exact = resized(np.asarray(x.values, np.float64), to, o)
        y = np.floor(exact + 0.5)
        if np.all(np.abs(exact - np.floor(exact) - 0.5) > 0.04) or o.get("exact"):
            break
    a = {k: v for k, v in o.items() if k != "exact"}
    case("resize", [x], [T(type, np.clip(y, low, high))], attributes_of(a, len(to)))


for type in ("u8", "i8"):
    # Weights that are multiples of 1/4: halves occur, and are rounded up.
    integers(type, (1, 6, 5), (1, 12, 5), {"mode": "linear", "exact": True})
    integers(type, (6, 8), (3, 8), {"mode": "linear", "exact": True})
    for mode in ("linear", "cubic"):
        integers(type, (5,), (3,), {"mode": mode})
        integers(type, (4, 1), (7, 1), {"mode": mode})
        integers(type, (2, 2), (3, 3), {"mode": mode})
        integers(type, (3, 1, 9), (3, 1, 3), {"mode": mode, "antialias": True})
        integers(type, (2, 3), (1, 2), {"mode": mode, "coordinates": "align_corners"})
    integers(type, (3,), (5,), {"mode": "linear", "coordinates": "crop", "starts": {0: -0.25}, "ends": {0: 1.25}, "value": 7})

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
for c in cpu_kernel_cases.cases:  # the schema's booleans are numbers
    c["attributes"] = {k: int(v) if isinstance(v, bool) else v for k, v in c.get("attributes", {}).items()}
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
