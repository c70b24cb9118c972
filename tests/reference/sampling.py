"""Values for sampling at a grid's positions and for folding (weft/kernels/grid_sample.h, fold.h), for
tests/kernels/cpu_kernels_reference_test.cc, and for functions of tensors (weft/resampling.h), for
tests/ops/resampling_graph_test.cc: writes tests/data/sampling/*.json and bytes.npy. They are PyTorch's, computed in
f64; of cubic samples in one and three dimensions, which PyTorch has not, those of a loop over the elements."""
import itertools
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "sampling"
OUT.mkdir(parents=True, exist_ok=True)
FLOATS = ["f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2"]
MODES = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}


def reals(type, shape):
    return T(type, rng.normal(0, 1, shape))


def tensor(t):
    return torch.tensor(np.array(t.values, np.float64))


def grid_of(type, shape, sizes, mode, align):
    """Positions inside and around x; of nearest none that rounding moves to another element."""
    while True:
        g = T(type, rng.uniform(-1.7, 1.7, shape))
        if mode != "nearest":
            return g
        n = np.array(sizes[::-1], np.float64)
        p = (g.values + 1) / 2 * (n - 1) if align else ((g.values + 1) * n - 1) / 2
        far = np.abs(p - np.floor(p) - 0.5) > 0.01
        if far.all():
            return g
        if not far.any(axis=None):
            raise SystemExit("no such positions")
        values = np.where(far, g.values, 0.123)
        g = T(type, values)
        p = (g.values + 1) / 2 * (n - 1) if align else ((g.values + 1) * n - 1) / 2
        if (np.abs(p - np.floor(p) - 0.5) > 0.001).all():
            return g


def reflect(q, n, align):
    low, high = (0, n - 1) if align else (-0.5, n - 0.5)
    if low == high:
        return 0.0
    span = high - low
    d = abs(q - low)
    flips, rest = divmod(d, span)
    return min(max(low + (rest if flips % 2 == 0 else span - rest), 0), n - 1)


def cubic(t, a=-0.75):
    t = abs(t)
    return (a + 2) * t**3 - (a + 3) * t**2 + 1 if t <= 1 else a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0


def by_loop(x, grid, mode, padding, align):
    """One and three dimensions."""
    sizes = x.shape[2:]
    y = np.zeros((x.shape[0], x.shape[1], *grid.shape[1:-1]))
    for at in np.ndindex(x.shape[0], *grid.shape[1:-1]):
        taps = [((), 1.0)]
        for d, n in enumerate(sizes):
            g = grid[at][len(sizes) - 1 - d]
            q = (g + 1) / 2 * (n - 1) if align else ((g + 1) * n - 1) / 2
            if mode != "cubic" and padding == "border":
                q = min(max(q, 0), n - 1)
            if mode != "cubic" and padding == "reflection":
                q = reflect(q, n, align)
            first = math.floor(q)
            own = {"linear": [(first, 1 - (q - first)), (first + 1, q - first)], "nearest": [(round(q), 1)],
                   "cubic": [(first + k, cubic(q - first - k)) for k in (-1, 0, 1, 2)]}[mode]
            new = []
            for i, w in own:
                if padding == "border":
                    i = min(max(i, 0), n - 1)
                if padding == "reflection" and mode == "cubic":
                    i = int(reflect(i, n, align))
                if 0 <= i < n:
                    new += [((*index, i), weight * w) for index, weight in taps]
            taps = new
        for index, w in taps:
            y[(at[0], slice(None), *at[1:])] += w * x[(at[0], slice(None), *index)]
    return y


