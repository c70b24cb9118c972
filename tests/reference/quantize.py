"""Values of ONNX's formulas for quantised numbers (weft/kernels/quantize.h, weft/quantization.h) in every type and
granularity, in NumPy, checked against onnxruntime where that has the operator: writes tests/data/quantize/cases.json (by
kernel, for tests/kernels/cpu_kernels_reference_test.cc), functions.json (by function, for
tests/ops/quantization_graph_test.cc) and bytes.npy.

NumPy divides in f32 as IEEE 754 says, and rounds to even. Many numbers are ties or next to one."""
import itertools
import json
import pathlib

import numpy as np
import onnx
import onnxruntime
import torch
import cpu_kernel_cases
from onnx import TensorProto, helper
from cpu_kernel_cases import PACKED, T, case, rng, width_of

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "quantize"
OUT.mkdir(parents=True, exist_ok=True)
NUMBERS = ["f32", "f16", "bf16", "f64"]
SHIFTED = ["i8", "u8", "i4", "u4", "i2", "u2", "i16", "u16"]
EIGHT = {"f8e4m3": 448.0, "f8e5m2": 57344.0}
checked = 0


def ends(q):
    n = width_of(q)
    return (-(1 << (n - 1)), (1 << (n - 1)) - 1) if q[0] == "i" else (0, (1 << n) - 1)


def computed(*tensors):
    """As they are computed: f32, or f64 if one is."""
    wide = np.float64 if any(t.type == "f64" for t in tensors) else np.float32
    return [t.values.astype(np.float64).astype(wide) for t in tensors]


# ---- The formulas
def stored(v, zero, q, saturate):
    if q in EIGHT:
        return T(q, np.clip(v, -EIGHT[q], EIGHT[q]) if saturate else v)
    v = np.rint(v)
    if zero is not None:
        v = v.astype(np.float64) + zero.values.astype(np.float64)
    low, high = ends(q)
    return T(q, np.where(np.isnan(v), 0, np.clip(v.astype(np.float64), low, high)))


def quantize(x, s, zero, q, saturate=True):
    a, b = computed(x, s)
    return stored(a / b, zero, q, saturate)


def requantize(x, s, zero, q, saturate=True):
    a, b = computed(x, s)
    return stored(a * b, zero, q, saturate)


def dequantize(q, s, zero, to):
    wide = np.float64 if "f64" in (s.type, to) else np.float32
    v = q.values.astype(np.float64)
    if zero is not None:
        v = v - zero.values.astype(np.float64)
    return T(to, (v.astype(wide) * s.values.astype(np.float64).astype(wide)).astype(np.float64))


def fake_quantize(x, s, zero, low, high):
    a, b = computed(x, s)
    z = np.zeros((), a.dtype) if zero is None else zero.values.astype(np.float64).astype(a.dtype)
    return T(x.type, ((np.clip(np.rint(a / b) + z, low, high) - z) * b).astype(np.float64))


# ---- Numbers that are hard to round
def near_ties(type, s, q, zero, n):
    """n numbers for the scales s, which broadcast to [..., n]: ties, their neighbours, others, and those beyond q."""
    low, high = (-EIGHT[q] * 1.2, EIGHT[q] * 1.2) if q in EIGHT else ends(q)
    if zero is not None and q not in EIGHT:
        low, high = low - int(np.max(zero.values)), high - int(np.min(zero.values))
    shape = np.broadcast_shapes(s.values.shape, (n,))
    if q in EIGHT:
        numbers = cpu_kernel_cases.EIGHT[q]
        middle = (numbers[1:] + numbers[:-1]) / 2
        k = rng.choice(middle, shape) * rng.choice([1, -1], shape)
    else:
        k = rng.integers(low - 2, high + 2, shape).astype(np.float64) + 0.5
    k = np.where(rng.random(shape) < 0.15, rng.uniform(low * 1.5, high * 1.5, shape), k)
    v = T(type, k * s.values.astype(np.float64)).values
    if type in ("f32", "f64"):
        to = v.astype(np.float32 if type == "f32" else np.float64)
        step = rng.integers(-1, 2, shape)
        v = np.where(step == 0, to, np.nextafter(to, np.where(step < 0, -np.inf, np.inf).astype(to.dtype)))
    v = np.array(v, np.float64)
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0]
    v.reshape(-1)[: len(special)] = special
    return T(type, v)


