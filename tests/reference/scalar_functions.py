"""Values of mpmath, SciPy and NumPy for the functions that PyTorch's table (elementwise.py) lacks: tests/data/functions."""
import pathlib

import mpmath as mp
import numpy as np
import scipy.special as sp

out = pathlib.Path(__file__).parent.parent / "data" / "functions"
out.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(7)
mp.mp.dps = 40


def save(name, array):
    np.save(out / f"{name}.npy", np.ascontiguousarray(array))


edges = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1.2e-38, 3.4e38,
                  -3.4e38, 1e-20, -1e-20, 1e10, 0.99999994, -0.99999994, 1.0000001, 88.9, -104.0, 1.4616321, -2.4570247])
x = np.concatenate([edges, rng.uniform(-1, 1, 60), rng.normal(0, 3, 60), rng.uniform(-30, 30, 40),
                    10.0 ** rng.uniform(-6, 6, 30)]).astype(np.float32)


def by_mpmath(f):
    def value(v):
        try:
            r = f(mp.mpf(float(v)))
            return float(r) if isinstance(r, mp.mpf) else np.nan
        except (ValueError, ZeroDivisionError, OverflowError):
            return np.nan
    return lambda d: np.array([value(v) if np.isfinite(v) else np.nan for v in d])


def lgamma(v):
    return mp.log(abs(mp.gamma(v)))


def fixed(values, d, **special):
    """`values` with what IEEE arithmetic gives at the arguments where mpmath raises or has no answer."""
    values = values.copy()
    for name, v in special.items():
        where = {"inf": d == np.inf, "ninf": d == -np.inf, "zero": (d == 0) & ~np.signbit(d), "nzero": (d == 0) & np.signbit(d),
                 "one": d == 1, "none": d == -1}[name]
        values[where] = v
    return values


d = x.astype(np.float64)
with np.errstate(all="ignore"):
    sigmoid = np.where(d < 0, np.exp(d) / (1 + np.exp(d)), 1 / (1 + np.exp(-d)))
    softplus = np.maximum(d, 0) + np.log1p(np.exp(-np.abs(d)))
    e = np.exp(np.minimum(d, 50))
    mish = np.where(d > 50, d, np.where(d == -np.inf, 0, d * (e * (e + 2)) / (e * (e + 2) + 2)))
    integer_below = (d <= 0) & (d == np.floor(d))
    # The names go into a file of their own.
    unary = {
        "cbrt": np.cbrt(d), "expm1": np.expm1(d), "log10": np.log10(d), "log1p": np.log1p(d), "asin": np.arcsin(d),
        "acos": np.arccos(d), "atan": np.arctan(d), "sinh": np.sinh(d), "cosh": np.cosh(d), "asinh": np.arcsinh(d),
        "acosh": np.arccosh(d), "atanh": np.arctanh(d), "erfc": sp.erfc(d),
        "erfinv": fixed(by_mpmath(lambda v: mp.erfinv(v) if abs(v) < 1 else mp.nan)(d), d, one=np.inf, none=-np.inf),
        "lgamma": np.where(integer_below | np.isinf(d), np.inf, by_mpmath(lgamma)(d)),
        "digamma": fixed(np.where(integer_below, np.nan, by_mpmath(mp.digamma)(d)), d, inf=np.inf, zero=-np.inf, nzero=np.inf),
        "logsigmoid": -(np.maximum(-d, 0) + np.log1p(np.exp(-np.abs(d)))), "mish": mish,
        "relu6": np.clip(d, 0, 6), "hardtanh": np.clip(d, -1, 1), "leaky_relu": np.where(d < 0, 0.01 * d, d),
        "elu": np.where(d < 0, np.expm1(d), d), "celu": np.where(d < 0, np.expm1(d), d),
        "selu": 1.0507009873554804934193349852946 * np.where(d < 0, 1.6732632423543772848170429916717 * np.expm1(d), d),
        "hardsigmoid": np.clip(d / 6 + 0.5, 0, 1),
        "hardswish": np.where(d < -3, 0, d * np.clip(d + 3, 0, 6) / 6),
        "softsign": np.where(np.isinf(d), np.sign(d), d / (1 + np.abs(d))),
        "hardshrink": np.where(np.abs(d) <= 0.5, 0, d), "softshrink": d - np.clip(d, -0.5, 0.5),
        "threshold": np.where(d <= 0, 0, d),
    }
# mpmath loses gamma's overflow; the largest arguments by Stirling in its logarithm.
big = np.isfinite(d) & (d > 1e5)
unary["lgamma"][big] = [float(mp.loggamma(float(v))) for v in d[big]]
below = np.isfinite(d) & (d < -1e5)
unary["lgamma"][below] = np.inf