def sample(type, grid_type, n, channels, sizes, places, mode, padding, align):
    x = reals(type, (n, channels, *sizes))
    grid = grid_of(grid_type, (n, *places, len(sizes)), sizes, mode, align)
    if len(sizes) == 1 or (mode == "cubic" and len(sizes) == 3):
        y = by_loop(x.values, grid.values, mode, padding, align)
    else:
        y = F.grid_sample(tensor(x), tensor(grid), MODES[mode], padding, align).numpy()
        if mode != "cubic":
            assert np.allclose(y, by_loop(x.values, grid.values, mode, padding, align))
    a = {"mode": mode, "padding": padding, "align_corners": align}
    near = {"ulp": 1, "absolute": 1e-12 if type == "f64" else 2e-5} if mode != "nearest" else {}
    case("grid_sample", [x, grid], [T(type, y)], a, **near)


PADDINGS = ("zeros", "border", "reflection")
for mode, padding, align in itertools.product(MODES, PADDINGS, (False, True)):
    for sizes, places in [((5, 6), (3, 7)), ((1, 4), (2, 3)), ((7, 1), (4, 1)), ((6,), (9,)), ((3, 4, 5), (2, 3, 4))]:
        sample("f32", "f32", 2, 3, sizes, places, mode, padding, align)
    sample("f32", "f32", 1, 12, (8, 5), (3, 4), mode, padding, align)
for a, b in itertools.product(FLOATS, FLOATS):
    for mode in ("linear", "nearest") if b in ("f32", "f64") else ("linear",):
        sample(a, b, 1, 2, (4, 3), (3, 4), mode, "reflection", False)
# Positions that are no numbers, or very far.
x = reals("f32", (1, 2, 3, 3))
for padding in PADDINGS:
    grid = T("f32", np.array([[[[np.nan, 0], [np.inf, -np.inf], [1e30, 0.1], [0.2, 0.1]]]]))
    y = np.zeros((1, 2, 1, 4))
    for k in range(4):
        i = []
        for g in grid.values[0, 0, k][::-1]:
            q = ((g + 1) * 3 - 1) / 2
            q = q if abs(q) < 2**30 else -100
            q = min(max(q, 0), 2) if padding == "border" else reflect(q, 3, False) if padding == "reflection" else q
            i.append(round(q))
        if all(0 <= j < 3 for j in i):
            y[0, :, 0, k] = x.values[0, :, i[0], i[1]]
    case("grid_sample", [x, grid], [T("f32", y)], {"mode": "nearest", "padding": padding})
for shape, places in (((0, 2, 3, 3), (2, 2)), ((2, 2, 3, 3), (0, 4)), ((1, 0, 3, 3), (2, 2))):
    case("grid_sample", [reals("f32", shape), reals("f32", (shape[0], *places, 2))], [T("f32", np.zeros((*shape[:2], *places)))])


