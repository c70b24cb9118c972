"""QR factors and least squares by LAPACK (NumPy) in f64, of operands that their types hold exactly: writes tests/data/qr.
cases.json is for tests/kernels/cpu_kernels_reference_test.cc, functions.json for tests/ops/qr_test.cc, which also reads
accuracy.json: the errors that LAPACK itself has in f32 (c64) on matrices of all kinds. gradients/ has derivatives by
PyTorch, for tests/derivatives/pytorch_test.cc."""
import json
import pathlib

import numpy as np
import scipy.linalg
import torch

import cpu_kernel_cases
import derivatives
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "qr"
OUT.mkdir(parents=True, exist_ok=True)
EPSILON = {"f32": 2.0**-24, "c64": 2.0**-24, "f64": 2.0**-53}
TYPES = ("f32", "c64", "f64")
FUNCTIONS, ACCURACY = [], []


def function(name, inputs, outputs, attributes=None, **tolerance):
    case(name, inputs, outputs, attributes, **tolerance)
    FUNCTIONS.append(cpu_kernel_cases.cases.pop())


def drawn(type, shape):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if type == "c64" else x


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def condition(x):
    return max([float(np.linalg.cond(m)) for m in x.reshape(-1, *x.shape[-2:])] + [1.0]) if x.size else 1.0


# ---- Factors
def factored(type, a, mode):
    m, n = a.shape[-2:]
    k = min(m, n)
    if k == 0:
        q = np.broadcast_to(np.eye(m), a.shape[:-2] + (m, m))
        q, r = (q, np.zeros(a.shape)) if mode == "complete" else (q[..., :0], np.zeros(a.shape[:-2] + (0, n)))
    else:
        q, r = np.linalg.qr(a, "complete" if mode == "complete" else "reduced")
    return (q[..., :0] if mode == "r" else q), r


def factor(type, a, mode):
    a = T(type, a)
    wide = a.values
    q, r = factored(type, wide, mode)
    outputs, attributes = [T(type, q), T(type, r)], {"mode": mode}
    size = max(float(np.abs(r).max(initial=0)), 1.0)
    # On the cpu sums are in f64; factors are as far off as the matrix is badly conditioned.
    case("qr", [a], outputs, attributes, absolute=size * (2e-7 if type != "f64" else 1e-13 * condition(wide)))
    bound = 8 * max(a.shape[-2:] + (1,)) ** 0.5 * EPSILON[type] * condition(wide) * size
    function("qr", [a], outputs, attributes, absolute=bound)


for type in TYPES:
    for mode in ("reduced", "complete", "r"):
        for shape in ((1, 1), (2, 2), (5, 3), (3, 5), (2, 3, 4, 4), (1, 4), (4, 1), (0, 0), (3, 0), (0, 3), (2, 0, 0), (2, 4, 0), (0, 3, 2),
                      (17, 9), (33, 33), (9, 40)):
            factor(type, drawn(type, shape), mode)
        # Columns of other magnitudes, of which each is as accurate as any.
        factor(type, drawn(type, (6, 4)) * np.array([1, 1e-3, 1e3, 1.0]), mode)
        # A triangle, of which the lower part is 0: real matrices stay, and the diagonal of complex ones becomes real.
        a = np.triu(drawn(type, (4, 4))) + 3 * np.eye(4)
        factor(type, a, mode)
    for mode in ("reduced", "complete"):
        factor(type, drawn(type, (70, 40)), mode)
        factor(type, drawn(type, (2, 40, 70)), mode)
# Large ones, of several panels, and tall ones, which several workgroups share.
for type, shape in (("f32", (130, 110)), ("c64", (70, 66)), ("f32", (1100, 34)), ("c64", (1030, 9))):
    factor(type, drawn(type, shape), "reduced")
factor("f32", drawn("f32", (90, 140)), "reduced")
factor("f32", drawn("f32", (140, 70)), "complete")

# ---- Least squares
for type in TYPES:
    for a_shape, b_shape in (((4, 2), (4, 3)), ((3, 3), (3, 1)), ((2, 5), (2, 2)), ((2, 1, 5, 3), (3, 5, 2)), ((2, 3, 5), (2, 3, 1)),
                             ((6, 2), (6,)), ((2, 6), (2,)), ((2, 4, 2), (4,)), ((1, 1), (1, 1)), ((4, 0), (4, 2)), ((0, 3), (0, 2)),
                             ((0, 0), (0, 1)), ((0, 3, 2), (3, 1)), ((60, 20), (60, 4)), ((20, 60), (20, 4))):
        a, b = T(type, drawn(type, a_shape)), T(type, drawn(type, b_shape))
        sides = b.values[:, None] if len(b_shape) == 1 else b.values
        batch = np.broadcast_shapes(a_shape[:-2], sides.shape[:-2])
        x = np.zeros(batch + (a_shape[-1], sides.shape[-1]), sides.dtype)
        for i in np.ndindex(batch):
            matrix, right = np.broadcast_to(a.values, batch + a_shape[-2:])[i], np.broadcast_to(sides, batch + sides.shape[-2:])[i]
            if matrix.size:
                x[i] = np.linalg.lstsq(matrix, right)[0]
        residuals = (np.abs(sides - a.values @ x) ** 2).sum(-2)
        if len(b_shape) == 1:
            x, residuals = x[..., 0], residuals[..., 0]
        size = max(float(np.abs(x).max(initial=0)), float(np.abs(b.values).max(initial=0)), 1.0)
        bound = 20 * max(a_shape[-2:]) ** 0.5 * EPSILON[type] * condition(a.values) ** 2 * size**2
        function("lstsq", [a, b], [T(type, x), T("f32" if type == "c64" else type, residuals), T("i32", np.zeros(a_shape[:-2], int))],
                 absolute=bound)


