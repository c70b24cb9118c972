"""Linear filters by SciPy and PyTorch, of operands that their types hold exactly, for tests/functions/filters_test.cc: writes
tests/data/filters. A case's inputs are the function's operands, some null, and the cotangent of the result, which is y,
or y and the last state joined along the axis; its outputs the result and, with a cotangent, those of the operands.

Tolerances are ten times the error of SciPy's own recurrence in f32, the greatest of five random signals, and 3e-7 of the
largest result; of f64 these times 2^-29."""
import json
import pathlib

import numpy as np
import scipy.signal
import torch
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "filters"
OUT.mkdir(parents=True, exist_ok=True)
ROUNDING = {"f64": 2.0**-53, "f16": 2.0**-11, "bf16": 2.0**-8}


def operand(type, shape):
    if type == "c64":
        return T(type, rng.normal(0, 1, shape) + 1j * rng.normal(0, 1, shape))
    if type == "bool" or type[0] in "iu":
        return T(type, rng.integers(0, 2 if type == "bool" else 9, shape))
    return T(type, rng.normal(0, 1, shape))


def numbers(t):
    return None if t is None else np.array(t.values, np.complex128 if t.type == "c64" else np.float64)


def bound(b, a, x, axis, zi, type):
    """Of an element of y and of the last state."""
    worst = largest = 0.0
    n = max(len(b), len(a)) - 1
    for turn in range(5):
        x = np.moveaxis(x, axis, -1) if turn == 0 else rng.normal(0, 1, x.shape)
        z = np.zeros(x.shape[:-1] + (n,)) if zi is None else np.broadcast_to(np.moveaxis(zi, axis, -1), x.shape[:-1] + (n,))
        types = (np.complex64, np.complex128) if any(map(np.iscomplexobj, (b, a, x, z))) else (np.float32, np.float64)
        narrow, wide = (scipy.signal.lfilter(*(v.astype(t) for v in (b, a, x)), -1, z.astype(t)) for t in types)
        assert narrow[0].dtype == types[0]
        for got, want in zip(narrow, wide):
            worst, largest = max(worst, float(np.abs(got - want).max(initial=0))), max(largest, float(np.abs(want).max(initial=0)))
    return (10 * worst + 3e-7 * largest) * (2.0**-29 if type == "f64" else 1)


def recurrence(b, a, x, z, axis):
    """PyTorch's: y, and the state behind it."""
    x = x.movedim(axis, -1)
    b, a = b / a[0], a / a[0]
    n = max(len(b), len(a)) - 1
    b, a = (torch.cat([t, t.new_zeros(n + 1 - len(t))]) for t in (b, a))
    z = x.new_zeros(*x.shape[:-1], n) if z is None else z.movedim(axis, -1)
    z = z.expand(*x.shape[:-1], n)
    y = []
    for t in range(x.shape[-1]):
        now = b[0] * x[..., t]
        if n:
            now = now + z[..., 0]
            z = torch.cat([z[..., 1:], torch.zeros_like(z[..., :1])], -1) + b[1:] * x[..., t, None] - a[1:] * now[..., None]
        y.append(now)
    return (torch.stack(y, -1) if y else x).movedim(-1, axis), z.movedim(-1, axis)


def cascade(sos, x, z, axis):
    last = []
    for i, section in enumerate(sos):
        x, own = recurrence(section[:3], section[3:], x, None if z is None else z[i], axis)
        last.append(own)
    return x, torch.stack(last)


def result(type):
    return "f32" if type == "bool" or type[0] in "iu" else type


def add(name, inputs, y, gradient_types, axis, type, tolerance, gradients=()):
    """`gradients`: of the operands, with the cotangent as the last input."""
    largest = max((float(np.abs(g).max(initial=0)) for g in gradients), default=0)
    step = ROUNDING.get(type, 0) * float(np.abs(y).max(initial=0))
    case(name, inputs, [T(type, y)] + [T(t, g) for t, g in zip(gradient_types, gradients)], {"axis": axis},
         absolute=max(tolerance, (1e-12 if type == "f64" else 2e-5) * largest) + step)


