"""Singular values by LAPACK (NumPy) in f64, of operands that their types hold exactly: writes tests/data/svd.
cases.json is for tests/kernels/cpu_kernels_reference_test.cc, functions.json for tests/ops/svd_test.cc, which also reads
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

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "svd"
OUT.mkdir(parents=True, exist_ok=True)
EPSILON = {"f32": 2.0**-24, "c64": 2.0**-24, "f64": 2.0**-53}
REAL = {"f32": "f32", "c64": "f32", "f64": "f64"}
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


def of_values(type, m, n, values):
    k = min(m, n)
    u, v = np.linalg.qr(drawn(type, (m, k)))[0], np.linalg.qr(drawn(type, (n, k)))[0]
    return (u * values) @ adjoint(v)


def of_condition(type, m, n, value):
    return of_values(type, m, n, np.geomspace(1, 1 / value, min(m, n)))


# ---- Kernels
for type in TYPES:
    for shape in ((1, 1), (2, 2), (5, 3), (3, 5), (2, 3, 4, 4), (1, 4), (4, 1), (0, 0), (3, 0), (0, 3), (2, 0, 0), (0, 3, 2), (17, 9), (9, 40), (33, 33)):
        a = T(type, drawn(type, shape))
        s = np.linalg.svd(a.values, compute_uv=False) if a.values.size else np.zeros(shape[:-2] + (min(shape[-2:]),))
        size = max(float(np.abs(s).max(initial=0)), 1e-30)
        info = T("i32", np.zeros(shape[:-2], int))
        case("svdvals", [a], [T(REAL[type], s), info], absolute=size * (2e-7 if type != "f64" else 1e-14))
        # Vectors whose signs are no matter of choice: of matrices with positive numbers on the diagonal alone.
        k = min(shape[-2:])
        order = rng.permutation(k)
        a = np.zeros(shape)
        a[..., order, order] = np.arange(k, 0, -1)
        for full in (False, True):
            columns = [np.concatenate([order, np.arange(k, n if full else k)]).astype(int) for n in shape[-2:]]
            u, v = (np.broadcast_to(np.eye(n)[:, c], shape[:-2] + (n, len(c))) for n, c in zip(shape[-2:], columns))
            s = np.broadcast_to(np.arange(k, 0, -1.0), shape[:-2] + (k,))
            case("svd", [T(type, a)], [T(type, u), T(REAL[type], s), T(type, np.swapaxes(v, -1, -2)), info], {"full_matrices": int(full)},
                 absolute=1e-7 * k if type != "f64" else 1e-15 * k)
    a = T(type, np.where(np.arange(18).reshape(2, 3, 3) == 4, np.nan, 1.0))
    none = np.where(np.arange(2) == 0, np.nan, 0)
    case("svdvals", [a], [T(REAL[type], none[:, None] + np.array([3.0, 0, 0])), T("i32", [1, 0])], absolute=1e-6)

# ---- Functions
for type in TYPES:
    epsilon = 2 * EPSILON[type]
    for shape in ((1, 1), (2, 2), (5, 3), (3, 5), (2, 3, 4, 4), (1, 4), (4, 1), (0, 0), (3, 0), (0, 3), (2, 0, 0), (0, 3, 2), (17, 9), (9, 20), (40, 40), (70, 66)):
        m, n = shape[-2:]
        a = T(type, drawn(type, shape))
        wide = a.values
        s = np.linalg.svd(wide, compute_uv=False) if wide.size else np.zeros(shape[:-2] + (min(m, n),))
        size = max(float(np.abs(s).max(initial=0)), 1.0)
        near = 8 * max(m, n, 1) ** 0.5 * epsilon
        function("svdvals", [a], [T(REAL[type], s)], absolute=near * size)
        condition = size / float(s.min(initial=size)) if s.size else 1.0
        y = np.linalg.pinv(wide) if wide.size else np.zeros(shape[:-2] + (n, m))
        function("pinv", [a], [T(type, y)], absolute=near * condition * max(float(np.abs(y).max(initial=0)), 1.0))
        for order in (2, -2, "nuc"):
            if wide.size == 0:
                norm = np.full(shape[:-2], np.inf if order == -2 else 0.0)
            else:
                norm = np.linalg.matrix_norm(wide, ord=order)
            function("matrix_norm", [a], [T(REAL[type], norm)], {"ord": order, "keep_dims": 0}, absolute=near * size * max(min(m, n), 1))
            if wide.size and (order != "nuc" or m == n):
                c = np.linalg.cond(wide, order)
                function("cond", [a], [T(REAL[type], c)], {"ord": order}, relative=4 * near * condition)
        if m == n and m:
            function("cond", [a], [T(REAL[type], np.linalg.cond(wide, "fro"))], {"ord": "fro"}, relative=4 * near * condition)
        rank = np.linalg.matrix_rank(wide) if wide.size else np.zeros(shape[:-2], int)
        function("matrix_rank", [a], [T("i32", rank)])
    # Of lower rank: zero columns, and columns that depend on others to rounding.
    for m, n, k in ((6, 4, 2), (4, 6, 1), (5, 5, 3), (40, 30, 7)):
        a = T(type, drawn(type, (m, k)) @ drawn(type, (k, n)))
        limit = 2 * max(m, n) * epsilon
        y = np.linalg.pinv(a.values, rcond=limit)
        function("pinv", [a], [T(type, y)], {"rtol": limit}, absolute=100 * max(m, n) * epsilon * max(float(np.abs(y).max()), 1.0))
        function("matrix_rank", [a], [T("i32", k)], {"rtol": limit})
    a = T(type, np.diag([4.0, 0, 1, 2]))
    function("pinv", [a], [T(type, np.diag([0.25, 0, 1, 0.5]))], absolute=4 * epsilon)
    function("pinv", [a], [T(type, np.diag([0.25, 0, 0, 0.5]))], {"rtol": 0.3}, absolute=4 * epsilon)
    function("pinv", [T(type, np.zeros((2, 3)))], [T(type, np.zeros((3, 2)))])
    for order in (2, -2, "fro", "nuc"):
        for x in (np.diag([4.0, 0, 1, 2]), np.zeros((2, 2))):
            with np.errstate(all="ignore"):
                c = 0.0 if order == -2 and x.any() else np.inf
            function("cond", [T(type, x)], [T(REAL[type], c)], {"ord": order}, absolute=4 * epsilon)
    for rtol, rank in ((None, 3), (0.3, 2), (0.6, 1), (1.0, 0), (0.0, 3)):
        function("matrix_rank", [a], [T("i32", rank)], {} if rtol is None else {"rtol": rtol})
for type in ("f16", "bf16", "i32", "u8", "bool"):
    x = T(type, rng.integers(0, 2, (2, 4, 3)) if type in ("u8", "bool") else rng.integers(-3, 4, (2, 4, 3)))
    for order in (2, -2, "nuc"):
        y = np.linalg.matrix_norm(x.values.astype(np.float64), ord=order)
        function("matrix_norm", [x], [T(type if type in ("f16", "bf16") else "f32", y)], {"ord": order, "keep_dims": 0}, ulp=1, absolute=1e-5)
x = T("f32", drawn("f32", (2, 4, 3)))
function("matrix_norm", [x], [T("f32", np.linalg.matrix_norm(x.values, ord=2, keepdims=True))], {"ord": 2, "keep_dims": 1}, absolute=1e-5)


# ---- Accuracy: max |uᴴu - 1|, max |vᴴv - 1|, |a - u s vᴴ| / |a| and the largest error of a value beside the greatest
# value, in f64, of LAPACK's results in the type.
def accuracy(type, what, a):
    a = a.astype(np.complex64 if type == "c64" else np.float32)
    u, s, vh = scipy.linalg.svd(a, full_matrices=False)
    assert u.dtype == a.dtype
    alone = scipy.linalg.svd(a, compute_uv=False).astype(np.float64)  # by another algorithm, whose errors are others
    wide = np.complex128 if type == "c64" else np.float64
    a, u, vh, s = a.astype(wide), u.astype(wide), vh.astype(wide), s.astype(np.float64)
    exact = np.linalg.svd(a, compute_uv=False)
    size = max(float(np.linalg.norm(a)), 1e-300)
    case(what, [T(type, a)], [T("f64", exact)])
    entry = cpu_kernel_cases.cases.pop()
    k = len(s)
    ACCURACY.append({**entry, "left": float(np.abs(adjoint(u) @ u - np.eye(k)).max()),
                     "right": float(np.abs(vh @ adjoint(vh) - np.eye(k)).max()),
                     "residual": float(np.linalg.norm(a - (u * s) @ vh)) / size,
                     "values": float(max(np.abs(s - exact).max(), np.abs(alone - exact).max())) / max(float(exact.max()), 1e-300)})


for type in ("f32", "c64"):
    # Fitting a workgroup's memory, and larger.
    for m, n in ((6, 6), (20, 9), (100, 100) if type == "f32" else (70, 70), (130, 40), (12, 80)):
        a, k = drawn(type, (m, n)), min(m, n)
        accuracy(type, f"random {m} x {n}", a)
        for value in (1e1, 1e4, 1e8, 1e12):
            accuracy(type, f"of condition {value} {m} x {n}", of_condition(type, m, n, value))
        if (m, n) in ((130, 40), (12, 80)):
            continue
        accuracy(type, f"graded columns {m} x {n}", a * np.geomspace(1e-20, 1, n))
        accuracy(type, f"graded rows {m} x {n}", a * np.geomspace(1, 1e-12, m)[:, None])
        low = a.copy()
        low[:, 5] = low[:, 2]
        low[:, 3:5] = 0
        accuracy(type, f"of lower rank {m} x {n}", low)
        accuracy(type, f"of rank 1 {m} x {n}", np.outer(a[:, 0], a[0]))
        accuracy(type, f"repeated {m} x {n}", of_values(type, m, n, np.repeat([3.0, 2.0, 1.0], k)[::3][:k]))
        accuracy(type, f"clustered {m} x {n}", of_values(type, m, n, 1 + 1e-6 * np.arange(k)))
        accuracy(type, f"zeros {m} x {n}", 0 * a)
        accuracy(type, f"identity {m} x {n}", np.eye(m, n) + 0 * a)
        accuracy(type, f"ones {m} x {n}", np.ones((m, n)) + 0 * a)
        accuracy(type, f"zeros beside one large element {m} x {n}", np.where(np.arange(m * n).reshape(m, n) == n + 1, 7.0, 0) + 0 * a)
        accuracy(type, f"tiny {m} x {n}", a * 1e-30)
        accuracy(type, f"huge {m} x {n}", a * 1e30)
        accuracy(type, f"triangular {m} x {n}", np.triu(a))
        accuracy(type, f"Hilbert's {m} x {n}", 1 / (np.arange(m)[:, None] + np.arange(n) + 1.0) + 0 * a)

# ---- Least squares of any rank, by NumPy.
LEAST_SQUARES, least_rng = [], np.random.default_rng(7)


def least_squares(type, a, b, rcond=None):
    """a [..., m, n] and b [..., m, k], or [m]."""
    a, b = T(type, a), T(type, b)
    m, n = a.shape[-2:]
    epsilon = 2.0**-52 if type == "f64" else 2.0**-23
    sides = b.values[:, None] if len(b.shape) == 1 else b.values
    batch = np.broadcast_shapes(a.shape[:-2], sides.shape[:-2])
    matrices, sides = np.broadcast_to(a.values, batch + (m, n)), np.broadcast_to(sides, batch + sides.shape[-2:])
    x, largest, condition = np.zeros(batch + (n, sides.shape[-1]), sides.dtype), 1.0, 1.0
    values, ranks = np.zeros(a.shape[:-2] + (min(m, n),)), np.zeros(a.shape[:-2], int)
    cut = max(m, n) * epsilon if rcond is None else rcond
    if m and n:
        for i in np.ndindex(batch):
            x[i], _, rank, s = np.linalg.lstsq(matrices[i], sides[i], cut)
            condition = max(condition, s[0] / s[rank - 1] if rank else 1.0)
            largest = max(largest, s[0])
        for i in np.ndindex(a.shape[:-2]):
            _, _, ranks[i], values[i] = np.linalg.lstsq(a.values[i], np.zeros((m, 1)), cut)
    residuals = (np.abs(sides - matrices @ x) ** 2).sum(-2)
    if len(b.shape) == 1:
        x, residuals = x[..., 0], residuals[..., 0]
    size = max(float(np.abs(x).max(initial=1)), float(np.abs(b.values).max(initial=0)), largest)
    real = "f32" if type == "c64" else type
    case("lstsq_svd", [a, b], [T(type, x), T(real, residuals), T("i32", ranks), T(real, values)], {} if rcond is None else {"rcond": rcond},
         absolute=20 * max(m, n, 1) * epsilon * condition**2 * size**2)
    LEAST_SQUARES.append(cpu_kernel_cases.cases.pop())


def normal(type, *shape):
    x = least_rng.standard_normal(shape)
    return x + 1j * least_rng.standard_normal(shape) if type == "c64" else x


for type in ("f32", "c64", "f64"):
    cut = 1e-4 if type != "f64" else 1e-10
    for a_shape, b_shape in (((5, 3), (5, 2)), ((5, 3), (5,)), ((3, 5), (3, 2)), ((4, 4), (4, 1)), ((2, 6, 3), (6,)), ((2, 1, 4, 2), (3, 4, 2)), ((1, 1), (1,)),
                             ((20, 7), (20, 3)), ((7, 20), (7, 3)), ((0, 3), (0, 2)), ((3, 0), (3, 2)), ((0, 3, 2), (3,)), ((3, 2), (3, 0)), ((1, 4), (1, 1)), ((4, 1), (4,))):
        least_squares(type, normal(type, *a_shape), normal(type, *b_shape))
    # Of lower rank: the shortest solution.
    for m, n, rank in ((5, 4, 2), (4, 6, 3), (6, 6, 1), (3, 3, 2), (12, 5, 4)):
        a = normal(type, m, rank) @ normal(type, rank, n)
        least_squares(type, a, normal(type, m, 2), cut)
        least_squares(type, np.stack([a, normal(type, m, 1) @ normal(type, 1, n)]), normal(type, m), cut)
    least_squares(type, np.zeros((3, 2)), normal(type, 3, 2))
    least_squares(type, [[1, 1], [1, 1], [1, 1]], [1, 2, 4])
    least_squares(type, [[4, 0, 0], [0, 1, 0], [0, 0, 0.25]], [4, 1, 1], 0.125)

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
for name, cases in (("cases", cpu_kernel_cases.cases), ("functions", FUNCTIONS), ("accuracy", ACCURACY), ("least_squares", LEAST_SQUARES)):
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(name, len(cases))
print(len(cpu_kernel_cases.bytes_), "bytes")

# ---- Derivatives, of what does not depend on the phases of vectors: of parts 0 to 4 the values, projections on the
# left and right vectors, the polar factor, and all of these together.


def part(which):
    def f(x):
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
        weights = torch.arange(1, s.shape[-1] + 1, dtype=s.dtype).to(x.dtype)
        parts = [s, (u * weights) @ u.mH, (vh.mH * weights) @ vh, u @ vh]
        return parts[which] if which < 4 else torch.cat([y.flatten().to(x.dtype) for y in parts])
    return f


for draw in (derivatives.near, derivatives.near_complex):
    for shape in ((3, 3), (4, 2), (2, 1, 3, 2), (2, 4), (1, 1), (1, 3), (3, 1)):
        for which in range(5):
            derivatives.both("svd", part(which), [draw(*shape)], (which,))
        derivatives.both("svdvals", torch.linalg.svdvals, [draw(*shape)])
        derivatives.both("pinv", torch.linalg.pinv, [draw(*shape)])
    # Of lower rank.
    x = draw(4, 2) @ draw(2, 3)
    derivatives.both("pinv", lambda x: torch.linalg.pinv(x, rtol=1e-4), [x], (1e-4,))
    for number, order in enumerate((2, -2, "nuc")):
        derivatives.both("matrix_norm", lambda x: torch.linalg.matrix_norm(x, order), [draw(3, 4)], (5 + number,))
    for order in (2, -2):
        derivatives.both("cond", lambda x: torch.linalg.cond(x, order), [draw(3, 3)], (order,))
    derivatives.both("lstsq_svd", lambda a, b: torch.linalg.pinv(a, rtol=1e-4) @ b, [draw(4, 2) @ draw(2, 3), draw(4, 2)], (1e-4,))
    for a, b in (((4, 2), (4, 2)), ((2, 3), (2, 1)), ((2, 3, 3), (3, 2))):
        derivatives.both("lstsq_svd", lambda a, b: torch.linalg.pinv(a) @ b, [draw(*a), draw(*b)])
derivatives.write(OUT / "gradients")