def scales(type, shape=()):
    return T(type, rng.choice([0.1, 0.05, 1 / 3, 0.0078125, 3e-3, 1.0, 0.7], shape))


def zeros(q, shape=()):
    low, high = ends(q)
    return T(q, rng.integers(max(low, -300), min(high, 300), shape, endpoint=True))


# ---- onnxruntime
ONNX = {"f32": TensorProto.FLOAT, "i8": TensorProto.INT8, "u8": TensorProto.UINT8, "i16": TensorProto.INT16,
        "u16": TensorProto.UINT16, "i32": TensorProto.INT32, "f8e4m3": TensorProto.FLOAT8E4M3FN,
        "f8e5m2": TensorProto.FLOAT8E5M2}


def runtime(op, inputs, outputs, **attributes):
    """The operator's results by onnxruntime."""
    names = [f"x{i}" if t is not None else "" for i, t in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(len(outputs))], **attributes)
    given = [helper.make_tensor_value_info(n, ONNX[t.type], t.shape) for n, t in zip(names, inputs) if t is not None]
    results = [helper.make_tensor_value_info(f"y{i}", ONNX[t], None) for i, t in enumerate(outputs)]
    model = helper.make_model(helper.make_graph([node], "g", given, results), ir_version=10,
                              opset_imports=[helper.make_opsetid("", 21)])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {n: np.frombuffer(t.raw(), cpu_kernel_cases.NUMPY[t.type]).reshape(t.shape)
                              for n, t in zip(names, inputs) if t is not None})


def same(want, got, what, off=0):
    global checked
    checked += 1
    d = np.abs(want.values.astype(np.float64) - np.asarray(got).astype(np.float64))
    assert d.size == 0 or np.nanmax(d) <= off, (what, np.nanmax(d))


def finite(x):
    """NaN is the one thing that ONNX leaves open."""
    return T(x.type, np.where(np.isnan(x.values), 1.0, x.values))


# ---- Kernels: scales that broadcast, in every type
SHAPES = [((), (32,)), ((3, 1), (3, 12)), ((2, 3, 1), (2, 3, 8)), ((5,), (2, 5))]
for q in [*SHIFTED, *EIGHT, "i32", "u32"]:
    for x_type, s_type in itertools.product(NUMBERS, NUMBERS):
        for (s_shape, shape), shifts in itertools.product(SHAPES if x_type == s_type else SHAPES[:1], (False, True)):
            if (shifts and q in EIGHT) or (x_type != s_type and not shifts and q in SHIFTED):
                continue
            s, zero = scales(s_type, s_shape), zeros(q, s_shape) if shifts else None
            x = near_ties(x_type, T("f64", np.broadcast_to(s.values, shape)), q, zero, shape[-1])
            inputs = [x, s] + [zero] * shifts
            for saturate in (1, 0) if q in EIGHT else (1,):
                case("quantize", inputs, [quantize(x, s, zero, q, saturate)], {"saturate": saturate})
        if q in EIGHT or width_of(q) < 32:
            s = scales(s_type)
            sums = T("i32", rng.integers(-3000, 3000, 24)) if x_type == "f32" else near_ties(x_type, T("f64", 1 / s.values * np.ones(24)), q, None, 24)
            zero = zeros(q) if q in SHIFTED else None
            inputs = [sums, s] + [zero] * (zero is not None)
            for saturate in (1, 0) if q in EIGHT else (1,):
                case("requantize", inputs, [requantize(sums, s, zero, q, saturate)], {"saturate": saturate})
    for s_type, to in itertools.product(NUMBERS, NUMBERS):
        for shifts in (False, True):
            if shifts and q in EIGHT:
                continue
            values = T(q, rng.normal(0, 30, (3, 17))) if q in EIGHT else T(q, rng.integers(*ends(q), (3, 17), endpoint=True))
            far = {"i32": [[5], [-7], [2147483647]], "u32": [[5], [7], [4294967295]]}
            zero = (T(q, far[q]) if q in far else zeros(q, (3, 1))) if shifts else None
            s = scales(s_type, (3, 1))
            case("dequantize", [values, s] + [zero] * shifts, [dequantize(values, s, zero, to)])
