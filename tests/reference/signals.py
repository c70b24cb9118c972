"""Values of weft/signal.h for tests/functions/signal_test.cc: writes tests/data/signal. Windows, convolutions and cosine
transforms are SciPy's, short-time transforms PyTorch's, in f64 of operands that their types hold exactly. In
windows.json a case's output is the window. In cases.json its inputs are the function's operands, some null, and the
cotangent of the result; its outputs the result and the cotangents of the operands."""
import itertools
import json
import pathlib

import numpy as np
import scipy.fft
import scipy.signal
import torch
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "signal"
NORMS = ("backward", "ortho", "forward")
STEPS = {"f16": 1e-3, "bf16": 8e-3}


def written(name):
    cases = [{"function": c.pop("kernel"), **c} for c in cpu_kernel_cases.cases]
    cpu_kernel_cases.cases.clear()
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / name).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return len(cases)


def operand(type, shape):
    if type == "c64":
        return T(type, rng.normal(0, 1, shape) + 1j * rng.normal(0, 1, shape))
    if type == "bool" or type[0] in "iu":
        return T(type, rng.integers(0, 2 if type == "bool" else 100, shape))
    return T(type, rng.normal(0, 1, shape))


def numbers(t):
    return np.array(t.values, np.complex128 if t.type == "c64" else np.float64)


def of(t):
    return t.detach().resolve_conj().numpy()


# ---- Windows
def windows():
    kinds = [("hann_window", "hann", {}), ("hamming_window", "hamming", {}), ("blackman_window", "blackman", {}),
             ("blackman_harris_window", "blackmanharris", {}), ("bartlett_window", "bartlett", {})]
    kinds += [("kaiser_window", ("kaiser", b), {"beta": b}) for b in (0.0, 1.0, 8.6, 12.0, 14.0, 40.0, 300.0)]
    kinds += [("gaussian_window", ("gaussian", d), {"deviation": d}) for d in (0.5, 7.0, 100.0)]
    kinds += [("tukey_window", ("tukey", a), {"alpha": a}) for a in (0.0, 0.25, 0.5, 1.0)]
    for name, scipys, options in kinds:
        for n in (1, 2, 3, 8, 33, 400):
            for periodic in (True, False):
                w = scipy.signal.get_window(scipys, n, fftbins=periodic)
                for type in ("f32", "f64", "f16", "bf16") if n == 33 else ("f32",):
                    case(name, [], [T(type, w)], {**options, "n": n, "periodic": periodic, "dtype": type},
                         **({"absolute": 1e-14, "relative": 1e-12} if type == "f64" else {"ulp": 1, "absolute": 1e-9}))


# ---- Functions
def differentiated(name, operands, y_of, options, n, more=()):
    """`y_of` takes PyTorch's tensors of the operands."""
    inputs = [None if x is None else torch.tensor(numbers(x), requires_grad=True) for x in operands]
    y = y_of(*inputs)
    dy = operand("c64" if y.is_complex() else "f32", tuple(y.shape))
    wanted = [x for x in inputs if x is not None]
    gradients = torch.autograd.grad(y, wanted, torch.tensor(numbers(dy)))
    results = [of(y), *(of(g) for g in gradients)]
    step = max(STEPS.get(x.type, 6e-8) for x in operands if x is not None)
    largest = max(float(np.max(np.abs(r), initial=0)) for r in results)
    types = [dy.type] + [x.type for x in operands if x is not None]
    case(name, [*operands, dy], [T(t, r) for t, r in zip(types, results)], options,
         absolute=largest * (step + 4e-7 * np.log2(n + 1)))


def plain(name, operands, type, y, options, n):
    step = STEPS.get(type, 6e-8)
    case(name, [*operands, None], [T(type, y)], options,
         absolute=float(np.max(np.abs(y), initial=0)) * (step + 4e-7 * np.log2(n + 1)))