# ---- Accuracy: max |qᴴq - 1| and max |a - q r| / max |a| of each column, in f64, of LAPACK's results in the type.
def accuracy(type, what, a):
    a = a.astype(np.complex64 if type == "c64" else np.float32)
    q, r = scipy.linalg.qr(a, mode="economic")
    assert q.dtype == a.dtype and r.dtype == a.dtype
    wide = np.complex128 if type == "c64" else np.float64
    a, q, r = (x.astype(wide) for x in (a, q, r))
    size = np.abs(a).max(axis=0)
    with np.errstate(all="ignore"):
        residual = np.abs(a - q @ r).max(axis=0) / np.where(size > 0, size, 1)
    case(what, [T(type, a)], [])
    entry = cpu_kernel_cases.cases.pop()
    ACCURACY.append({**entry, "orthogonality": float(np.abs(adjoint(q) @ q - np.eye(q.shape[1])).max()), "residual": float(residual.max())})


def of_condition(type, m, n, value):
    k = min(m, n)
    u, v = np.linalg.qr(drawn(type, (m, k)))[0], np.linalg.qr(drawn(type, (n, k)))[0]
    return (u * np.geomspace(1, 1 / value, k)) @ adjoint(v)


for type in ("f32", "c64"):
    large = (130, 130) if type == "f32" else (70, 70)
    for m, n in ((20, 20), (60, 20), large, (300, 40), (40, 90)):
        a = drawn(type, (m, n))
        accuracy(type, f"random {m} x {n}", a)
        if (m, n) not in ((20, 20), large):
            continue
        for value in (1e1, 1e4, 1e8, 1e12):
            accuracy(type, f"of condition {value} {m} x {n}", of_condition(type, m, n, value))
        accuracy(type, f"graded columns {m} x {n}", a * np.geomspace(1, 1e-20, n))
        accuracy(type, f"graded rows {m} x {n}", a * np.geomspace(1, 1e-12, m)[:, None])
        low = a.copy()
        low[:, 5] = low[:, 2]
        low[:, 7:9] = 0
        accuracy(type, f"of lower rank {m} x {n}", low)
        accuracy(type, f"of rank 1 {m} x {n}", np.outer(a[:, 0], a[0]))
        accuracy(type, f"zeros {m} x {n}", 0 * a)
        accuracy(type, f"identity {m} x {n}", np.eye(m, n) + 0 * a)
        accuracy(type, f"ones {m} x {n}", np.ones((m, n)) + 0 * a)
        accuracy(type, f"tiny {m} x {n}", a * 1e-30)
        accuracy(type, f"huge {m} x {n}", a * 1e30)
        accuracy(type, f"triangular {m} x {n}", np.triu(a))
        hilbert = 1 / (np.arange(m)[:, None] + np.arange(n) + 1.0)
        accuracy(type, f"Hilbert's {m} x {n}", hilbert + 0 * a)

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
for name, cases in (("cases", cpu_kernel_cases.cases), ("functions", FUNCTIONS), ("accuracy", ACCURACY)):
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(name, len(cases))
print(len(cpu_kernel_cases.bytes_), "bytes")

# ---- Derivatives
for draw in (derivatives.near, derivatives.near_complex):
    for number, (mode, shapes) in enumerate((("reduced", ((3, 3), (4, 2), (2, 1, 3, 2), (2, 4), (1, 1), (1, 3), (3, 1), (2, 0, 0), (3, 0), (0, 2))),
                                             ("complete", ((3, 3), (2, 2, 4), (1, 1))))):
        for shape in shapes:
            for part in (0, 1):
                derivatives.both("qr", lambda x: torch.linalg.qr(x, mode)[part], [draw(*shape)], (number, part))
            derivatives.both("qr", lambda x: torch.cat([y.flatten() for y in torch.linalg.qr(x, mode)]), [draw(*shape)], (number, 2))
    for a, b in (((4, 2), (4, 3)), ((3, 3), (3, 1)), ((2, 4), (2, 2)), ((2, 4, 2), (2, 4, 1))):
        derivatives.both("lstsq", lambda a, b: torch.linalg.lstsq(a, b).solution, [draw(*a), draw(*b)])
derivatives.write(OUT / "gradients")
