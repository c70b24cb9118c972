"""Linear algebra by NumPy and SciPy in f64, of operands that their types hold exactly, for
tests/kernels/cpu_kernels_reference_test.cc (the kernels, cases.json) and tests/functions/linalg_test.cc (the functions of
weft/linalg.h, functions.json): writes tests/data/linalg."""
import itertools
import json
import pathlib

import numpy as np
import scipy.linalg
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "linalg"
OUT.mkdir(parents=True, exist_ok=True)
EPSILON = {"f32": 2.0**-24, "c64": 2.0**-24, "f64": 2.0**-53}
FUNCTIONS = []


def function(name, inputs, outputs, attributes=None, **tolerance):
    case(name, inputs, outputs, attributes, **tolerance)
    FUNCTIONS.append(cpu_kernel_cases.cases.pop())


def drawn(type, shape):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if type == "c64" else x


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def each(f, *operands):
    """f of each matrix of a batch, whose leading dimensions broadcast."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in operands))
    operands = [np.broadcast_to(x, batch + x.shape[-2:]) for x in operands]
    results = [f(*(x[i] for x in operands)) for i in np.ndindex(batch)]
    like = f(*(np.zeros(x.shape[-2:]) + np.eye(*x.shape[-2:]) for x in operands))
    return np.array(results).reshape(batch + np.shape(like))


def definite(type, shape, condition=10.0):
    """Hermitian matrices whose eigenvalues are from 1 / condition to 1."""
    n = shape[-1]
    def one(x):
        q = np.linalg.qr(x)[0] if n else x
        values = np.geomspace(1, 1 / condition, n) if n > 1 else np.ones(n)
        a = (q * values) @ np.conj(q.T)
        return (a + np.conj(a.T)) / 2
    return each(one, drawn(type, shape))


def graded(type, n):
    """Of rows and columns that are from 1 to 1e-4."""
    d = np.geomspace(1, 1e-4, n)
    return definite(type, (n, n)) * d[:, None] * d


def read(a, upper, unit=False):
    """Only what is read: the other triangle is NaN, and the diagonal real, or NaN."""
    k = 1 if unit else 0
    a = np.where(np.triu(np.ones(a.shape[-2:], bool), k) if upper else np.tril(np.ones(a.shape[-2:], bool), -k), a, np.nan)
    return a


def hermitian(t, upper):
    """The matrices of which that triangle is read."""
    a = np.nan_to_num(t.values)
    half = np.triu(a, 1) if upper else np.tril(a, -1)
    diagonal = np.real(np.einsum("...ii->...i", a))
    return half + adjoint(half) + np.eye(a.shape[-1]) * diagonal[..., None, :]


# ---- Cholesky factors
def factor(type, a, upper, tolerance=None):
    a = T(type, read(a, upper))
    whole = hermitian(a, upper)
    l = np.linalg.cholesky(whole, upper=upper)
    scale = float(np.abs(l).max(initial=1e-30))
    case("cholesky", [a], [T(type, l), T("i32", np.zeros(a.shape[:-2], int))], {"upper": int(upper)},
         absolute=scale * (1e-11 if type == "f64" else 2e-7))
    # Of all devices, which compute in f32: Higham, "Accuracy and Stability of Numerical Algorithms", 10.1.
    n = max(a.shape[-1], 1)
    condition = max([float(np.linalg.cond(x)) for x in whole.reshape(-1, *whole.shape[-2:])] + [1.0]) if n and whole.size else 1
    bound = tolerance or 4 * n * EPSILON[type] * condition * scale
    function("cholesky", [a], [T(type, l)], {"upper": int(upper)}, absolute=bound)
    return T(type, l), whole, condition


for type, upper in itertools.product(("f32", "c64", "f64"), (False, True)):
    for shape in ((0, 0), (1, 1), (2, 2), (5, 5), (2, 3, 4, 4), (2, 0, 0), (0, 3, 3), (17, 17)):
        factor(type, definite(type, shape), upper)
    for condition in (1e1, 1e3, 1e6 if type != "f64" else 1e9):
        factor(type, definite(type, (8, 8), condition), upper)
    # The condition of a graded matrix is not that of the problem.
    factor(type, graded(type, 7), upper, 1e-5 if type != "f64" else 1e-12)
    # Another magnitude, and a diagonal with imaginary parts, which are not read.
    factor(type, definite(type, (4, 4)) * (1e20 if type != "f64" else 1e200), upper)
    if type == "c64":
        factor(type, definite(type, (3, 3)) + 1j * np.diag([1.0, -2.0, 3.0]), upper)
    # Not positive definite from the third row on: nothing is a number from there on, the rest is.
    a = definite(type, (3, 5, 5))
    a[1, 2, 2] = -1
    t = T(type, read(a, upper))
    whole = hermitian(t, upper)
    l = np.linalg.cholesky(whole[[0, 0, 2]], upper=False)
    l[1] = 0
    l[1, :2, :2] = np.linalg.cholesky(whole[1, :2, :2])
    l[1, 2:, :2] = adjoint(np.linalg.solve(l[1, :2, :2], whole[1, :2, 2:]))
    l[1, 2:, 2:] = np.where(np.tril(np.ones((3, 3), bool)), complex(np.nan, np.nan) if type == "c64" else np.nan, 0)
    case("cholesky", [t], [T(type, adjoint(l) if upper else l), T("i32", [0, 3, 0])], {"upper": int(upper)}, absolute=1e-6)
for upper in (False, True):
    factor("f32", definite("f32", (100, 100)), upper)
    factor("c64", definite("c64", (2, 70, 70)), upper)

# ---- Triangular systems
SYSTEMS = (((3, 3), (3, 2)), ((2, 1, 4, 4), (3, 4, 1)), ((5, 5), (2, 5, 3)), ((2, 3, 3), (3, 4)), ((0, 0), (0, 3)), ((3, 3), (3, 0)),
           ((1, 1), (1, 1)), ((0, 2, 2), (2, 2)), ((33, 33), (33, 5)))
for type, upper, adj, unit in itertools.product(("f32", "c64", "f64"), (False, True), (False, True), (False, True)):
    options = {"upper": int(upper), "adjoint": int(adj), "unit": int(unit)}

    def solved(a, b):
        full = np.nan_to_num(a)
        if unit:
            full = full + np.eye(a.shape[-1])
        return each(lambda m, r: scipy.linalg.solve_triangular(m, r, trans="C" if adj else "N", lower=not upper) if m.size and r.size
                    else np.zeros(r.shape), full, b)

    for a_shape, b_shape in SYSTEMS:
        n = max(a_shape[-1], 1)
        a = T(type, read(drawn(type, a_shape) / np.sqrt(n) + 2 * np.eye(a_shape[-1]), upper, unit))
        if unit:
            a = T(type, a.values / 2)
        b = T(type, drawn(type, b_shape))
        x = solved(a.values, b.values)
        scale = float(np.abs(x).max(initial=1.0))
        case("triangular_solve", [a, b], [T(type, x)], options, absolute=scale * (1e-13 if type == "f64" else 2e-7))
        function("solve_triangular", [a, b], [T(type, x)], options,
                 absolute=scale * n * (1e-13 if type == "f64" else 2e-6))
        if b_shape == (3, 2):
            function("solve_triangular", [a, T(type, b.values[:, 0])], [T(type, x[:, 0])], options,
                     absolute=scale * n * (1e-13 if type == "f64" else 2e-6))
    # Graded: rows from 1 to 1e-6, of which the solution's are as accurate as any.
    d = np.geomspace(1, 1e-6, 6)
    a = T(type, read((drawn(type, (6, 6)) / 4 + 2 * np.eye(6)) * (d if adj else d[:, None]), upper)) if not unit else None
    if a is not None:
        b = T(type, drawn(type, (6, 2)) * d[:, None])
        x = solved(a.values, b.values)
        function("solve_triangular", [a, b], [T(type, x)], options, relative=1e-4 if type != "f64" else 1e-11)

# Zeros on the diagonal, infinities and NaN, as the formula has them.
with np.errstate(all="ignore"):
    a = T("f32", [[2, 0, 0], [1, 0, 0], [0, 1, 4]])
    b = T("f32", [[2, 0, np.inf, np.nan], [5, 0, 1, 1], [1, 1, 1, 1]])
    x = np.zeros((3, 4))
    for i in range(3):
        rest = b.values[i].copy()
        for k in range(i):
            rest -= a.values[i, k] * x[k]
        x[i] = rest / a.values[i, i]
    case("triangular_solve", [a, b], [T("f32", x)], {"upper": 0, "adjoint": 0, "unit": 0}, absolute=1e-6)

# ---- Systems by factors
for type, upper in itertools.product(("f32", "c64", "f64"), (False, True)):
    near = 1e-12 if type == "f64" else 2e-5
    for shape, sides in (((4, 4), (4, 2)), ((2, 1, 3, 3), (3, 3, 1)), ((0, 0), (0, 2)), ((1, 1), (1, 3)), ((3, 3), (3,))):
        l = T(type, read(np.linalg.cholesky(definite(type, shape), upper=upper), upper))
        full = np.nan_to_num(l.values)
        a = adjoint(full) @ full if upper else full @ adjoint(full)
        b = T(type, drawn(type, sides))
        x = np.linalg.solve(a, b.values) if len(sides) > 1 else np.linalg.solve(a, b.values[:, None])[:, 0]
        function("cholesky_solve", [b, l], [T(type, x)], {"upper": int(upper)},
                 absolute=10 * near * float(np.abs(x).max(initial=1)))
        if len(sides) > 1:
            y = np.linalg.inv(a)
            function("cholesky_inverse", [l], [T(type, y)], {"upper": int(upper)},
                     absolute=10 * near * float(np.abs(y).max(initial=1)))


# ---- Norms
def real(type):
    return type if type[0] in "fb" and type != "bool" else "f32"


def tolerance(type):
    return {"ulp": 2, "absolute": 2e-6, "relative": 4e-6} if type != "f64" else {"relative": 1e-12, "absolute": 1e-300}


def some(type, shape):
    if type == "bool":
        return T(type, rng.integers(0, 2, shape))
    if type[0] in "iu":
        return T(type, rng.integers(0 if type[0] == "u" else -9, 10, shape))
    x = T(type, drawn(type, shape))
    if x.values.size > 3:
        x.values.flat[1] = 0
    return x


def number(v):
    return str(v) if np.isinf(v) else v


for type in ("f32", "f16", "bf16", "f64", "c64", "i32", "u8", "bool"):
    for order in (2, 1, 0, 3, 1.5, 0.5, -1, -2, np.inf, -np.inf):
        for shape, axes, keep in (((3, 4), None, False), ((2, 3, 4), [1], False), ((2, 3, 4), [0, -1], True), ((5,), [0], False),
                                  ((), None, False), ((1, 1), None, True)):
            if type == "f16" and abs(order) == 0.5 and shape == (2, 3, 4):
                continue  # past the largest number
            x = some(type, shape)
            wide = x.values.astype(np.complex128 if type == "c64" else np.float64)
            y = np.linalg.vector_norm(wide, axis=None if axes is None else tuple(axes), keepdims=keep, ord=order)
            arguments = {"ord": number(order), **({} if axes is None else {"axes": axes}), "keep_dims": int(keep)}
            function("vector_norm", [x], [T(real(type), y)], arguments, **tolerance(type))
    for order in ("fro", 1, np.inf, -1, -np.inf):
        for shape, keep in (((3, 4), False), ((2, 3, 2), True), ((2, 1, 4, 1), False), ((1, 1), False)):
            x = some(type, shape)
            y = np.linalg.matrix_norm(x.values.astype(np.complex128 if type == "c64" else np.float64), ord=order, keepdims=keep)
            function("matrix_norm", [x], [T(real(type), y)], {"ord": number(order) if order != "fro" else order, "keep_dims": int(keep)},
                     **tolerance(type))
for values in ([1, np.nan, 2], [np.inf, 1, 0], [-np.inf, np.nan, 1], [0, 0, 0], [-0.0, 0, 0]):
    for order in (2, 1, 0, 3, 0.5, -1, np.inf, -np.inf):
        x = T("f32", values)
        with np.errstate(all="ignore"):
            y = np.linalg.vector_norm(x.values, ord=order)
        function("vector_norm", [x], [T("f32", y)], {"ord": number(order), "keep_dims": 0}, **tolerance("f32"))


# ---- Products and forms
NUMBERS = ("f32", "f16", "bf16", "f64", "c64", "i32", "u8", "i64")
def exact(type, shape):
    """Small whole numbers, whose products every type holds."""
    x = rng.integers(0 if type[0] == "u" else -3, 4, shape)
    return T(type, x + 1j * rng.integers(-3, 4, shape) if type == "c64" else x)


def wide(t):
    return t.values.astype(np.complex128 if t.type == "c64" else np.float64)


for type in NUMBERS:
    for a, b in (((2, 3), (4, 3)), ((3,), (3,)), ((2, 1, 3), (3,)), ((), (2, 3)), ((2, 0), (3, 0)), ((0, 2), (2,))):
        x, y = exact(type, a), exact(type, b)
        function("inner", [x, y], [T(type, np.inner(wide(x), wide(y)))])
    for a, b, axis in (((3,), (3,), -1), ((2, 3), (3,), -1), ((3, 4), (3, 4), 0), ((2, 1, 3), (4, 3), -1), ((0, 3), (3,), -1)):
        x, y = exact(type, a), exact(type, b)
        function("cross", [x, y], [T(type, np.cross(wide(x), wide(y), axis=axis))], {"axis": axis})
    for a, b in (((2, 3), (3, 1)), ((2,), (2, 2)), ((2, 1, 2), (3,)), ((), (2, 2)), ((), ()), ((0, 2), (2, 2)), ((2, 1, 1, 2), (1, 2, 2, 1))):
        x, y = exact(type, a), exact(type, b)
        function("kron", [x, y], [T(type, np.kron(wide(x), wide(y)))])
    for shape in ((3, 3), (2, 2, 2), (1, 1), (0, 0)):
        for n in (0, 1, 2, 3, 4, 6):
            x = T(type, np.round(exact(type, shape).values.real / 2) if type == "c64" else exact(type, shape).values // 2)
            y = np.linalg.matrix_power(wide(x), n)
            limit = {"f16": 2048, "bf16": 256, "u8": 256}.get(type, 2**24)
            if np.abs(y).max(initial=0) < limit:
                function("matrix_power", [x], [T(type, y)], {"n": n})
    for shapes in (((2, 3), (3, 4), (4, 1)), ((3,), (3, 2), (2, 2), (2, 3)), ((2, 2), (2, 3), (3,)), ((2,), (2, 2), (2,)), ((3, 1), (1, 4)), ((2, 0), (0, 3), (3, 2))):
        x = [exact(type, s) for s in shapes]
        x = [T(type, np.sign(t.values.real.astype(float))) for t in x]
        function("multi_dot", x, [T(type, np.linalg.multi_dot([wide(t) for t in x]))])
    for columns, increasing in itertools.product((None, 0, 1, 3), (False, True)):
        x = T(type, np.sign(exact(type, (4,)).values.real.astype(float)) * 2 + (4 if type == "u8" else 0))
        result = {"u8": "u32"}.get(type, type)
        function("vander", [x], [T(result, np.vander(wide(x), columns, increasing))],
                 {**({} if columns is None else {"columns": columns}), "increasing": int(increasing)})
for type in NUMBERS + ("bool", "f8e5m2"):
    for shape, offset in (((3,), 0), ((3,), 2), ((2,), -3), ((0,), 0), ((0,), 1), ((1,), -1), ((3, 4), 0), ((3, 4), 2), ((4, 3), -1), ((2, 2), 5)):
        x = some(type, shape)
        function("diag", [x], [T(type, np.diag(wide(x), offset))], {"offset": offset})
    if type == "f8e5m2":
        continue
    for shape, offset in (((3, 4), 0), ((2, 3, 3), 1), ((4, 2), -1), ((2, 2), 7), ((0, 0), 0), ((1, 1), 0)):
        x = exact(type, shape) if type != "bool" else some(type, shape)
        result = {"u8": "u32", "bool": "i32"}.get(type, type)
        function("trace", [x], [T(result, np.trace(wide(x), offset, -2, -1))], {"offset": offset})
    x = some(type, (2, 3, 4))
    function("matrix_transpose", [x], [T(type, np.swapaxes(x.values, -1, -2))])

# ---- LU
for type in ("f32", "c64", "f64"):
    for shape in ((1, 1), (3, 3), (2, 5, 5), (4, 2), (2, 4), (17, 17), (40, 33), (33, 40), (70, 70)):
        a = T(type, drawn(type, shape))
        m, n = shape[-2:]
        lu, pivots, order = [], [], []
        for x in wide(a).reshape(-1, m, n):
            factors, steps = scipy.linalg.lu_factor(x)
            rows = np.arange(m)
            for k, pivot in enumerate(steps):
                rows[[k, pivot]] = rows[[pivot, k]]
            lu.append(factors), pivots.append(steps), order.append(rows)
        batch = shape[:-2]
        case("lu", [a], [T(type, np.reshape(lu, shape)), T("i32", np.reshape(pivots, batch + (min(m, n),))),
                         T("i32", np.reshape(order, batch + (m,))), T("i32", np.zeros(batch, int))],
             absolute=200 * EPSILON[type] * max(m, n))
    for shape in ((0, 0), (0, 3), (2, 3, 0)):
        m, n = shape[-2:]
        batch = shape[:-2]
        case("lu", [T(type, np.zeros(shape))], [T(type, np.zeros(shape)), T("i32", np.zeros(batch + (0,), int)),
             T("i32", np.broadcast_to(np.arange(m), batch + (m,))), T("i32", np.zeros(batch, int))])
    # A column of zeros: the factors are right, u is singular.
    a = T(type, [[0, 0, 1], [0, 2, 3], [0, 4, 5]])
    case("lu", [a], [T(type, [[0, 0, 1], [0, 4, 5], [0, 0.5, 0.5]]), T("i32", [0, 2, 2]), T("i32", [0, 2, 1]), T("i32", 1)])

# ---- Systems. Matrices of a condition below 10, so that the error is that of rounding.
def well(type, shape):
    x = drawn(type, shape)
    n = shape[-1]
    return T(type, x / (4 * np.sqrt(max(n, 1))) + np.eye(n) * (1 + np.arange(n) % 3)[:, None] * ((-1.0) ** np.arange(n))[:, None])


for type in ("f32", "c64", "f64"):
    def close(n, factor=100):
        return {"absolute": factor * EPSILON[type] * max(n, 1)}
    for a_shape, b_shape in (((3, 3), (3, 2)), ((3, 3), (3,)), ((2, 4, 4), (4,)), ((2, 1, 3, 3), (4, 3, 2)), ((3, 3), (2, 3, 1)), ((1, 1), (1, 5)),
                             ((0, 0), (0, 2)), ((0, 3, 3), (3,)), ((3, 3), (3, 0)), ((33, 33), (33, 3)), ((70, 70), (70,))):
        a, b = well(type, a_shape), T(type, drawn(type, b_shape))
        n, vector = a_shape[-1], len(b_shape) == 1
        wa, wb = wide(a), wide(b)[:, None] if vector else wide(b)
        x = each(np.linalg.solve, wa, wb) if n else np.zeros(np.broadcast_shapes(a_shape[:-2], b_shape[:-2]) + wb.shape[-2:])
        function("solve", [a, b], [T(type, x[..., 0] if vector else x)], **close(n))
        for turned in (0, 1):
            x = each(lambda m, c: np.linalg.solve(adjoint(m) if turned else m, c), wa, wb) if n else x
            function("lu_solve", [a, b], [T(type, x[..., 0] if vector else x)], {"adjoint": turned}, **close(n))
    for shape in ((3, 3), (2, 2, 4, 4), (1, 1), (0, 0), (2, 0, 0), (40, 40)):
        a = well(type, shape)
        function("inv", [a], [T(type, np.linalg.inv(wide(a)))], **close(shape[-1]))
        function("det", [a], [T(type, np.linalg.det(wide(a)))], relative=100 * EPSILON[type] * max(shape[-1], 1), absolute=1e-30)
        sign, log = np.linalg.slogdet(wide(a))
        function("slogdet_sign", [a], [T(type, sign)], **close(shape[-1]))
        function("slogdet_log", [a], [T(real(type), log)], **close(shape[-1]))
        function("matrix_power", [a], [T(type, np.linalg.matrix_power(wide(a), -3))], {"n": -3}, **close(shape[-1], 300))
    for shape in ((3, 3), (2, 4, 2), (2, 5), (1, 1), (0, 0), (3, 0), (0, 2), (20, 20)):
        a = T(type, drawn(type, shape))
        parts = [each(lambda m, i=i: scipy.linalg.lu(m)[i], wide(a)) if 0 not in shape else None for i in range(3)]
        m, n = shape[-2:]
        k = min(m, n)
        empty = [np.eye(m), np.zeros((m, k)), np.zeros((k, n))]
        for part, name, nothing in zip(parts, ("lu_p", "lu_l", "lu_u"), empty):
            function(name, [a], [T(type, nothing if part is None else part)], **close(max(m, n)))
    # Singular matrices have a determinant: of a column of zeros, and of equal rows.
    for singular in ([[0, 0, 1], [0, 2, 3], [0, 4, 5]], [[1, 2], [1, 2]], [[0, 0], [0, 0]]):
        a = T(type, singular)
        function("det", [a], [T(type, 0)], absolute=0)
        function("slogdet_sign", [a], [T(type, 0)], absolute=0)
        function("slogdet_log", [a], [T(real(type), -np.inf)], absolute=0)

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
for name, cases in (("cases", cpu_kernel_cases.cases), ("functions", FUNCTIONS)):
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / f"{name}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(name, len(cases))
print(len(cpu_kernel_cases.bytes_), "bytes")