def filtered(types, b, a, shape, axis=-1, zi=None, type=None, gradients=False):
    """b and a are values."""
    b, a, x = T(types[0], b), T(types[1], a), operand(types[2], shape)
    type = type or result(types[2])
    z = None if zi is None else operand(type, zi)
    with_state = zi is not None
    v, w, u, s = (numbers(t) for t in (b, a, x, z))
    if with_state:
        full = list(shape)
        full[axis] = max(len(v), len(w)) - 1
        y, last = scipy.signal.lfilter(v, w, u, axis, np.broadcast_to(s, full)) if u.size else (u, np.broadcast_to(s, full))
        y = np.concatenate([y, last], axis)
    else:
        y = scipy.signal.lfilter(v, w, u, axis) if u.size else u
    name = "lfilter_state" if with_state else "lfilter"
    inputs = [b, a, x] + ([z] if with_state else [])
    tolerance = bound(v, w, u, axis, s, type) if u.size else 0
    wide = "f32" if type in ("f16", "bf16") else type
    if not gradients:
        return add(name, [*inputs, None], y, [], axis, type, tolerance)
    operands = [torch.tensor(numbers(t), requires_grad=True) for t in inputs]
    out = recurrence(*operands[:3], operands[3] if with_state else None, axis)
    out = torch.cat(out, axis) if with_state else out[0]
    assert np.allclose(out.detach().numpy(), y)
    dy = operand(wide, y.shape)
    gradients = torch.autograd.grad(out, operands, torch.tensor(numbers(dy)))
    add(name, [*inputs, dy], y, [t.type for t in inputs], axis, type, tolerance, [g.resolve_conj().numpy() for g in gradients])


def sections(types, sos, shape, axis=-1, zi=None, gradients=False):
    sos, x = T(types[0], sos), operand(types[1], shape)
    type = result(types[1])
    z = None if zi is None else operand(type, zi)
    v, u, s = (numbers(t) for t in (sos, x, z))
    # SciPy wants a[0] = 1.
    one = v / v[:, 3:4]
    if zi is not None:
        full = [len(v), *shape]
        full[axis if axis < 0 else axis + 1] = 2
        wide = np.broadcast_to(s, full)
        y, last = scipy.signal.sosfilt(one, u, axis, wide)
    else:
        y = scipy.signal.sosfilt(one, u, axis)
    tolerance, now = 0.0, u
    for i, row in enumerate(one):
        own = None if s is None else np.broadcast_to(s, full)[i]
        # What the sections before were wrong by goes through this one.
        h = np.abs(scipy.signal.lfilter(row[:3], row[3:], np.eye(1, max(u.shape[axis], 1))[0])).sum()
        tolerance = tolerance * h + bound(row[:3], row[3:], now, axis, own, type)
        now = scipy.signal.lfilter(row[:3], row[3:], now, axis)
    inputs = [sos, x] + ([z] if z is not None else [])
    name = "sosfilt" if z is None else "sosfilt_state"
    if z is not None:
        # y behind the states of each section, as a section more: joined along the axis.
        y = np.concatenate([*last, y], axis)
    if not gradients:
        return add(name, [*inputs, None], y, [], axis, type, tolerance)
    operands = [torch.tensor(numbers(t), requires_grad=True) for t in inputs]
    out, states = cascade(*operands[:2], operands[2] if z is not None else None, axis)
    out = out if z is None else torch.cat([*states, out], axis)
    assert np.allclose(out.detach().numpy(), y)
    dy = operand(type, y.shape)
    gradients = torch.autograd.grad(out, operands, torch.tensor(numbers(dy)))
    add(name, [*inputs, dy], y, [t.type for t in inputs], axis, type, tolerance, [g.resolve_conj().numpy() for g in gradients])


