"""Eigenvalues and eigenvectors of matrices of any kind by NumPy and SciPy in f64, matrix exponentials by mpmath, and
gradients by PyTorch in f64, for tests/kernels/cpu_kernels_reference_test.cc (the kernel, cases.json) and
tests/ops/eig_test.cc (functions of weft/linalg.h, functions.json, and gradients, gradients.json): writes tests/data/eig."""
import json
import pathlib

import mpmath
import numpy as np
import scipy.linalg
import torch
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "eig"
OUT.mkdir(parents=True, exist_ok=True)
EPSILON = {"f32": 2.0**-24, "c64": 2.0**-24, "f64": 2.0**-53}
FUNCTIONS, GRADIENTS = [], []


def listed(to, name, inputs, outputs, attributes=None, **tolerance):
    case(name, inputs, outputs, attributes, **tolerance)
    to.append(cpu_kernel_cases.cases.pop())


def drawn(type, shape):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if type == "c64" else x


def in_order(w):
    """Where each eigenvalue is, by the real part and then the imaginary part, as results round them."""
    w = w.astype(np.complex64)
    return np.lexsort((w.imag, w.real))


def decompose(a):
    """The eigenvalues in order, their vectors of norm 1 with a largest element that is real and positive, and their
    condition numbers: by how much a perturbation of the matrix moves each."""
    if len(a) == 0:
        return np.zeros(0), np.zeros((0, 0)), np.zeros(0)
    w, left, v = scipy.linalg.eig(a, left=True)
    order = in_order(w)
    w, left, v = w[order], left[:, order], v[:, order]
    cosine = np.abs(np.sum(np.conj(left) * v, axis=0))
    peak = v[np.abs(v).argmax(0), range(len(a))]
    return w, v * (np.conj(peak) / np.abs(peak)), 1 / np.maximum(cosine, 1e-9)


def of_batch(a):
    n = a.shape[-1]
    w, v, bound = np.zeros(a.shape[:-1], complex), np.zeros(a.shape, complex), 0
    for i in np.ndindex(a.shape[:-2]):
        w[i], v[i], condition = decompose(a[i])
        bound = max(bound, float(np.linalg.norm(a[i]) * condition.max(initial=0)))
    return w, v, bound


def order_is_certain(w, near):
    """Whether no rounding changes it: neighbours' real parts are apart, or they are equal or a pair of conjugates."""
    x, y = w[..., :-1], w[..., 1:]
    return bool(np.all((y.real - x.real > 4 * near) | (np.abs(y - x) <= near) | (y == np.conj(x))))


def values(type, a, vectors=False):
    """The kernel, and the functions. On all devices eigenvalues are those of a matrix that is off by 2^-21 n norms (four
    times what LAPACK's sgeev is off at most on these, SciPy 1.17); the first order of that is their condition number
    times as much, and roots of a defective matrix' are bounded by the root of it."""
    t = T(type, a)
    n = max(a.shape[-1], 1)
    w, v, bound = of_batch(t.values)
    norm = max((float(np.linalg.norm(t.values[i])) for i in np.ndindex(a.shape[:-2])), default=0) or 1e-30
    info = T("i32", np.zeros(a.shape[:-2], int))
    # The cpu computes in f64 and rounds once. Its errors are 2^-50 n norms.
    near = float(np.abs(w).max(initial=0)) * 6.1e-8 + 2.0**-50 * n * bound + 1e-45
    if bound < 1e4 * norm and order_is_certain(w, near):
        case("eig", [t], [T("c64", w), info], absolute=near)
    if vectors:
        case("eig", [t], [T("c64", w), info, T("c64", v)], absolute=max(near, 1e-7))
    far = 2.0**-21 * n * bound
    # A defective matrix: n-th roots.
    if bound > 1e4 * norm:
        far = norm * (2.0**-21 * n) ** (1 / n)
    listed(FUNCTIONS, "eigvals", [t], [T("c64", w)], absolute=far + 1e-45)


