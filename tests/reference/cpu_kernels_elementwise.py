"""Elementwise functions and conversions for cpu_kernels.py, by NumPy, SciPy and Python's integers."""
import math

import mpmath as mp
import numpy as np
import scipy.special as sp
from cpu_kernel_cases import *  # noqa: F403


# ---- Elementwise
def softplus(d):
    return np.maximum(d, 0) + np.log1p(np.exp(-np.abs(d)))


def gate(d, g):
    return np.where(d == -np.inf, 0.0, d * g)


def sigmoid(d):
    return np.where(d < 0, np.exp(d) / (1 + np.exp(d)), 1 / (1 + np.exp(-d)))


def lgamma(d):
    return np.where(((d <= 0) & (d == np.floor(d))) | np.isinf(d), np.inf, sp.gammaln(d))


def digamma(d):
    y = np.where((d < 0) & (d == np.floor(d)), np.nan, sp.digamma(d))
    return np.where(d == 0, np.where(np.signbit(d), np.inf, -np.inf), np.where(d == np.inf, np.inf, y))


UNARY_REAL = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "round": np.rint,
    "sqrt": np.sqrt, "rsqrt": lambda d: 1 / np.sqrt(d), "cbrt": np.cbrt, "reciprocal": lambda d: 1 / d, "square": np.square,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": sp.erf, "erfc": sp.erfc,
    "erfinv": sp.erfinv, "lgamma": lgamma, "digamma": digamma, "sigmoid": sigmoid, "logsigmoid": lambda d: -softplus(-d),
    "softplus": softplus, "mish": lambda d: gate(d, np.tanh(softplus(d))), "relu": lambda d: np.where(d < 0, 0.0, d),
    "gelu_erf": lambda d: gate(d, 0.5 * sp.erfc(-d / np.sqrt(2))),
    "gelu_tanh": lambda d: gate(d, sigmoid(2 * np.sqrt(2 / np.pi) * (d + 0.044715 * d**3))),
    "gelu_quick": lambda d: gate(d, sigmoid(1.702 * d)), "silu": lambda d: gate(d, sigmoid(d)),
    "relu6": lambda d: np.clip(d, 0, 6), "hardtanh": lambda d: np.clip(d, -1, 1), "leaky_relu": lambda d: np.where(d < 0, 0.01 * d, d),
    "elu": lambda d: np.where(d < 0, np.expm1(d), d), "celu": lambda d: np.where(d < 0, np.expm1(d), d),
    "selu": lambda d: 1.0507009873554805 * np.where(d < 0, 1.6732632423543773 * np.expm1(d), d),
    "hardsigmoid": lambda d: np.clip(d / 6 + 0.5, 0, 1), "hardswish": lambda d: np.where(d < -3, 0, d * np.clip(d + 3, 0, 6) / 6),
    "softsign": lambda d: np.where(np.isinf(d), np.sign(d), d / (1 + np.abs(d))), "hardshrink": lambda d: np.where(np.abs(d) <= 0.5, 0, d),
    "softshrink": lambda d: d - np.clip(d, -0.5, 0.5), "threshold": lambda d: np.where(d <= 0, 0, d),
}
EXACT = {"neg", "abs", "sign", "ceil", "floor", "trunc", "round", "relu", "square", "add", "sub", "mul", "rem", "min", "max", "fmin", "fmax",
         "copysign", "nextafter", "clamp"}


def close(kernel, type):
    """How near the CPU comes: exact where the function is, else one rounding of a function of the C library in f64."""
    if kernel in EXACT:
        return {}
    if type == "f64":
        return {"absolute": 1e-14, "relative": 1e-14}
    steps = kernel in ("relu6", "hardtanh", "leaky_relu", "elu", "celu", "selu", "hardsigmoid", "hardswish", "softsign", "softshrink", "lerp",
                       "fma", "floor_divide", "remainder")
    return {"ulp": 3 if steps and type == "f32" else 1, "absolute": 1e-6 if steps else 0.0}


def to_floor(a, b):
    q = np.floor_divide(a, b)
    return np.where(b == 0, a / b, q)


BINARY_REAL = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floor_divide": to_floor, "rem": np.fmod,
    "remainder": np.remainder, "pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
    "logaddexp": np.logaddexp, "min": np.minimum, "max": np.maximum, "fmin": np.fmin, "fmax": np.fmax,
}
COMPARE = {"equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
           "greater_equal": np.greater_equal}


