"""Eigenvalues and eigenvectors of Hermitian matrices by NumPy and SciPy in f64, and gradients by PyTorch in f64, for
tests/kernels/cpu_kernels_reference_test.cc (the kernel, cases.json) and tests/ops/eigh_test.cc (functions of
weft/linalg.h, functions.json, and their gradients, gradients.json): writes tests/data/eigh."""
import itertools
import json
import pathlib

import numpy as np
import scipy.linalg
import torch
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "eigh"
OUT.mkdir(parents=True, exist_ok=True)
EPSILON = {"f32": 2.0**-24, "c64": 2.0**-24, "f64": 2.0**-53}
FUNCTIONS, GRADIENTS = [], []


def listed(to, name, inputs, outputs, attributes=None, **tolerance):
    case(name, inputs, outputs, attributes, **tolerance)
    to.append(cpu_kernel_cases.cases.pop())


def drawn(type, shape):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if type == "c64" else x


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def spectral(type, n, values):
    """A matrix with these eigenvalues."""
    q = np.linalg.qr(drawn(type, (n, n)))[0]
    return (q * np.asarray(values, float)) @ adjoint(q)


def read(type, a, upper):
    """Only what is read of a: the other triangle is NaN. Of the diagonal an imaginary part is not read."""
    kept = np.triu(np.ones(a.shape[-2:], bool)) if upper else np.tril(np.ones(a.shape[-2:], bool))
    t = T(type, np.where(kept, a, np.nan))
    half = np.where(kept & ~np.eye(a.shape[-1], dtype=bool), np.nan_to_num(t.values), 0)
    diagonal = np.real(np.einsum("...ii->...i", t.values))
    return t, half + adjoint(half) + np.eye(a.shape[-1]) * diagonal[..., None, :]


def real(type):
    return "f64" if type == "f64" else "f32"


def decomposed(type, a, upper):
    """The kernel, the functions, and the exponential of a, which no sign or phase of the eigenvectors changes."""
    t, whole = read(type, a, upper)
    n = max(a.shape[-1], 1)
    w = np.linalg.eigvalsh(whole) if whole.size else np.zeros(a.shape[:-1])
    largest = float(np.abs(w).max(initial=0)) or 1e-30
    options = {"upper": int(upper)}
    # Rounded to the type; errors of f64 are some units of the last place of the largest one.
    case("eigh", [t], [T(real(type), w), T("i32", np.zeros(a.shape[:-2], int))], options,
         absolute=largest * (1e-14 * n if type == "f64" else 1.3e-7))
    # Of all devices: 10 times what LAPACK's ssyevd is off, whose errors are up to 8 units of 2^-24 (SciPy 1.17, n = 300).
    bound = 80 * EPSILON[type] * largest * (1 if type != "f64" else n)
    listed(FUNCTIONS, "eigvalsh", [t], [T(real(type), w)], options, absolute=bound)
    listed(FUNCTIONS, "eigh", [t], [T(real(type), w)], options, absolute=bound)
    if largest < 30:
        e = scipy.linalg.expm(whole) if whole.size else np.zeros(whole.shape)
        scale = float(np.exp(w.max(initial=0)))
        listed(FUNCTIONS, "exponential", [t], [T(type, e)], options, absolute=(20 if type == "f64" else 2) * bound * max(1, 1 / largest) * scale)


for type, upper in itertools.product(("f32", "c64", "f64"), (False, True)):
    for shape in ((0, 0), (1, 1), (2, 2), (3, 3), (5, 5), (2, 3, 4, 4), (2, 0, 0), (0, 3, 3), (17, 17)):
        decomposed(type, drawn(type, shape), upper)
    for condition in (1e1, 1e6, 1e12):
        decomposed(type, spectral(type, 8, np.geomspace(1, 1 / condition, 8)), upper)
    decomposed(type, spectral(type, 9, [0, 0, 0, 0, 0, 0, 1, -2, 3]), upper)
    decomposed(type, spectral(type, 9, [1, 1, 1, 1, 2, 2, 2, 2, 2]), upper)
    decomposed(type, spectral(type, 9, 1 + 1e-5 * np.arange(9)), upper)
    decomposed(type, np.zeros((4, 4)), upper)
    decomposed(type, np.eye(6), upper)
    decomposed(type, np.ones((7, 7)), upper)
    decomposed(type, np.diag([3.0, -1.0, 2.0, 0.0]), upper)
    d = np.geomspace(1, 1e-6, 8)
    decomposed(type, spectral(type, 8, np.linspace(1, 2, 8)) * d[:, None] * d, upper)
    for scale in (1e-30, 1e30) if type != "f64" else (1e-250, 1e250):
        decomposed(type, drawn(type, (5, 5)) * scale, upper)
    if type == "c64":
        a = drawn(type, (3, 3))
        a.imag[range(3), range(3)] = [1, -2, np.inf]
        decomposed(type, a, upper)
    # Matrices that are no numbers, beside one that is.
    a = drawn(type, (4, 3, 3))
    a[1, 1, 1] = np.nan
    a[2, 2, 0] = a[2, 0, 2] = np.inf
    a[3, 0, 0] = -np.inf
    t, whole = read(type, a, upper)
    w = np.full((4, 3), np.nan)
    w[0] = np.linalg.eigvalsh(whole[0])
    case("eigh", [t], [T(real(type), w), T("i32", [0, 1, 1, 1])], {"upper": int(upper)}, absolute=1e-6)
    listed(FUNCTIONS, "eigvalsh", [t], [T(real(type), w)], {"upper": int(upper)}, absolute=1e-5)
for upper in (False, True):
    decomposed("f32", drawn("f32", (100, 100)), upper)
    decomposed("c64", drawn("c64", (2, 70, 70)), upper)

# ---- Gradients of functions that no sign or phase of an eigenvector changes.
WEIGHTS = np.linspace(-1, 2, 16)


def squares(w, v):
    n = w.shape[-1]
    return (v.abs() ** 2 * torch.as_tensor(WEIGHTS[: n * n].reshape(n, n))).sum() + (w**3).sum()


def values(w, v):
    return (w**2 * torch.as_tensor(WEIGHTS[: w.shape[-1]])).sum()


def cubes(w, v):
    return (w**3).sum()


def gradient(type, name, f, a):
    t = T(type, a)
    x = torch.tensor(t.values).requires_grad_()
    w, v = torch.linalg.eigh(x) if f is squares else (torch.linalg.eigvalsh(x), None)
    y = torch.autograd.grad(f(w, v), x)[0].numpy()
    scale = float(np.abs(np.nan_to_num(y)).max(initial=1))
    listed(GRADIENTS, name, [t], [T(type, y)], absolute=scale * (1e-12 if type == "f64" else 2e-5))


for type in ("f32", "c64", "f64"):
    for n in (1, 2, 3, 4):
        a = spectral(type, n, 1.5 * np.arange(n) - 1)
        gradient(type, "squares", squares, (a + adjoint(a)) / 2)
        gradient(type, "values", values, (a + adjoint(a)) / 2)
    # Equal eigenvalues: a gradient through the values is a number, one through eigenvectors is not.
    gradient(type, "squares", squares, np.eye(3))
    gradient(type, "cubes", cubes, np.eye(3))
    gradient(type, "cubes", cubes, np.ones((4, 4)))

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
for name, cases in (("cases", cpu_kernel_cases.cases), ("functions", FUNCTIONS), ("gradients", GRADIENTS)):
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(name, len(cases))
print(len(cpu_kernel_cases.bytes_), "bytes")