for x_type in NUMBERS:
    s = scales(x_type)
    x = near_ties(x_type, T("f64", s.values * np.ones(30)), "i8", None, 30)
    case("requantize", [x, s], [requantize(x, s, None, "i8")])
    for s_type, (low, high), zero_type in itertools.product(NUMBERS, [(-128, 127), (0, 255), (-7, 7), (0, 65535)], [None, "i32", "f32"]):
        s = scales(s_type, (3, 1))
        zero = T(zero_type, rng.integers(low, high, (3, 1), endpoint=True)) if zero_type else None
        x = near_ties(x_type, T("f64", s.values * np.ones((3, 16))), "u16" if high > 255 else "i8", None, 16)
        case("fake_quantize", [x, s] + [zero] * (zero is not None), [fake_quantize(x, s, zero, low, high)], {"low": low, "high": high})
case("quantize", [T("f32", np.zeros((0, 3))), T("f32", 0.5)], [T("i8", np.zeros((0, 3)))])
case("quantize", [T("f32", [[2.5]]), T("f32", 1.0)], [T("i8", [[2]])])

# Scales far from 1, for which the quotient is exact, too.
for s in (1e-20, 1e-30, 1e20, 1e30, 2.0**-90, 1.17e-28):
    s = T("f32", s)
    x = near_ties("f32", T("f64", s.values * np.ones(200)), "i8", None, 200)
    case("quantize", [x, s], [quantize(x, s, None, "i8")])
# Zero as a scale: everything is infinite, but for 0 / 0.
case("quantize", [T("f32", [1, -1, 0]), T("f32", 0.0)], [T("i8", [127, -128, 0])])
kernel_cases, cpu_kernel_cases.cases[:] = list(cpu_kernel_cases.cases), []


# ---- Functions
def blocks(s, block, axis, n):
    return np.take(np.repeat(s.values, block, axis), range(n), axis)


def placed(t, x, axis, block):
    """As it broadcasts to x."""
    if t is None or t.values.size == 1:
        return t
    if block:
        return T(t.type, blocks(t, block, axis, x.shape[axis]))
    shape = [1] * len(x.shape)
    shape[axis] = t.values.size
    return T(t.type, t.values.reshape(shape))


