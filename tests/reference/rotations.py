"""Values of rotary_embedding() and hadamard_transform() for tests/functions/rotations_test.cc: writes tests/data/rotations.
They are formulas in f64 by PyTorch, which also differentiates them, checked against MLX's rope and hadamard_transform
(mlx[cpu]). A case's inputs are the function's operands, some null, and the cotangent of the result or null; its outputs
the result and, if there is a cotangent, the cotangents of the operands that are floats."""
import json
import pathlib

import mlx.core as mx
import numpy as np
import torch
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "rotations"
STEPS = {"f16": 5e-4, "bf16": 4e-3, "f32": 6e-8, "f64": 1e-15}


def operand(type, shape, scale=1.0):
    return T(type, rng.normal(0, scale, shape))


def numbers(t):
    return np.array(t.values, np.float64)


def rows(values, axis, rank):
    """[first…, sequence, …] with x's axes: ones between the first and that of positions, and behind it."""
    first = values.ndim - 1
    shape = [*values.shape[:first], *[1] * (axis - first), values.shape[first], *[1] * (rank - 1 - axis)]
    return values.reshape(shape)


def rotated(x, positions, offsets, frequencies, cos, sin, o):
    """Of PyTorch's tensors."""
    axis = o.get("axis", -2) % x.ndim
    dims = o.get("dims", x.shape[-1])
    half, n = dims // 2, x.shape[axis]
    p = rows(torch.arange(n, dtype=torch.float64) if positions is None else positions, axis, x.ndim) + o.get("offset", 0)
    if offsets is not None:
        p = p + rows(offsets[..., None], axis, x.ndim)
    if cos is None:
        f = o.get("base", 10000.0) ** (-torch.arange(half, dtype=torch.float64) / half) if frequencies is None else frequencies
        angle = p * o.get("scale", 1.0) * f
        c, s = angle.cos(), angle.sin()
    else:
        c, s = cos, sin
        if cos.ndim == 2:
            c, s = (t[p[..., 0].long()] for t in (cos, sin))
        else:
            first = cos.ndim - 2
            shape = [*cos.shape[:first], *[1] * (axis - first), cos.shape[first], *[1] * (x.ndim - 2 - axis), cos.shape[-1]]
            c, s = cos.reshape(shape), sin.reshape(shape)
        if c.shape[-1] == dims:  # the same for both elements of a pair
            c, s = (t[..., ::2] if o.get("interleaved") else t[..., :half] for t in (c, s))
    if o.get("inverse"):
        s = -s
    part, rest = x[..., :dims], x[..., dims:]
    a, b = (part[..., ::2], part[..., 1::2]) if o.get("interleaved") else (part[..., :half], part[..., half:])
    first, second = a * c - b * s, b * c + a * s
    turned = torch.stack([first, second], -1).flatten(-2) if o.get("interleaved") else torch.cat([first, second], -1)
    return torch.cat([turned * o.get("attention_factor", 1.0), rest], -1)


def rotation(x, o, positions=None, offsets=None, frequencies=None, cos=None, sin=None, gradients=True):
    operands = [x, positions, offsets, frequencies, cos, sin]
    inputs = [None if t is None else torch.tensor(numbers(t), requires_grad=t.type in STEPS) for t in operands]
    y = rotated(*inputs, o)
    dy = T("f32" if x.type == "f32" else x.type, rng.normal(0, 1, y.shape)) if gradients else None
    wanted = [(t, i) for t, i in zip(operands, inputs) if t is not None and t.type in STEPS]
    results = [T(x.type, y.detach().numpy())]
    if gradients:
        found = torch.autograd.grad(y, [i for _, i in wanted], torch.tensor(numbers(dy)))
        results += [T(t.type, g.numpy()) for (t, _), g in zip(wanted, found)]
    largest = max(float(np.max(np.abs(numbers(r)), initial=0)) for r in results)
    farthest = 4 + max([o.get("offset", 0) + x.shape[o.get("axis", -2)]] +
                       [float(np.max(np.abs(numbers(t)), initial=0)) for t in (positions, offsets) if t is not None]) * o.get("scale", 1)
    step = max(STEPS[t.type] for t, _ in wanted)
    error = largest * ((1e-14 if x.type == "f64" else 2.5e-7) * farthest + step * (4 if gradients else 1))
    case("rotary_embedding", [*operands, dy], results, o, absolute=error)
    # MLX's: [batch, …, sequence, dim], of one offset for each entry of the batch, and reciprocals of frequencies.
    if positions is None and cos is None and o.get("axis", -2) == -2 and not o.get("inverse") and x.type == "f32" and x.values.size and \
            x.values.ndim > 2 and o.get("dims") != 0:
        offset = o.get("offset", 0) if offsets is None else mx.array(numbers(offsets).astype(np.int32) + o.get("offset", 0))
        reciprocals = None if frequencies is None else mx.array((1 / numbers(frequencies)).astype(np.float32))
        theirs = mx.fast.rope(mx.array(numbers(x).astype(np.float32)), o.get("dims", x.shape[-1]), traditional=o.get("interleaved", False),
                              base=None if frequencies is not None else o.get("base", 10000.0), scale=o.get("scale", 1.0), offset=offset,
                              freqs=reciprocals, stream=mx.cpu)
        mine = numbers(results[0]).copy()
        mine[..., : o.get("dims", x.shape[-1])] /= o.get("attention_factor", 1.0)
        assert np.allclose(np.array(theirs), mine, atol=4 * error + 1e-5), (o, np.max(np.abs(np.array(theirs) - mine)))