UNARY_INT = {
    "neg": lambda a, t: -a, "abs": lambda a, t: abs(a), "sign": lambda a, t: (a > 0) - (a < 0), "square": lambda a, t: a * a,
    "relu": lambda a, t: max(a, 0), "bitwise_not": lambda a, t: ~a, "popcount": lambda a, t: bin(a & ((1 << width_of(t)) - 1)).count("1"),
    "clz": lambda a, t: width_of(t) - (a & ((1 << width_of(t)) - 1)).bit_length(),
}


def truncated(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a, b, type):
    if b >= 0:
        return pow(a, b, 1 << width_of(type))
    return 1 if a == 1 or (a == -1 and b % 2 == 0) else -1 if a == -1 else 0


BINARY_INT = {
    "add": lambda a, b, t: a + b, "sub": lambda a, b, t: a - b, "mul": lambda a, b, t: a * b, "div": lambda a, b, t: truncated(a, b),
    "floor_divide": lambda a, b, t: a // b if b else 0, "rem": lambda a, b, t: a - truncated(a, b) * b if b else 0,
    "remainder": lambda a, b, t: a % b if b else 0, "pow": power, "min": lambda a, b, t: min(a, b), "max": lambda a, b, t: max(a, b),
    "fmin": lambda a, b, t: min(a, b), "fmax": lambda a, b, t: max(a, b), "gcd": lambda a, b, t: math.gcd(a, b),
    "lcm": lambda a, b, t: math.lcm(a, b), "bitwise_and": lambda a, b, t: a & b, "bitwise_or": lambda a, b, t: a | b,
    "bitwise_xor": lambda a, b, t: a ^ b, "shift_left": lambda a, b, t: a << b if 0 <= b < width_of(t) else 0,
    "shift_right": lambda a, b, t: a >> b if 0 <= b < width_of(t) else -1 if a < 0 else 0,
}


# Of complex numbers, by NumPy in f64 (1 / sqrt(z) and log(1 + z) have no special values in common with it).
COMPLEX = {"sqrt": np.sqrt, "expm1": np.expm1, "log": np.log, "log2": lambda z: np.log(z) / np.log(2), "log10": np.log10,
           "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
           "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh}


def complex_functions(corners):
    own = np.random.default_rng(12)  # so that others stay what they are
    ordinary = own.normal(0, 1.5, 40) + 1j * own.normal(0, 1.5, 40)
    sizes = np.exp2(own.uniform(-60, 60, 40)) * np.exp(1j * own.uniform(-np.pi, np.pi, 40))
    for name, f in COMPLEX.items():
        # A logarithm less 1, and a sum of infinite parts times a number, are NumPy's own way there.
        if name not in ("expm1", "log2", "log10"):
            case(name, [corners], [T("c64", f(corners.values))], relative=1e-6)
        x = T("c64", ordinary)
        case(name, [x], [T("c64", f(x.values))], relative=1e-6, absolute=1e-7)
        if name in ("sqrt", "log", "asin", "acos", "asinh", "acosh"):
            x = T("c64", sizes)
            case(name, [x], [T("c64", f(x.values))], relative=1e-6, absolute=1e-7)
    small = T("c64", ordinary * np.exp2(own.uniform(-20, 0, 40)))
    case("log1p", [small], [T("c64", np.log1p(small.values))], relative=1e-6, absolute=1e-7)
    case("expm1", [small], [T("c64", np.expm1(small.values))], relative=1e-6, absolute=1e-7)
    case("rsqrt", [small], [T("c64", 1 / np.sqrt(small.values))], relative=2e-6, absolute=1e-7)
    base, exponent = T("c64", ordinary), T("c64", own.normal(0, 1, 40) + 1j * own.normal(0, 1, 40))
    case("pow", [base, exponent], [T("c64", base.values ** exponent.values)], relative=2e-6, absolute=1e-6)
    whole = T("c64", own.integers(-9, 10, 40))
    case("pow", [base, whole], [T("c64", base.values ** whole.values)], relative=2e-6, absolute=1e-6)
    zeros = T("c64", np.zeros(4))
    case("pow", [zeros, T("c64", [0, 2, 1.5 + 2j, 0.25])], [T("c64", [1, 0, 0, 0])])


def bessel(name, v):
    """By mpmath: SciPy's are not exact near the zeros of J and Y, and NaN at infinities."""
    order, kind, scaled = int(name[1]), name[0], name.endswith("e")
    if math.isnan(v) or (v < 0 and kind != "j"):
        return math.nan
    if math.isinf(v):
        return math.copysign(0.0, v) if name == "j1" else 0.0
    if v == 0:
        return {"j": 1.0 if order == 0 else v, "y": -math.inf, "k": math.inf}[kind]
    f = {"j": mp.besselj, "y": mp.bessely, "k": mp.besselk}[kind]
    return float(f(order, mp.mpf(v)) * (mp.exp(v) if scaled else 1))


def bessel_functions():
    own = np.random.default_rng(23)  # so that the values of other kernels stay
    few = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-4, 2.4048255, 3.8317060, 0.8935769, 2.1971413, 99.5]
    for type in FLOATS:
        v = np.concatenate([few, own.normal(0, 3, 20), np.abs(own.normal(0, 3, 30)), own.uniform(0, 200, 20)])
        x = T(type, v)
        for name in ("j0", "j1", "y0", "y1", "k0", "k1", "k0e", "k1e"):
            case(name, [x], [T(type, [bessel(name, u) for u in x.values])], **close(name, type))