for q, shifts, (shape, axis, block) in itertools.product(
        [*SHIFTED, *EIGHT, "i32"], (False, True),
        [((4, 6), -1, 0), ((2, 3, 5), 1, 0), ((3, 32), 1, 8), ((8, 5), 0, 2), ((2, 7), 1, 3),
         ((2, 6, 3), 1, 4), ((1, 1), 0, 1), ((0, 4), 1, 2), ((6,), 0, 3), ((6,), 0, 0), ((5,), 0, -1)]):
    if shifts and q not in SHIFTED:
        continue
    s_shape = list(shape) if block else [shape[axis]]
    if block:
        s_shape[axis] = -(-shape[axis] // block)
    if block < 0:
        block, s_shape = 0, []
    s, zero = scales("f32", s_shape), zeros(q, s_shape) if shifts else None
    along, zero_along = placed(s, T("f32", np.zeros(shape)), axis, block), placed(zero, T("f32", np.zeros(shape)), axis, block)
    x = T("f32", np.zeros(shape)) if 0 in shape else near_ties("f32", T("f64", np.broadcast_to(along.values, shape)), q, zero, shape[-1]) if np.prod(shape) > 5 else T("f32", np.full(shape, 0.3))
    attributes = {"dtype": q, "axis": axis, "block": block}
    want = quantize(x, along, zero_along, q)
    case("quantize", [x, s] + [zero] * shifts, [want], attributes)
    case("dequantize", [want, s] + [zero] * shifts, [dequantize(want, along, zero_along, "f32")], {"axis": axis, "block": block})
    if q in SHIFTED:
        low, high = ends(q)
        case("fake_quantize", [x, s] + [zero] * shifts, [fake_quantize(x, along, zero_along, low, high)],
             {"axis": axis, "block": block, "low": low, "high": high})
    # onnxruntime divides blocks by other scales where the last one is short, and has no i2.
    if q in ONNX and 0 not in shape and q not in EIGHT:
        options = dict(axis=axis, **({"block_size": block} if block else {}))
        per_tensor = s.values.size == 1 and not block
        one = lambda t: None if t is None else T(t.type, t.values.reshape(())) if per_tensor else t
        if q != "i32" and (not block or shape[axis] % block == 0):
            z = one(zero) if shifts else T(q, np.zeros(one(s).shape))
            f = finite(x)
            same(quantize(f, along, zero_along, q), runtime("QuantizeLinear", [f, one(s), z], [q], **options)[0], (q, shape, axis, block))
        if not block or shape[axis] % block == 0:
            same(dequantize(want, along, zero_along, "f32"), runtime("DequantizeLinear", [want, one(s)] + [one(zero)] * shifts, ["f32"], **options)[0], (q, shape))

# Ranges of their own.
for q, shape, axes in itertools.product(SHIFTED, [(40,), (3, 14), (1, 1)], [None, -1]):
    if axes and len(shape) == 1:
        continue
    for shift in (0, 5, -5):
        x = T("f32", rng.normal(shift, 2, shape))
        along = None if axes is None else (axes,)
        low, high = ends(q)
        least, most = (f(x.values.astype(np.float32), axis=along, keepdims=axes is not None, initial=0) for f in (np.min, np.max))
        scale = np.float32(most - least) / np.float32(high - low)
        scale = np.where(scale == 0, np.float32(1), scale)
        zero = T(q, np.rint(np.clip(np.float32(low) - least / scale, low, high)))
        s = T("f32", scale)
        want = quantize(x, s, zero, q)
        case("dynamic_quantize", [x], [want, s, zero], {"dtype": q, "symmetric": 0, **({} if axes is None else {"axes": [axes]})})
        if q == "u8" and axes is None:
            got = runtime("DynamicQuantizeLinear", [x], ["u8", "f32", "u8"])
            for w, g in zip((want, s, zero), got):
                same(w, g, "dynamic")
for q, axes in itertools.product(["i8", "i4", "i16", "f8e4m3", "f8e5m2"], [None, -1, 0]):
    x = rng.normal(0, 2, (4, 19))
    x[1] = 0
    x = T("f32", x)
    high = EIGHT.get(q) or ends(q)[1]
    most = np.max(np.abs(x.values.astype(np.float32)), axis=axes, keepdims=axes is not None)
    scale = most / np.float32(high)
    s = T("f32", np.where(scale == 0, np.float32(1), scale))
    case("dynamic_quantize", [x], [quantize(x, s, None, q), s], {"dtype": q, "symmetric": 1, **({} if axes is None else {"axes": [axes]})})

# Products of integers.
BYTES = ["i8", "u8"]
for a_type, b_type, za, zb, (a_shape, b_shape) in itertools.product(
        BYTES, BYTES, [None, "one", "rows"], [None, "one", "columns"], [((3, 7), (7, 5)), ((2, 1, 4), (4, 3)), ((1, 1), (1, 1))]):
    a, b = T(a_type, rng.integers(*ends(a_type), a_shape, endpoint=True)), T(b_type, rng.integers(*ends(b_type), b_shape, endpoint=True))
    at = zeros(a_type, () if za == "one" else a_shape[:-1] + (1,)) if za else None
    bt = zeros(b_type, () if zb == "one" else b_shape[-1:]) if zb else None
    wide = lambda t: 0 if t is None else t.values.astype(np.int64)
    sums = T("i32", (a.values.astype(np.int64) - wide(at)) @ (b.values.astype(np.int64) - wide(bt)))
    none = lambda t, of: t if t is not None else T(of.type, 0)
    inputs = [a, b, none(at, a), none(bt, b)]
    case("matmul_integer", inputs, [sums], {"a_zero": int(at is not None), "b_zero": int(bt is not None)})
    if za != "rows" and zb != "columns":
        same(sums, runtime("MatMulInteger", inputs, ["i32"])[0], "matmul_integer")
    # With scales; the result's zero point of both kinds.
    sa, sb, sy = T("f32", 0.02), T("f32", rng.uniform(0.01, 0.05, b_shape[-1:])) if zb == "columns" else T("f32", 0.03), T("f32", 0.7)
    for q in BYTES if len(a_shape) == 2 else []:
        zy = zeros(q)
        scale = (sa.values.astype(np.float32) * sb.values.astype(np.float32)) / sy.values.astype(np.float32)
        want = requantize(sums, T("f32", scale), zy, q)
        case("qlinear_matmul", [a, sa, inputs[2], b, sb, inputs[3], sy, zy], [want])
        if za != "rows" and zb == "one" and (a_type, b_type) != ("i8", "u8") and q == a_type:
            same(want, runtime("QLinearMatMul", [a, sa, inputs[2], b, sb, inputs[3], sy, zy], [q])[0], "qlinear_matmul", off=1)
for x_type, w_type, zx, zw, (stride, padding, groups) in itertools.product(
        BYTES, BYTES, (False, True), [None, "one", "outputs"], [((1, 1), (0, 0), 1), ((2, 1), (1, 2), 2)]):
    x, w = T(x_type, rng.integers(*ends(x_type), (2, 4, 6, 5), endpoint=True)), T(w_type, rng.integers(*ends(w_type), (6, 4 // groups, 3, 2), endpoint=True))
    xt = zeros(x_type) if zx else T(x_type, 0)
    wt = zeros(w_type, (6,) if zw == "outputs" else ()) if zw else T(w_type, 0)
    a = torch.tensor((x.values.astype(np.int64) - xt.values.astype(np.int64)).astype(np.float64))
    b = torch.tensor((w.values.astype(np.int64) - wt.values.astype(np.int64).reshape(-1, 1, 1, 1)).astype(np.float64))
    sums = T("i32", torch.nn.functional.conv2d(a, b, None, stride, padding, 1, groups).numpy().astype(np.int64))
    options = {"strides": list(stride), "padding": list(padding), "groups": groups}
    case("conv_integer", [x, w, xt, wt], [sums], options)
    pads = [*padding, *padding]
    if x_type == "u8" and zw != "outputs":
        same(sums, runtime("ConvInteger", [x, w, xt, wt], ["i32"], strides=stride, pads=pads, group=groups)[0], "conv_integer")
    sx, sw, sy = T("f32", 0.02), T("f32", rng.uniform(0.001, 0.01, (6,))), T("f32", 0.9)
    bias, zy = T("i32", rng.integers(-500, 500, 6)), zeros(x_type)
    scale = (sx.values.astype(np.float32) * sw.values.astype(np.float32)) / sy.values.astype(np.float32)
    total = T("i32", sums.values.astype(np.int64) + bias.values.astype(np.int64).reshape(1, -1, 1, 1))
    want = requantize(total, T("f32", scale.reshape(1, -1, 1, 1)), zy, x_type)
    case("qlinear_conv", [x, sx, xt, w, sw, wt, sy, zy, bias], [want], options)
    if zw == "outputs" and x_type == "u8":
        same(want, runtime("QLinearConv", [x, sx, xt, w, sw, wt, sy, zy, bias], [x_type], strides=stride, pads=pads, group=groups)[0], "qlinear_conv", off=1)

# PyTorch multiplies by 1 / scale: where both give one integer, results are the same.
for axis in (None, 1):
    s, z = (rng.uniform(0.01, 0.1, 3).astype(np.float32), rng.integers(-5, 5, 3)) if axis else (np.float32(0.05), 3)
    x = rng.normal(0, 3, (4, 3, 5)).astype(np.float32)
    shape = (1, 3, 1) if axis else ()
    want = fake_quantize(T("f32", x), T("f32", np.reshape(s, shape)), T("i32", np.reshape(z, shape)), -128, 127)
    ts, tz = torch.tensor(s), torch.tensor(z, dtype=torch.int32)
    got = (torch.fake_quantize_per_channel_affine(torch.tensor(x), ts, tz, 1, -128, 127) if axis
           else torch.fake_quantize_per_tensor_affine(torch.tensor(x), ts, tz, -128, 127))
    same(want, got.numpy(), "fake_quantize")

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
for name, cases in (("cases.json", kernel_cases), ("functions.json", cpu_kernel_cases.cases)):
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / name).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(name, len(cases), "cases")
print(len(cpu_kernel_cases.bytes_), "bytes,", checked, "results checked against onnxruntime and PyTorch")
