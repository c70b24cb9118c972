"""Values of the regularised incomplete gamma and beta functions for tests/kernels/cpu_kernels_reference_test.cc and
tests/kernels/scalar_accuracy_test.cc: writes tests/data/incomplete. Those of the gamma functions are mpmath's, since SciPy's are not
exact for large parameters; those of the beta function SciPy's. Inverses are SciPy's, mended by Newton's method with
mpmath's functions."""
import json
import pathlib

import mpmath as mp
import numpy as np
import scipy.special as sp
import cpu_kernel_cases
from cpu_kernel_cases import FLOATS, T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "incomplete"
OUT.mkdir(parents=True, exist_ok=True)


def gamma(a, x):
    """The lower and the upper tail."""
    if np.isnan(a + x) or a < 0 or x < 0 or (a == 0 and x == 0) or (np.isinf(a) and np.isinf(x)):
        return np.nan, np.nan
    if a == 0 or np.isinf(x):
        return 1.0, 0.0
    if x == 0 or np.isinf(a):
        return 0.0, 1.0
    # x^a exp(-x) / Γ(a + 1) · Σ x^k / ((a + 1) … (a + k)), with as many digits as the upper tail needs.
    with mp.workdps(340):
        a, x = mp.mpf(a), mp.mpf(x)
        term = total = mp.mpf(1)
        k = 0
        while term > total * mp.eps or k < x - a:
            k += 1
            term = term * x / (a + k)
            total += term
        lower = total * mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1))
        return float(lower), float(1 - lower)


def shapes(n):
    """Parameters from tiny to large, and arguments around them."""
    a = np.exp(rng.uniform(np.log(1e-5), np.log(3e4), n))
    x = np.where(np.arange(n) % 2, a * np.exp(rng.normal(0, 0.4, n)), np.abs(a + rng.normal(0, 3, n) * np.sqrt(a)))
    return np.append(a, [1e5, 1e5, 1e5, 1e6, 1e6, 20.5, 60.5, 0.5, 1e-3, 1e-3]), np.append(x, [1e5, 1e5 + 2000, 1e5 - 1500, 1e6 + 64, 1e6 - 3000, 21, 59, 100, 1e-9, 1])


def proportions(n):
    a, b = np.exp(rng.uniform(np.log(1e-5), np.log(1e5), n)), np.exp(rng.uniform(np.log(1e-5), np.log(1e5), n))
    b[::3] = a[::3] * np.exp(rng.normal(0, 1, b[::3].size))
    mean = a / (a + b)
    x = np.where(np.arange(n) % 2, rng.random(n), mean + rng.normal(0, 3, n) * np.sqrt(mean * (1 - mean) / (a + b + 1)))
    return a, b, np.clip(x, 1e-6, 1 - 2**-20)


def solved(start, tail, density, p):
    """The x where tail(x) = p, from SciPy's, by Newton's method for the logarithms. density: the tail's derivative times x."""
    x = mp.mpf(start)
    for _ in range(40):
        step = -mp.log(tail(x) / p) * tail(x) / density(x)
        x *= mp.exp(step)
        if abs(step) < mp.mpf(10) ** -25:
            return x
    raise ValueError(f"no solution near {start}")


def gamma_inverse(a, p, upper=False):
    if not (a >= 0 and 0 <= p <= 1):
        return np.nan
    if p in (0, 1):
        return np.inf if (p == 1) != upper else 0.0
    if a == 0 or np.isinf(a):
        return np.nan
    with mp.workdps(60):
        density = lambda x: mp.exp(a * mp.log(x) - x - mp.loggamma(a)) * (-1 if upper else 1)  # noqa: E731
        tail = lambda x: mp.gammainc(a, x, mp.inf, regularized=True) if upper else mp.gammainc(a, 0, x, regularized=True)  # noqa: E731
        return float(solved((sp.gammainccinv if upper else sp.gammaincinv)(a, p), tail, density, mp.mpf(p)))