def rotations():
    for interleaved in (False, True):
        form = {"interleaved": True} if interleaved else {}
        for shape, o in (((5, 8), {}), ((1, 2), {}), ((2, 3, 7, 6), {}), ((2, 5, 10), {"dims": 6}), ((2, 5, 9), {"dims": 8}), ((2, 5, 6), {"dims": 0}),
                         ((2, 3, 7, 8), {"offset": 100}), ((2, 3, 7, 8), {"base": 500000.0, "scale": 0.25}), ((2, 3, 4, 8), {"inverse": True}),
                         ((2, 3, 4, 8), {"attention_factor": 1.25, "inverse": True, "dims": 4, "offset": 7}), ((2, 7, 3, 8), {"axis": 1}),
                         ((1, 2, 2, 2, 2, 3, 4), {}), ((0, 3, 4), {}), ((2, 0, 4), {})):
            rotation(operand("f32", shape), {**o, **form}, gradients=0 not in shape)
        x = operand("f32", (2, 3, 5, 8))
        rotation(x, form, positions=T("i32", rng.integers(0, 50, 5)))
        rotation(x, {**form, "offset": 3}, positions=T("i64", rng.integers(0, 50, (2, 5))))
        rotation(x, form, positions=T("i32", rng.integers(0, 50, (1, 5))))
        rotation(x, {**form, "scale": 0.5}, positions=operand("f32", (2, 5), 3))
        rotation(x, form, offsets=T("i32", [40, 7]))
        rotation(x, {**form, "offset": 5}, offsets=T("i32", 9))
        rotation(x, form, positions=T("u32", rng.integers(0, 50, (2, 5))), offsets=T("i32", [[1, 2, 3], [40, 50, 60]]))
        rotation(x, form, frequencies=T("f32", rng.uniform(0.01, 1, 4)))
        rotation(x, {**form, "dims": 6, "attention_factor": 0.75}, frequencies=T("f32", rng.uniform(0.01, 1, 3)), offsets=T("i32", [4, 0]))
        rotation(operand("f32", (2, 5, 3, 8)), {**form, "axis": -3}, positions=T("i32", rng.integers(0, 50, (2, 5))))
        for width, o in ((4, {}), (3, {"dims": 6}), (8, {})):
            angles = rng.uniform(0, 6, (12, width))
            if width == 8:  # both elements of a pair have the same
                angles = np.repeat(angles[:, ::2], 2, 1) if interleaved else np.concatenate([angles[:, :4]] * 2, 1)
            c, s = T("f32", np.cos(angles)), T("f32", np.sin(angles))
            plain = width != 8
            rotation(x, {**o, **form}, cos=c, sin=s, gradients=plain)
            rotation(x, {**o, **form, "offset": 2, "inverse": True}, cos=c, sin=s, gradients=plain)
            rotation(x, {**o, **form}, positions=T("i64", rng.integers(0, 12, (2, 5))), cos=c, sin=s, gradients=plain)
            rotation(x, {**o, **form}, offsets=T("i32", [3, 7]), cos=c, sin=s, gradients=plain)
        angles = rng.uniform(0, 6, (2, 1, 5, 4))
        rotation(x, form, cos=T("f32", np.cos(angles)), sin=T("f32", np.sin(angles)))
        rotation(x, form, cos=T("f32", np.cos(angles[:, 0])), sin=T("f32", np.sin(angles[:, 0])))
        for type in ("f16", "bf16", "f64"):
            rotation(operand(type, (2, 3, 5, 8)), {**form, "offset": 11})


def transforms():
    for shape in ((1,), (2,), (3, 4), (2, 64), (3, 128), (1, 2048), (8192,), (5, 12), (2, 3, 24), (4, 20), (2, 160), (7, 28), (2, 448), (0, 8)):
        for type in ("f32", "f16", "bf16") if shape[-1] in (4, 160) else ("f32",):
            for options in ({}, {"scale": 1.0}, {"scale": -0.375}) if shape[-1] < 1000 else ({},):
                x, dy = operand(type, shape), operand(type, shape)
                n = shape[-1]
                matrix = np.array(mx.hadamard_transform(mx.eye(n), scale=1.0, stream=mx.cpu)).T.astype(np.float64)
                assert np.array_equal(matrix @ matrix.T, n * np.eye(n))
                scale = options.get("scale", n ** -0.5)
                y, dx = scale * numbers(x) @ matrix.T, scale * numbers(dy) @ matrix
                case("hadamard_transform", [x, dy], [T(type, y), T(type, dx)], options,
                     absolute=float(max(np.max(np.abs(y), initial=0), np.max(np.abs(dx), initial=0)) * (2 * STEPS[type] + 3e-7 * np.log2(n + 1))))


OUT.mkdir(parents=True, exist_ok=True)
rotations()
transforms()
lines = (json.dumps({"function": c.pop("kernel"), **c}, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
