"""Values of Fourier transforms for tests/kernels/cpu_kernels_reference_test.cc and tests/ops/fft_graph_test.cc: writes
tests/data/fft. They are NumPy's in complex128, of operands that their types hold exactly; cases.json calls kernels,
functions.json the functions of weft/fft.h, and gradients.json has what PyTorch makes of cotangents, in f64: a case's
inputs are x and the cotangent of y, its outputs y and the cotangent of x."""
import itertools
import json
import pathlib

import numpy as np
import torch
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "fft"
REAL = ("f32", "f16", "bf16", "i32", "u8", "i8", "bool")
NORMS = ("backward", "ortho", "forward")
norms = itertools.cycle(NORMS)


def operand(type, shape):
    if type == "c64":
        return T(type, rng.normal(0, 1, shape) + 1j * rng.normal(0, 1, shape))
    if type == "bool":
        return T(type, rng.integers(0, 2, shape))
    if type[0] in "iu":
        return T(type, rng.integers(0 if type[0] == "u" else -100, 100, shape))
    return T(type, rng.normal(0, 1, shape))


def numbers(t):
    return np.array(t.values, np.complex128 if t.type == "c64" else np.float64)


def near(y, n, step=6e-8):
    """What a transform of n elements in f32 may be off by."""
    largest = float(np.max(np.abs(y), initial=0))
    return {"absolute": largest * (step + 4e-7 * np.log2(n + 1))}


def written(name, key="kernel"):
    cases = [{key: c.pop("kernel"), **c} for c in cpu_kernel_cases.cases]
    cpu_kernel_cases.cases.clear()
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / name).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return len(cases)


# ---- Kernels: the sums of the definition, which need no library.
def matrix(n, rows, inverse):
    turns = np.outer(np.arange(rows), np.arange(n)) % n / n
    return np.exp((2j if inverse else -2j) * np.pi * turns)


def fitted(x, size):
    out = np.zeros((size, x.shape[1]), x.dtype)
    out[: min(size, x.shape[0])] = x[:size]
    return out


def kernels():
    for n, size in ((1, 1), (2, 2), (5, 5), (8, 8), (12, 7), (13, 20), (30, 30), (97, 97), (64, 3), (1, 4), (6, 0)):
        for inverse in (False, True):
            options = {"length": n, "axis": 0, "inverse": int(inverse), "scale": 0.25}
            half = n // 2 + 1
            x = operand("c64", (size, 3))
            y = 0.25 * matrix(n, n, inverse) @ fitted(numbers(x), n)
            case("fft_complex", [x], [T("c64", y)], options, ulp=1, **near(y, n, 1e-7))
            for type in ("f32", "f16", "bf16"):
                real = operand(type, (size, 3))
                y = 0.25 * matrix(n, half, inverse) @ fitted(numbers(real), n)
                case("fft_real_to_complex", [real], [T("c64", y)], options, ulp=1, **near(y, n, 1e-7))
                given = fitted(numbers(x), half)
                given[0] = given[0].real
                if n % 2 == 0:
                    given[-1] = given[-1].real
                whole = np.concatenate([given, np.conj(given[1 : n - half + 1][::-1])])
                y = 0.25 * (matrix(n, n, inverse) @ whole).real
                case("fft_complex_to_real", [x], [T(type, y)], options, ulp=1, **near(y, n, 1e-7))


# ---- Functions
def one(name, x, **options):
    arguments = {k: options[k] for k in ("n", "axis", "norm") if k in options}
    y = getattr(np.fft, name)(numbers(x), **arguments)
    case(name, [x], [T("c64" if np.iscomplexobj(y) else "f32", y)], arguments,
         **near(y, options.get("n") or x.shape[options.get("axis", -1)] * 2))


def several(name, x, **options):
    arguments = {"norm": options.get("norm", "backward")}
    if "sizes" in options:
        arguments["s"] = options["sizes"]
    arguments["axes"] = options.get("axes", list(range(-len(options["sizes"]), 0)) if "sizes" in options else None)
    y = getattr(np.fft, name)(numbers(x), **arguments)
    case(name, [x], [T("c64" if np.iscomplexobj(y) else "f32", y)], options, **near(y, x.values.size * 2))