# ---- Folding
def fold(type, n, channels, sizes, window, strides, dilations, padding):
    places = [(s + 2 * p - (w - 1) * d - 1) // t + 1 for s, w, t, d, p in zip(sizes, window, strides, dilations, padding)]
    shape = (n, channels, *window, *places)
    x = reals(type, shape) if type[0] != "i" and type[0] != "u" else T(type, rng.integers(0, 2**31, shape))
    v = np.array(x.values, np.float64)
    a = {"strides": list(strides), "dilations": list(dilations), "before": list(padding)}
    if len(sizes) == 2:
        columns = torch.tensor(v).reshape(n, channels * math.prod(window), math.prod(places))
        y = F.fold(columns, sizes, window, dilations, padding, strides).numpy()
    else:
        y = np.zeros((n, channels, *sizes))
        for k in np.ndindex(*window):
            for j in np.ndindex(*places):
                i = [b * s + a * d - p for a, b, s, d, p in zip(k, j, strides, dilations, padding)]
                if all(0 <= c < size for c, size in zip(i, sizes)):
                    y[(slice(None), slice(None), *i)] += v[(slice(None), slice(None), *k, *j)]
    near = {} if type[0] in "iu" else {"ulp": 1, "absolute": 1e-12 if type == "f64" else 1e-5}
    case("fold", [x], [T(type, y.astype(object).astype(np.int64) if type[0] in "iu" else y)], a, **near)


for window, strides, dilations, padding in itertools.product([(3, 2), (1, 1), (2, 4)], [(1, 1), (2, 3)], [(1, 1), (2, 1)], [(0, 0), (1, 2)]):
    fold("f32", 2, 3, (7, 8), window, strides, dilations, padding)
for strides in ((1,), (4,)):
    fold("f32", 2, 3, (11,), (3,), strides, (2,), (1,))
    fold("f32", 1, 2, (4, 5, 3), (2, 3, 1), strides * 3, (1, 2, 1), (1, 0, 0))
for type in [*FLOATS, "i32", "u32"]:
    fold(type, 1, 2, (5, 4), (3, 2), (1, 2), (1, 1), (1, 0))
case("fold", [T("f32", np.zeros((0, 2, 3, 5)))], [T("f32", np.zeros((0, 2, 7)))])


# ---- Functions of tensors (weft/resampling.h), for tests/ops/resampling_graph_test.cc
kernel_cases, cpu_kernel_cases.cases = cpu_kernel_cases.cases, []


def function(name, inputs, y, options=None, **near):
    case(name, inputs, [y if isinstance(y, T) else T("f32", y.numpy())], options, **near)


NEAR = {"absolute": 1e-5}
image = reals("f32", (2, 3, 6, 5))
for size in ((12, 9), (3, 4)):
    for mode, name in (("linear", "bilinear"), ("cubic", "bicubic")):
        for align in (False, True):
            y = F.interpolate(tensor(image), size=size, mode=name, align_corners=align)
            function("upsample", [image], y, {"sizes": list(size), "mode": mode, "align_corners": align}, **NEAR)
        y = F.interpolate(tensor(image), size=size, mode=name, antialias=True)
        function("upsample", [image], y, {"sizes": list(size), "mode": mode, "antialias": True}, **NEAR)
    for exact, name in ((False, "nearest"), (True, "nearest-exact")):
        function("upsample", [image], F.interpolate(tensor(image), size=size, mode=name), {"sizes": list(size), "mode": "nearest", "exact": exact})
    function("upsample", [image], F.interpolate(tensor(image), size=size, mode="area"), {"sizes": list(size), "mode": "area"}, **NEAR)
for name, mode in (("linear", "linear"), ("nearest", "nearest")):
    line = reals("f32", (2, 3, 7))
    y = F.interpolate(tensor(line), scale_factor=1.7, mode=name, recompute_scale_factor=False)
    function("resize_by", [line], y, {"scale": 1.7, "mode": mode}, **NEAR)
for factor in (1, 2, 3):
    deep, wide = reals("f32", (2, 2 * factor**2, 3, 4)), reals("f32", (2, 3, 2 * factor, 3 * factor))
    function("pixel_shuffle", [deep], F.pixel_shuffle(tensor(deep), factor), {"block": factor})
    function("pixel_unshuffle", [wide], F.pixel_unshuffle(tensor(wide), factor), {"block": factor})
    n, c, h, w = deep.shape
    # The text of ONNX's DepthToSpace and SpaceToDepth.
    t = tensor(deep).reshape(n, factor, factor, c // factor**2, h, w).permute(0, 3, 4, 1, 5, 2)
    function("depth_to_space", [deep], t.reshape(n, c // factor**2, h * factor, w * factor), {"block": factor})
    n, c, h, w = wide.shape
    t = tensor(wide).reshape(n, c, h // factor, factor, w // factor, factor).permute(0, 3, 5, 1, 2, 4)
    function("space_to_depth", [wide], t.reshape(n, c * factor**2, h // factor, w // factor), {"block": factor})
for window, stride, dilation, padding in itertools.product([(3, 2), (2, 2), (1, 1)], [(1, 1), (2, 2), (3, 1)], [(1, 1), (2, 1)], [(0, 0), (1, 2)]):
    how = {"window": list(window), "strides": list(stride), "dilations": list(dilation), "padding": list(padding)}
    columns = F.unfold(tensor(image), window, dilation, padding, stride)
    function("unfold", [image], columns, how)
    columns = reals("f32", tuple(columns.shape))
    function("fold", [columns], F.fold(tensor(columns), (6, 5), window, dilation, padding, stride), {"sizes": [6, 5], **how}, **NEAR)
for align in (False, True):
    for size, d in (((4, 5), 2), ((1, 3), 2), ((2, 3, 4), 3)):
        theta = reals("f32", (2, d, d + 1))
        grid = F.affine_grid(tensor(theta), (2, 1, *size), align)
        function("affine_grid", [theta], grid, {"sizes": list(size), "align_corners": align}, **NEAR)
    grid = T("f32", rng.uniform(-1.2, 1.2, (2, 3, 4, 2)))
    y = F.grid_sample(tensor(image), tensor(grid), "bilinear", "border", align)
    function("grid_sample", [image, grid], y, {"align_corners": align}, **NEAR)


# ---- Gradients of samples, of both (PyTorch's autograd). One axis is the second of two, at the first one's only element.
def gradients(call, type, grid_type, n, channels, sizes, places, mode, padding, align):
    x, grid = reals(type, (n, channels, *sizes)), grid_of(grid_type, (n, *places, len(sizes)), sizes, mode, align)
    a, g = tensor(x).requires_grad_(), tensor(grid).requires_grad_()
    if len(sizes) == 1:
        flat = torch.cat([g, torch.zeros_like(g)], -1)[:, None]
        y = F.grid_sample(a[:, :, None], flat, MODES[mode], padding, align)[:, :, 0]
    else:
        y = F.grid_sample(a, g, MODES[mode], padding, align)
    dy = reals(type, tuple(y.shape))
    dx, dgrid = torch.autograd.grad(y, (a, g), tensor(dy))
    o = {"mode": mode, "padding": padding, "align_corners": align}
    near = {"ulp": 1, "absolute": 1e-12 if type == "f64" else 1e-4}
    call("grid_sample_gradient", [dy, grid], T(type, dx.numpy()), {"sizes": list(sizes), **o}, **near)
    # Positions and sums are f64 where x is.
    near["absolute"] = 1e-12 if type == "f64" and grid_type == "f64" else 2e-4
    call("grid_sample_grid_gradient", [dy, x, grid], T(grid_type, dgrid.numpy()), o, **near)


function_cases, cpu_kernel_cases.cases = cpu_kernel_cases.cases, kernel_cases


def kernel(name, inputs, y, options, **near):
    case(name, inputs, [y], {k: v for k, v in options.items() if k != "sizes"}, **near)


for mode, padding, align in itertools.product(MODES, PADDINGS, (False, True)):
    for sizes, places in [((5, 6), (3, 7)), ((1, 4), (2, 3)), ((6,), (9,)), ((3, 4, 5), (2, 3, 4))]:
        if mode != "cubic" or len(sizes) < 3:
            gradients(kernel, "f32", "f32", 2, 3, sizes, places, mode, padding, align)
    gradients(kernel, "f32", "f32", 1, 12, (8, 5), (3, 4), mode, padding, align)
for a, b in itertools.product(FLOATS, FLOATS):
    gradients(kernel, a, b, 1, 2, (4, 3), (3, 4), "linear", "zeros", False)
kernel_cases, cpu_kernel_cases.cases = cpu_kernel_cases.cases, function_cases
for mode, padding, align in itertools.product(MODES, PADDINGS, (False, True)):
    gradients(function, "f32", "f32", 2, 3, (6, 5), (3, 4), mode, padding, align)
function_cases, cpu_kernel_cases.cases = cpu_kernel_cases.cases, kernel_cases

for c in kernel_cases:  # the schema's booleans are numbers
    c["attributes"] = {k: int(v) if isinstance(v, bool) else v for k, v in c.get("attributes", {}).items()}
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
for file, cases in (("cases.json", kernel_cases), ("functions.json", function_cases)):
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / file).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(len(cases), "cases")
print(len(cpu_kernel_cases.bytes_), "bytes")