def stft_of(n_fft, options):
    def function(x, window):
        y = torch.stft(x.reshape(-1, x.shape[-1]), n_fft, hop_length=options.get("hop_length"),
                       win_length=options.get("window_length") or (None if window is None else window.shape[0]), window=window,
                       center=options.get("center", True), pad_mode={"edge": "replicate", "wrap": "circular"}.get(
                           options.get("padding", "reflect"), options.get("padding", "reflect")),
                       normalized=options.get("normalized", False), onesided=options.get("onesided"), return_complex=True)
        return y.reshape(*x.shape[:-1], *y.shape[-2:])
    return function


def istft_of(n_fft, options):
    def function(x, window):
        y = torch.istft(x.reshape(-1, *x.shape[-2:]), n_fft, hop_length=options.get("hop_length"),
                        win_length=options.get("window_length") or (None if window is None else window.shape[0]), window=window,
                        center=options.get("center", True), normalized=options.get("normalized", False),
                        onesided=options.get("onesided"), length=options.get("length"),
                        return_complex=options.get("complex", False))
        return y.reshape(*x.shape[:-2], y.shape[-1])
    return function


def positive(n, type="f32"):
    return T(type, rng.uniform(0.5, 1.5, n))


def short_time():
    for shape, n_fft, window, options in (
            ((40,), 16, None, {}), ((40,), 16, 16, {}), ((2, 37), 16, 16, {"hop_length": 5}), ((2, 1, 40), 15, 15, {}),
            ((40,), 16, 10, {}), ((40,), 17, 10, {"hop_length": 3}), ((40,), 16, 9, {"window_length": 9}),
            ((40,), 16, None, {"window_length": 12}), ((2, 40), 16, 16, {"center": False}),
            ((40,), 16, 16, {"center": False, "hop_length": 7}), ((40,), 16, 16, {"normalized": True}),
            ((40,), 16, 16, {"onesided": False}), ((40,), 15, 15, {"onesided": False, "normalized": True}),
            ((40,), 16, 16, {"padding": "constant"}), ((2, 40), 16, 16, {"padding": "edge"}), ((40,), 16, 16, {"padding": "wrap"}),
            ((16,), 16, 16, {"center": False}), ((9,), 16, 16, {}), ((5,), 1, 1, {"hop_length": 1}), ((5,), 2, 2, {"hop_length": 1}),
            ((40,), 16, 16, {"hop_length": 20}), ((300,), 128, 100, {"hop_length": 32}), ((0, 40), 16, 16, {})):
        for type in ("f32", "f16") if shape == (2, 37) else ("f32",):
            x, w = operand(type, shape), None if window is None else positive(window)
            if 0 not in shape:
                differentiated("stft", [x, w], stft_of(n_fft, options), {"n_fft": n_fft, **options}, n_fft)
            else:
                plain("stft", [x, w], "c64", np.zeros((0, 9, 11)), {"n_fft": n_fft, **options}, n_fft)
    for options in ({}, {"normalized": True, "hop_length": 3}, {"center": False}):
        differentiated("stft", [operand("c64", (2, 40)), positive(16)], stft_of(16, options), {"n_fft": 16, **options}, 16)
    ints = operand("i32", (40,))
    plain("stft", [ints, None], "c64", of(stft_of(16, {})(torch.tensor(numbers(ints)), None)), {"n_fft": 16}, 16)
    for shape, n_fft, window, options in (
            ((9, 11), 16, None, {}), ((9, 11), 16, 16, {}), ((2, 9, 6), 16, 16, {"hop_length": 5}), ((2, 1, 8, 7), 15, 15, {}),
            ((9, 11), 16, 12, {}), ((9, 11), 16, None, {"window_length": 12}), ((9, 5), 17, 10, {"hop_length": 3}),
            ((9, 11), 16, 16, {"center": False}), ((9, 11), 16, 16, {"normalized": True}), ((9, 11), 16, 16, {"length": 37}),
            ((2, 9, 11), 16, 16, {"length": 60}), ((9, 11), 16, 16, {"length": 70, "center": False}),
            ((16, 7), 16, 16, {"onesided": False}), ((16, 7), 16, 16, {"onesided": False, "complex": True}),
            ((2, 15, 7), 15, 15, {"onesided": False, "complex": True, "normalized": True, "length": 20}),
            ((65, 9), 128, 100, {"hop_length": 32}), ((2, 5), 2, 2, {"hop_length": 1})):
        x, w = operand("c64", shape), None if window is None else positive(window)
        differentiated("istft", [x, w], istft_of(n_fft, options), {"n_fft": n_fft, **options}, n_fft * 4)