def elementwise():
    for type in FLOATS:
        for name, f in UNARY_REAL.items():
            x = reals(type)
            case(name, [x], [T(type, f(x.values))], **close(name, type))
        x = reals(type)
        for name, f in (("is_nan", np.isnan), ("is_inf", np.isinf), ("is_finite", np.isfinite), ("signbit", np.signbit)):
            case(name, [x], [T("bool", f(x.values))])
        # Special values meet each other.
        few = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, np.inf, -np.inf, np.nan]
        a, b = (m.ravel() for m in np.meshgrid(few, few))
        a = T(type, np.concatenate([a, rng.normal(0, 5, 30)]))
        b = T(type, np.concatenate([b, rng.normal(0, 3, 30)]))
        for name, f in BINARY_REAL.items():
            case(name, [a, b], [T(type, f(a.values, b.values))], **close(name, type))
        for name, f in COMPARE.items():
            case(name, [a, b], [T("bool", f(a.values, b.values))])
        case("nextafter", [a, b], [next_after(a, b)])
        case("div_rn", [a, b], [T(type, np.divide(a.values, b.values))])
        case("complex", [a, b], [joined(a.values, b.values)])
        c = mixed(reals(type))
        x, y = reals(type), mixed(reals(type))
        finite = [T(type, np.where(np.isfinite(t.values), t.values, 4.5)) for t in (x, y, c)]
        case("fma", finite, [T(type, finite[0].values * finite[1].values + finite[2].values)], **close("fma", type))
        t = T(type, np.linspace(-0.5, 1.5, 36))
        case("lerp", [finite[0], finite[1], t], [T(type, finite[0].values + t.values * (finite[1].values - finite[0].values))],
             **close("lerp", type))
        low, high = T(type, np.minimum(finite[1].values, finite[2].values)), T(type, np.maximum(finite[1].values, finite[2].values))
        case("clamp", [x, low, high], [T(type, np.minimum(np.maximum(x.values, low.values), high.values))])
    for type in INTEGERS + list(PACKED):
        x = integers(type)
        for name, f in UNARY_INT.items():
            case(name, [x], [T(type, [f(v, type) for v in x.values])])
        case("signbit", [x], [T("bool", [v < 0 for v in x.values])])
        a, b, s = integers(type, 60), mixed(integers(type, 60)), integers(type, 60, small=True)
        for name, f in BINARY_INT.items():
            for right in (b, s):
                if name == "pow":
                    right = T(type, [v % 40 - (5 if type[0] == "i" else 0) for v in right.values])
                if name.startswith("shift"):
                    right = T(type, [v % (width_of(type) + 3) - (1 if type[0] == "i" else 0) for v in right.values])
                case(name, [a, right], [T(type, [f(p, q, type) for p, q in zip(a.values, right.values)])])
        for name, f in COMPARE.items():
            case(name, [a, s], [T("bool", [bool(f(p, q)) for p, q in zip(a.values, s.values)])])
        case("fma", [a, b, s], [T(type, [p * q + r for p, q, r in zip(a.values, b.values, s.values)])])
        low, high = T(type, [min(p, q) for p, q in zip(b.values, s.values)]), T(type, [max(p, q) for p, q in zip(b.values, s.values)])
        case("clamp", [a, low, high], [T(type, [min(max(p, q), r) for p, q, r in zip(a.values, low.values, high.values)])])
    p, q = T("bool", [0, 0, 1, 1]), T("bool", [0, 1, 0, 1])
    case("logical_not", [p], [T("bool", ~p.values)])
    case("bitwise_not", [p], [T("bool", ~p.values)])
    for name, f in (("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor),
                    ("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor),
                    ("min", np.minimum), ("max", np.maximum), ("fmin", np.fmin), ("fmax", np.fmax)):
        case(name, [p, q], [T("bool", f(p.values, q.values))])
    for name, f in COMPARE.items():
        case(name, [p, q], [T("bool", f(p.values, q.values))])
    ends = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    corners = joined(*(m.ravel() for m in np.meshgrid(np.array(ends), np.array(ends))))
    case("exp", [corners], [T("c64", np.exp(corners.values))], relative=1e-6)
    complex_functions(corners)
    z, w, u = of("c64"), of("c64"), of("c64")
    few = {"absolute": 2e-5, "relative": 2e-6}
    for name, f in (("neg", np.negative), ("conj", np.conj), ("square", np.square), ("exp", np.exp), ("reciprocal", lambda v: 1 / v)):
        case(name, [z], [T("c64", f(z.values))], **few)
    for name, f in (("abs", np.abs), ("real", np.real), ("imag", np.imag), ("angle", np.angle)):
        case(name, [z], [T("f32", f(z.values))], ulp=1)
    for name in ("add", "sub", "mul", "div"):
        case(name, [z, w], [T("c64", BINARY_REAL[name](z.values, w.values))], **few)
    same = T("c64", np.where(np.arange(36) % 2, z.values, w.values))
    case("equal", [z, same], [T("bool", z.values == same.values)])
    case("not_equal", [z, same], [T("bool", z.values != same.values)])
    case("fma", [z, w, u], [T("c64", z.values * w.values + u.values)], **few)
    for type in FLOATS + INTEGERS + list(PACKED) + ["bool", "c64"]:
        chosen, a, b = of("bool"), of(type), mixed(of(type))
        case("select", [chosen, a, b], [T(type, np.where(chosen.values, a.values, b.values))])


def next_after(a, b):
    if a.type in NUMPY:
        return T(a.type, np.nextafter(a.values.astype(NUMPY[a.type]), b.values.astype(NUMPY[a.type])).astype(np.float64))
    # By the codes of the numbers from 0 up.
    numbers = EIGHT.get(a.type)
    if numbers is None:
        numbers = (np.arange(0x7F81, dtype=np.uint32) << 16).view(np.float32).astype(np.float64)
    elif a.type == "f8e5m2":
        numbers = np.append(numbers[:-1], np.inf)
    code = np.where(np.signbit(a.values), -1, 1) * np.searchsorted(numbers, np.where(np.isnan(a.values), 0, np.abs(a.values)))
    code = code + np.where(b.values > a.values, 1, -1)
    past = np.abs(code) >= numbers.size if a.type != "f8e4m3" else np.abs(code) >= numbers.size - 1
    moved = np.where(past, np.nan, np.copysign(numbers[np.minimum(np.abs(code), numbers.size - 1)], np.where(code == 0, a.values, code)))
    moved = np.where(a.values == b.values, b.values, moved)
    return T(a.type, np.where(np.isnan(a.values) | np.isnan(b.values), np.nan, moved))


def joined(real, imag):
    y = T("c64", np.zeros(real.shape))
    y.values = np.empty(real.shape, np.complex128)
    y.values.real, y.values.imag = real.astype(np.float32), imag.astype(np.float32)
    return y


# ---- Conversions
def converted(v, source, target):
    if target == "bool":
        return bool(v != 0)
    if source == "c64" and target != "c64":
        v = v.real
    if target in FLOATS + ["c64"]:
        return v
    if source in FLOATS + ["c64"]:  # towards zero, saturating, NaN to 0
        low, high = (-(1 << (width_of(target) - 1)), (1 << (width_of(target) - 1)) - 1) if target[0] == "i" else (0, (1 << width_of(target)) - 1)
        return 0 if math.isnan(v) else low if v < low else high if v > high else int(v)
    return int(v)


def conversions():
    types = FLOATS + INTEGERS + list(PACKED) + ["bool", "c64"]
    for source in types:
        x = of(source, 40)
        if source in FLOATS:
            x = T(source, np.concatenate([x.values, [300, -300, 70000, -70000, 3e9, -3e9, 1e19, -1e19, 65504, 254.9, -0.9]]))
        for target in types:
            v = [converted(n, source, target) for n in x.values]
            if source in INTEGERS + list(PACKED) and target in FLOATS + ["c64"]:
                # Python rounds a long integer to f64 once; f32 and narrower from there would be a second time.
                v = [float(np.float32(n)) if target != "f64" and abs(n) < 2**24 else float(n) for n in v]
                if width_of(source) == 64 and target != "f64":
                    case("copy", [x], [T(target, v)], ulp=1)
                    continue
            if source == "f64" and target == "bf16":
                case("copy", [x], [T(target, v)], ulp=1)
                continue
            case("copy", [x], [T(target, v)])