def bessel(name, v):
    order, kind, scaled = int(name[1]), name[0], name.endswith("e")
    if np.isnan(v) or (v < 0 and kind != "j"):
        return np.nan
    if np.isinf(v):
        return np.copysign(0.0, v) if name == "j1" else 0.0
    if v == 0:
        return {"j": 1.0 if order == 0 else v, "y": -np.inf, "k": np.inf}[kind]
    t, u = mp.mpf(v), abs(mp.mpf(v))
    if u < 1e3:
        f = {"j": mp.besselj, "y": mp.bessely, "k": mp.besselk}[kind]
        return float(f(order, t) * (mp.exp(t) if scaled else 1))
    # By the asymptotic series (Abramowitz and Stegun 9.2.5, 9.7.2), with the digits that the angle needs.
    with mp.workdps(90):
        term, terms = mp.mpf(1), []
        for k in range(20):
            terms.append(term)
            term *= mp.mpf(4 * order**2 - (2 * k + 1) ** 2) / (8 * (k + 1) * u)
        if kind == "k":
            return float(mp.sqrt(mp.pi / (2 * u)) * sum(terms) * (1 if scaled else mp.exp(-u)))
        even = sum((-1) ** (k // 2) * terms[k] for k in range(0, 20, 2))
        odd = sum((-1) ** (k // 2) * terms[k] for k in range(1, 20, 2))
        angle = u - (2 * order + 1) * mp.pi / 4
        wave = even * mp.cos(angle) - odd * mp.sin(angle) if kind == "j" else even * mp.sin(angle) + odd * mp.cos(angle)
        return float(mp.sqrt(2 / (mp.pi * u)) * wave * (-1 if v < 0 and order == 1 else 1))


for name in ("j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e"):
    unary[name] = np.array([bessel(name, v) for v in d])
save("unary_x", x)
save("unary_y", np.stack(list(unary.values())))
(out / "unary.txt").write_text("\n".join(unary) + "\n")

# Of two numbers, in f32 by NumPy where that is exact, else in f64.
special = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 7.0, np.inf, -np.inf, np.nan, 1e-30, -1e30, 3e38], np.float32)
a, b = (m.ravel() for m in np.meshgrid(special, special))
a = np.concatenate([a, rng.normal(0, 20, 150).astype(np.float32)])
b = np.concatenate([b, rng.normal(0, 5, 150).astype(np.float32)])
wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
with np.errstate(all="ignore"):
    exact = {"floor_divide": np.floor_divide(a, b), "remainder": np.remainder(a, b), "copysign": np.copysign(a, b),
             "nextafter": np.nextafter(a, b), "fmin": np.fmin(a, b), "fmax": np.fmax(a, b), "min": np.minimum(a, b),
             "max": np.maximum(a, b)}
    rounded = {"atan2": np.arctan2(wide_a, wide_b), "hypot": np.hypot(wide_a, wide_b), "logaddexp": np.logaddexp(wide_a, wide_b)}
    # Python divides by 0 to infinity or NaN.
    exact["floor_divide"] = np.where(b == 0, a / b, exact["floor_divide"])
save("binary_a", a)
save("binary_b", b)
save("binary_exact", np.stack(list(exact.values())))
save("binary_rounded", np.stack(list(rounded.values())))
half = rng.integers(0, 2**16, 300, dtype=np.uint16).view(np.float16)
half[:8] = [0.0, -0.0, 6e-8, -6e-8, 65504, -65504, np.inf, 1]
towards = np.roll(half, 3)
save("next_f16_a", half.view(np.uint16))
save("next_f16_b", towards.view(np.uint16))
save("next_f16_y", np.nextafter(half, towards).view(np.uint16))

# Integers; NumPy's division by zero gives 0 too.
for name, type_ in (("i8", np.int8), ("i32", np.int32), ("i64", np.int64), ("u64", np.uint64)):
    low, high = np.iinfo(type_).min, np.iinfo(type_).max
    i = np.concatenate([rng.integers(low, high, 60, dtype=type_, endpoint=True), rng.integers(max(low, -30), 30, 60).astype(type_),
                        np.array([low, low, high, 0, 12, 18], type_)])
    j = np.concatenate([rng.integers(low, high, 60, dtype=type_, endpoint=True), rng.integers(max(low, -7), 7, 60).astype(type_),
                        np.array([1 if low == 0 else -1, 0, 2, 0, 18, 0], type_)])
    with np.errstate(all="ignore"):
        y = [np.floor_divide(i, j), np.remainder(i, j), np.gcd(i, j), np.lcm(i, j)]
    width = np.iinfo(type_).bits
    bits = i.view(f"u{width // 8}")
    y.append(np.bitwise_count(bits).astype(type_))
    y.append(np.array([width - int(v).bit_length() for v in bits], type_))
    save(f"integer_{name}_a", i)
    save(f"integer_{name}_b", j)
    save(f"integer_{name}_y", np.stack(y).astype(type_))

# Complex numbers, in c128, as pairs.
z = (rng.normal(0, 3, 120) + 1j * rng.normal(0, 3, 120)).astype(np.complex64)
w = (rng.normal(0, 3, 120) + 1j * rng.normal(0, 3, 120)).astype(np.complex64)
p, q = z.astype(np.complex128), w.astype(np.complex128)
save("complex_a", z)
save("complex_b", w)
save("complex_y", np.stack([p + q, p - q, p * q, p / q, -p, np.conj(p), np.exp(p), 1 / p, p * p]).astype(np.complex64))
save("complex_real", np.stack([np.real(p), np.imag(p), np.abs(p), np.angle(p)]))