def beta_inverse(a, b, p):
    if not (a > 0 and b > 0 and 0 <= p <= 1):
        return np.nan
    if p in (0, 1):
        return float(p)
    if np.isinf(a) or np.isinf(b):
        return np.nan if a == b else float(np.isinf(a))
    with mp.workdps(60):
        density = lambda x: x**a * (1 - x) ** (b - 1) / mp.beta(a, b)  # noqa: E731
        return float(solved(sp.betaincinv(a, b, p), lambda x: mp.betainc(a, b, 0, x, regularized=True), density, mp.mpf(p)))


for type in FLOATS:
    near = {"relative": 4e-12, "absolute": 1e-300} if type == "f64" else {"ulp": 1}
    edge = [0.0, -0.0, 1.0, 2.5, 0.125, -1.0, np.inf, np.nan]
    a, x = (m.ravel() for m in np.meshgrid(edge, edge))
    many = shapes(400 if type in ("f64", "f32") else 60)
    fits = (many[0] < 4e4) & (many[1] < 4e4) if type == "f16" else (many[0] < 200) & (many[1] < 200) if type[:2] == "f8" else many[0] > 0
    # Operands are f32's, which a GPU computes with as well.
    a, x = (T(type if type != "f64" else "f32", np.append(v, m[fits])) for v, m in zip((a, x), many))
    a, x = T(type, a.values), T(type, x.values)
    both = np.array([gamma(p, q) for p, q in zip(a.values, x.values)])
    case("gammainc", [a, x], [T(type, both[:, 0])], **near)
    case("gammaincc", [a, x], [T(type, both[:, 1])], **near)
    many = proportions(400 if type in ("f64", "f32") else 60)
    a, b, x = (T(type, T(type if type != "f64" else "f32", np.minimum(m, 200) if type[:2] == "f8" else np.minimum(m, 4e4) if type == "f16" else m).values) for m in many)
    inside = (a.values > 0) & (b.values > 0) & (x.values < 1)
    a, b, x = (T(type, v.values[inside]) for v in (a, b, x))
    case("betainc", [a, b, x], [T(type, sp.betainc(a.values, b.values, x.values))], **near)
def probabilities(n):
    return np.where(np.arange(n) % 3 < 2, rng.random(n), np.exp(-rng.exponential(8, n)))


# Of the parameters here x is at most the twentieth power of the probability.
for type in FLOATS:
    near = {"relative": 1e-12, "absolute": 1e-300} if type == "f64" else {"ulp": 1}
    given = "f32" if type == "f64" else type
    edge = [0.0, -0.0, 1.0, 2.5, 0.125, -1.0, np.inf, np.nan, 1.5]
    n = 120 if type in ("f64", "f32") else 30
    a, p = (m.ravel() for m in np.meshgrid(edge, edge))
    a = T(type, T(given, np.append(a, np.exp(rng.uniform(np.log(0.05), np.log(200), n)))).values)
    p = T(type, T(given, np.append(p, probabilities(n))).values)
    case("gammaincinv", [a, p], [T(type, [gamma_inverse(*v) for v in zip(a.values, p.values)])], **near)
    case("gammainccinv", [a, p], [T(type, [gamma_inverse(*v, upper=True) for v in zip(a.values, p.values)])], **near)
    edge = [0.0, 1.0, 2.5, -1.0, np.inf, np.nan]
    a, b, p = (m.ravel() for m in np.meshgrid(edge, edge, [0.0, -0.0, 0.25, 0.75, 1.0, -1.0, 1.5, np.nan]))
    a, b = (T(type, T(given, np.append(v, np.exp(rng.uniform(np.log(0.05), np.log(200), n)))).values) for v in (a, b))
    p = T(type, T(given, np.append(p, probabilities(n))).values)
    case("betaincinv", [a, b, p], [T(type, [beta_inverse(*v) for v in zip(a.values, b.values, p.values)])], **near)
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print(len(cpu_kernel_cases.cases), "cases,", len(cpu_kernel_cases.bytes_), "bytes")