def similar(type, d):
    """A matrix that is similar to d."""
    p = drawn(type, d.shape)
    return p @ d @ np.linalg.inv(p)


for type in ("f32", "c64"):
    for shape in ((0, 0), (1, 1), (2, 2), (3, 3), (5, 5), (2, 3, 4, 4), (2, 0, 0), (0, 3, 3), (17, 17)):
        values(type, drawn(type, shape), vectors=True)
    a = drawn(type, (6, 6))
    values(type, a + np.conj(a.T))
    values(type, a - np.conj(a.T))
    values(type, np.linalg.qr(a)[0])
    values(type, np.triu(a))
    values(type, np.tril(a))
    values(type, scipy.linalg.companion(np.poly(np.arange(1, 7))))
    values(type, np.eye(8, k=1) + 2 * np.eye(8))
    values(type, np.eye(8, k=-1) + 2 * np.eye(8))
    values(type, np.eye(5, k=1))
    values(type, similar(type, np.eye(4, k=1) + 2 * np.eye(4)))
    values(type, similar(type, np.diag([1.0, 1, 1, 2, 2, 3])))
    values(type, np.roll(np.eye(7), 1, 0))
    values(type, scipy.linalg.block_diag(*([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]] for t in (0.1, 0.1, 2, 3))))
    d = np.geomspace(1e-5, 1e5, 6)
    values(type, a * d[:, None] / d)
    values(type, np.zeros((4, 4)))
    values(type, np.eye(6))
    values(type, np.ones((7, 7)))
    values(type, np.array([[1, 1e30], [1e-30, 1]]))
    for scale in (1e-30, 1e30):
        values(type, a * scale)
    # Matrices that are no numbers, beside one that is.
    a = drawn(type, (4, 3, 3))
    a[1, 1, 1] = np.nan
    a[2, 2, 0] = np.inf
    a[3, 0, 0] = -np.inf
    t = T(type, a)
    w = np.full((4, 3), np.nan + 1j * np.nan)
    w[0] = decompose(t.values[0])[0]
    case("eig", [t], [T("c64", w), T("i32", [0, 1, 1, 1])], absolute=1e-6)
    listed(FUNCTIONS, "eigvals", [t], [T("c64", w)], absolute=2e-5)
values("f32", drawn("f32", (80, 80)))
values("c64", drawn("c64", (2, 40, 40)))

# ---- Matrix exponentials
mpmath.mp.dps = 60


def exponential(a):
    m = mpmath.matrix(a.tolist())
    halvings = max(0, int(mpmath.ceil(mpmath.log(mpmath.mnorm(m, 1) + 1, 2)))) + 6
    m = m / mpmath.mpf(2) ** halvings
    term, y = mpmath.eye(m.rows), mpmath.eye(m.rows)
    for k in range(1, 28):
        term = term * m / k
        y = y + term
    for _ in range(halvings):
        y = y * y
    return np.array([[complex(y[i, j]) for j in range(m.cols)] for i in range(m.rows)])


def exponentials(type, a):
    """Of all devices: n (1 + condition) units in the last place of the norm, with SciPy's relative condition of the
    exponential in the Frobenius norm, where n is 4 at least, as exp() of a number may be 4 units off."""
    t = T(type, a)
    y, far = np.zeros(a.shape, complex), 0
    for i in np.ndindex(a.shape[:-2]):
        if a.shape[-1] == 0 or not np.isfinite(t.values[i]).all():
            y[i] = np.nan + (1j * np.nan if type == "c64" else 0)
            continue
        y[i] = exponential(t.values[i])
        condition = scipy.linalg.expm_cond(t.values[i]) if np.any(t.values[i]) else 0
        far = max(far, max(a.shape[-1], 4) * (1 + condition) * float(np.linalg.norm(y[i])))
    listed(FUNCTIONS, "expm", [t], [T(type, y if type == "c64" else y.real)], absolute=far * EPSILON[type])