def convolved(a, b, mode, axis):
    """By PyTorch: sums of shifted copies."""
    a, b = a.movedim(axis, -1), b.movedim(axis, -1)
    n, m = a.shape[-1], b.shape[-1]
    full = sum(torch.nn.functional.pad(a * b[..., j : j + 1], (j, m - 1 - j)) for j in range(m))
    least = min(n, m)
    begin, count = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (least - 1, max(n, m) - least + 1)}[mode]
    return full[..., begin : begin + count].movedim(-1, axis)


def convolution():
    for mode in ("full", "same", "valid"):
        for first, second, axis in (((9,), (4,), -1), ((4,), (9,), -1), ((7,), (7,), -1), ((1,), (5,), -1), ((2, 30), (1, 11), -1),
                                    ((3, 20, 2), (3, 5, 1), -2), ((2, 1, 40), (3, 8), -1), ((100,), (31,), 0)):
            for types in (("f32", "f32"), ("c64", "c64"), ("f32", "c64"), ("c64", "f32")):
                x, y = (operand(t, s) for t, s in zip(types, (first, second)))
                a, b = numbers(x), numbers(y)
                if a.ndim == b.ndim:
                    if mode != "valid" or a.shape[axis] >= b.shape[axis]:
                        want = scipy.signal.fftconvolve(a, b, mode, axes=axis)
                        assert np.allclose(want, of(convolved(torch.tensor(a), torch.tensor(b), mode, axis)))
                differentiated("fft_convolve", [x, y], lambda p, q: convolved(p, q, mode, axis), {"mode": mode, "axis": axis},
                               4 * max(a.shape[axis], b.shape[axis]))
        for types, type in ((("f16", "f16"), "f16"), (("bf16", "f32"), "f32"), (("i32", "u8"), "f32"), (("f16", "i8"), "f16"), (("bf16", "bf16"), "bf16")):
            x, y = operand(types[0], (2, 12)), operand(types[1], (1, 5))
            plain("fft_convolve", [x, y], type, scipy.signal.fftconvolve(numbers(x), numbers(y), mode, axes=-1), {"mode": mode}, 64)


def cosines():
    norms = itertools.cycle(NORMS)
    for name in ("dct", "idct"):
        f = getattr(scipy.fft, name)
        for type in (2, 3):
            for n in (1, 2, 3, 4, 5, 8, 15, 16, 60, 97):
                for norm in NORMS:
                    x = operand("f32", (2, n))
                    dy = operand("f32", (2, n))
                    y = f(numbers(x), type, norm=norm)
                    # The transpose of its matrix, whose columns are the transforms of unit vectors.
                    dx = numbers(dy) @ f(np.eye(n), type, norm=norm).T
                    largest = max(np.max(np.abs(y)), np.max(np.abs(dx)))
                    case(name, [x, dy], [T("f32", y), T("f32", dx)], {"type": type, "norm": norm},
                         absolute=float(largest * 5e-7 * np.log2(2 * n + 1)))
            for shape, options in (((5, 6, 7), {"axis": 0}), ((5, 6, 7), {"axis": -2, "n": 4}), ((5, 6), {"n": 9}), ((5, 6), {"axis": 0, "n": 1}),
                                   ((0, 4), {})):
                norm = next(norms)
                x = operand("f32", shape)
                y = f(numbers(x), type, options.get("n"), options.get("axis", -1), norm) if 0 not in shape else np.zeros(shape)
                plain(name, [x], "f32", y, {"type": type, "norm": norm, **options}, 64)
            for kind in ("f16", "bf16", "i32", "u8", "bool"):
                x = operand(kind, (3, 10))
                plain(name, [x], kind if kind in STEPS else "f32", f(numbers(x), type), {"type": type}, 64)


OUT.mkdir(parents=True, exist_ok=True)
windows()
counts = [written("windows.json")]
short_time()
convolution()
cosines()
counts.append(written("cases.json"))
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
print(counts, "cases,", len(cpu_kernel_cases.bytes_), "bytes")