def functions():
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        takes = ("c64",) + REAL if name in ("fft", "ifft", "irfft", "hfft") else REAL
        for n in (2, 3, 4, 7, 8, 15, 16, 17, 60, 64, 97, 210, 1000, 1024, 1031):
            one(name, operand(takes[0], (2, n) if n < 200 else (n,)), norm=next(norms))
        one(name, operand(takes[0], (3,)))
        if name not in ("irfft", "hfft"):
            one(name, operand(takes[0], (2, 1)))
        one(name, operand(takes[0], (2, 1)), n=1)
        for type in takes:
            for norm in NORMS:
                one(name, operand(type, (3, 6)), norm=norm)
            for n in (1, 2, 5, 6, 9, 10, 24):
                one(name, operand(type, (2, 6)), n=n, norm=next(norms))
        for axis in (0, 1, 2, -1, -2, -3):
            for n in (None, 3, 8, 11):
                one(name, operand(takes[0], (5, 6, 7)), axis=axis, norm=next(norms), **({"n": n} if n else {}))
        one(name, operand(takes[0], (0, 6)))
        one(name, operand(takes[0], (6, 0)), axis=0, n=4)
        one(name, operand(takes[0], (2, 3, 1, 4, 2)), axis=-2)
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        takes = REAL if name == "rfftn" else ("c64",) + REAL
        for type in takes:
            several(name, operand(type, (4, 6)), norm=next(norms))
        for shape in ((8,), (5, 7), (2, 3, 4), (3, 2, 4, 5), (2, 1, 2)):
            several(name, operand(takes[0], shape), norm=next(norms))
        x = (4, 5, 6)
        for norm in NORMS:
            several(name, operand(takes[0], x), norm=norm)
            several(name, operand(takes[0], x), axes=[0, 1], norm=norm)
            several(name, operand(takes[0], x), axes=[-1, 0], norm=norm)
            several(name, operand(takes[0], x), axes=[1], norm=norm)
            several(name, operand(takes[0], x), sizes=[3, 8], norm=norm)
            several(name, operand(takes[0], x), sizes=[7], norm=norm)
            several(name, operand(takes[0], x), sizes=[6, 4, 9], norm=norm)
            several(name, operand(takes[0], x), sizes=[9, 3], axes=[2, 0], norm=norm)
        several(name, operand(takes[0], (0, 4, 3)), axes=[1, 2])
    for n in (1, 2, 3, 4, 5, 8, 9, 1000):
        for name in ("fftfreq", "rfftfreq"):
            for spacing, type in ((1.0, "f32"), (0.25, "f32"), (1 / 44100, "f32"), (2.0, "f16"), (1.0, "bf16")):
                y = getattr(np.fft, name)(n, spacing)
                case(name, [], [T(type, y)], {"n": n, "spacing": spacing, "dtype": type}, ulp=2)
    for name in ("fftshift", "ifftshift"):
        for shape, axes in (((8,), None), ((7,), None), ((4, 5), None), ((4, 5), [0]), ((4, 5), [-1]), ((3, 4, 5), [0, 2]),
                            ((1, 2), None), ((0, 3), None)):
            for type in ("f32", "c64", "i32", "bool", "f16"):
                x = operand(type, shape)
                y = getattr(np.fft, name)(x.values, axes=axes)
                case(name, [x], [T(type, y)], {} if axes is None else {"axes": axes})


# ---- Gradients
def gradients():
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        real = name in ("rfft", "ihfft")
        for shape, options in (((6,), {}), ((7,), {}), ((2, 8), {}), ((3, 4), {"axis": 0}), ((2, 6), {"n": 4}), ((2, 6), {"n": 5}),
                               ((2, 6), {"n": 9}), ((2, 6), {"n": 14}), ((2, 3), {"n": 1}), ((2, 60), {}), ((2, 97), {})):
            for type in ("f32", "f16", "bf16") if real else ("c64", "f32", "f16"):
                x, norm = operand(type, shape), next(norms)
                a = torch.tensor(numbers(x), requires_grad=True)
                y = getattr(torch.fft, name)(a, n=options.get("n"), dim=options.get("axis", -1), norm=norm)
                dy = operand("c64" if y.is_complex() else "f32", tuple(y.shape))
                (g,) = torch.autograd.grad(y, a, torch.tensor(numbers(dy)))
                y, g = (t.detach().resolve_conj().numpy() for t in (y, g))
                step = {"f16": 1e-3, "bf16": 8e-3}.get(type, 6e-8)
                case(name, [x, dy], [T(dy.type, y), T(type, g)], {**options, "norm": norm},
                     **near(np.concatenate([y.ravel(), g.ravel()]), 2 * max(shape), step))


OUT.mkdir(parents=True, exist_ok=True)
kernels()
counts = [written("cases.json")]
functions()
counts.append(written("functions.json", "function"))
gradients()
counts.append(written("gradients.json", "function"))
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
print(counts, "cases,", len(cpu_kernel_cases.bytes_), "bytes")