iir = scipy.signal.iirfilter
SMALL = {
    "smooth": ([0.25], [1.0, -0.75]),
    "scaled": ([1.0, 0.5, -0.25], [2.0, -1.0, 0.5, 0.125]),
    "fir": ([0.5, -1.0, 0.25, 2.0], [4.0]),
    "gain": ([3.0], [2.0]),
    "short": ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 0.5]),
    "biquad": ([0.2, 0.4, 0.2], [1.0, -0.4, 0.3]),
}
# Small ones with all gradients, then lengths around blocks of 256.
for b, a in SMALL.values():
    for shape, axis in (((7,), -1), ((2, 40), -1), ((5, 3), 0), ((2, 3, 2), 1), ((1,), 0)):
        states = list(shape)
        states[axis] = max(len(b), len(a)) - 1
        filtered(("f32",) * 3, b, a, shape, axis, gradients=True)
        filtered(("f32",) * 3, b, a, shape, axis, states, gradients=True)
    filtered(("f64",) * 3, b, a, (2, 70), gradients=True)
    filtered(("c64",) * 3, [x * (1 - 0.5j) for x in b], [x * (1 + 0.25j) if i else x for i, x in enumerate(a)], (2, 70), gradients=True)
    filtered(("f32", "f32", "c64"), b, a, (70,))
    for type in ("f16", "bf16", "i32", "u8", "bool"):
        filtered((result(type),) * 2 + (type,), b, a, (2, 50), type=result(type))
b, a = SMALL["scaled"]
for shape, axis, states in (((2, 3), 1, (1, 3)), ((4, 2), 0, (3, 1)), ((2, 0), 1, (2, 3)), ((0, 3), 1, (0, 3)), ((2, 2), 1, (2, 3))):
    filtered(("f32",) * 3, b, a, shape, axis, states)
for n in (31, 255, 256, 257, 511, 512, 513, 767, 769, 1024, 1100, 2600):
    for b, a in (SMALL["smooth"], SMALL["biquad"], iir(4, 0.2, btype="low", ftype="butter")):
        states = max(len(b), len(a)) - 1
        filtered(("f32",) * 3, b, a, (n,), zi=(states,))
        filtered(("f64",) * 3, b, a, (n,))
# Of high order, and slow ones: the bound says what is left of them.
for b, a in (iir(8, 0.3, btype="low", ftype="cheby1", rp=1), iir(4, [0.1, 0.2], btype="band", ftype="butter"), iir(3, 0.5, btype="high", ftype="butter"),
             iir(2, 0.01, btype="low", ftype="butter"), ([1.0], [1.0, -1.0]), ([1.0], [1.0] + [0.0] * 39 + [-0.5]), (rng.normal(0, 1, 50), [1.0, -0.9]),
             ([1.0] + [0.0] * 99 + [0.25], np.concatenate([[1.0], rng.normal(0, 0.01, 70)]))):
    for type in ("f32", "f64"):
        filtered((type,) * 3, b, a, (2, 2000), zi=(2, max(len(b), len(a)) - 1))
        filtered((type,) * 3, b, a, (300,))

# NaN from the first element on that is not finite; of one coefficient of a only where products meet it.
x = operand("f32", (2, 100)).values
x[0, 40], x[1, 70] = np.nan, np.inf
for name in ("biquad", "fir"):
    b, a = (T("f32", v) for v in SMALL[name])
    y = scipy.signal.lfilter(b.values, a.values, x, -1)
    if name == "biquad":
        y[0, 40:], y[1, 70:] = np.nan, np.nan
    case("lfilter", [b, a, T("f32", x), None], [T("f32", y)], {"axis": -1}, absolute=1e-5)

for order, shape, axis in ((2, (40,), 0), (5, (2, 70), -1), (8, (3, 2), 0), (4, (600,), 0)):
    sos = iir(order, 0.25, btype="low", ftype="butter", output="sos")
    own = list(shape)
    own[axis] = 2
    small = np.prod(shape) < 150
    sections(("f32", "f32"), sos, shape, axis, gradients=small)
    sections(("f32", "f32"), sos * 2, shape, axis, [len(sos), *own], gradients=small)
    sections(("f64", "f64"), sos, shape, axis)
    sections(("f32", "c64"), sos, shape, axis)
sos = iir(6, 0.02, btype="low", ftype="butter", output="sos")
for type in ("f32", "f64"):
    sections((type, type), sos, (3000,))
    sections((type, type), sos, (2, 3000), -1, (3, 1, 2))
for type in ("f16", "i32"):
    sections((result(type), type), iir(2, 0.25, btype="low", output="sos"), (2, 50))

cases = [{"function": c.pop("kernel"), **c} for c in cpu_kernel_cases.cases]
lines = (json.dumps(c, separators=(",", ":")) for c in cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
print(len(cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