for type in ("f32", "c64", "f64"):
    for shape in ((0, 0), (1, 1), (2, 2), (3, 3), (5, 5), (2, 3, 4, 4), (0, 3, 3), (9, 9)):
        exponentials(type, drawn(type, shape))
    a = drawn(type, (6, 6))
    for scale in (1e-30, 1e-6, 1e-3, 0.1, 1, 3, 10, 14):
        exponentials(type, a * (scale / np.linalg.norm(a, 2)))
    exponentials(type, (a - np.conj(a.T)) * 10)
    exponentials(type, -3 * a @ np.conj(a.T) - np.eye(6))
    exponentials(type, np.zeros((3, 3)))
    exponentials(type, np.eye(4))
    exponentials(type, np.triu(a, 1) * 100)
    exponentials(type, np.array([[0, 1e9], [0, 0]]))
    exponentials(type, np.array([[1, 1e6], [0, -1]]))
    exponentials(type, 2 * np.eye(5) + np.eye(5, k=1))
    exponentials(type, np.diag([-80.0, -40, -1, 0, 3, 80]))
    exponentials(type, np.array([[-1e4, 1e4], [1, -1]]))
    rates = rng.random((5, 5))
    rates -= np.diag(rates.sum(1))
    exponentials(type, rates * 1e3)
    # Matrices that are no numbers, beside some that are.
    a = drawn(type, (4, 3, 3))
    a[1, 0, 0], a[2, 1, 2] = np.nan, np.inf
    exponentials(type, a)

# ---- Gradients of functions that no phase of an eigenvector changes.
WEIGHTS = np.linspace(-1, 2, 16)


def weights(*shape):
    return torch.as_tensor(WEIGHTS[: int(np.prod(shape))].reshape(shape))


def of_values(w, v):
    n = w.shape[-1]
    return (w.real**2 * weights(n)).sum() + (w.imag**2 * weights(n)).sum() + (w.real * w.imag).sum()


def squares(w, v):
    n = w.shape[-1]
    return (v.abs() ** 2 * weights(n, n)).sum() + w.real.sum()


def sums(w, v):
    """The square of a sum of elements, in which phases among these count."""
    n = w.shape[-1]
    return ((weights(n).to(v.dtype) @ v).abs() ** 2 * weights(n)).sum()


def cubes(w, v):
    return (w**3).sum().real


def gradient(type, name, f, a):
    t = T(type, a)
    x = torch.tensor(t.values).requires_grad_()
    w, v = torch.linalg.eig(x)
    order = torch.as_tensor(in_order(w.detach().numpy()))
    y = torch.autograd.grad(f(w[order], v[:, order]), x)[0].numpy()
    scale = float(np.abs(np.nan_to_num(y)).max(initial=1))
    # Vectors in f32 are off by about 2^-22 n times the inverse of the least gap, which is 0.5 or more, times their
    # condition, of at most 10.
    listed(GRADIENTS, name, [t], [T(type, y)], absolute=scale * 1e-4)


for type in ("f32", "c64"):
    for n in (1, 2, 3, 4):
        a = np.diag(1.5 * np.arange(n) - 1) + 0.3 * drawn(type, (n, n))
        if n > 2 and type == "f32":
            a[:2, :2] = [[0.5, 2], [-0.5, 0.6]]  # a pair of conjugates
        for f in (of_values, squares, sums):
            gradient(type, f.__name__, f, a)
    # Equal eigenvalues: a gradient through the values is a number where vectors are independent.
    gradient(type, "cubes", cubes, np.eye(3))

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
for name, cases in (("cases", cpu_kernel_cases.cases), ("functions", FUNCTIONS), ("gradients", GRADIENTS)):
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(name, len(cases))
print(len(cpu_kernel_cases.bytes_), "bytes")
