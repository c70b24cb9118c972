"""Exact derivatives of functions of single elements, for tests/derivatives/elementwise_values_test.cc: writes
tests/data/derivatives/elementwise.json and elementwise/bytes.npy.

Of each function: points x, which f32 holds, and its first three derivatives there, by mpmath from the function's
definition; at joints, where a side counts, by the convention that is named beside them (PyTorch's)."""
import json
import pathlib

import mpmath as mp
import numpy as np

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "elementwise_derivatives"
mp.mp.dps = 260
bytes_, cases = bytearray(), []

WIDE = sorted({0.0, *(s * v for s in (1, -1) for v in (
    1e-30, 1e-20, 1e-10, 1e-7, 1e-5, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.9,
    0.95, 1, 1.05, 1.1, 1.19, 1.25, 1.28, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5,
    9, 9.5, 10, 10.5, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 25, 28, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 87, 90,
    95, 99.5, 100))})
HUGE = [s * v for v in (1e5, 1e10, 1e15, 1e20) for s in (1, -1)]
INSIDE = sorted({0.0, *(s * v for s in (1, -1) for v in (
    1e-30, 1e-7, 1e-3, 0.01, 0.1, 0.25, 0.3, 0.5, 0.6, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 2**-14, 1 - 2**-20, 1 - 2**-23))})
OPEN = sorted({v for v in (1e-30, 1e-20, 1e-10, 1e-7, 1e-4, 1e-3, 0.01, 0.05, 0.07, 0.075, 0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.75,
                           0.9, 0.925, 0.93, 0.95, 0.99, 0.999, 1 - 2**-14, 1 - 2**-20)})
POSITIVE = [v for v in WIDE if v > 0]


def place(values):
    at = len(bytes_)
    bytes_.extend(np.asarray(values, dtype=np.float64).tobytes())
    return {"type": "f64", "shape": [len(values)], "at": at}


def number(v):
    """As f64, rounded once. Numbers below 1e-150, at which differences of 260 digits end, are 0."""
    return float(mp.mpf(v)) if abs(v) > 1e-150 else 0.0


def derivatives(f, x):
    return [mp.diff(f, x, n) for n in (1, 2, 3)]


def add(name, f, points=WIDE, parameters=(), joints={}, exact=None):
    """f: the function, or of x the piece of it around x. joints: derivatives of both orders where a convention says them.
    exact: the three derivatives by formulas of one's own."""
    points = sorted({float(np.float32(p)) for p in points} | {float(np.float32(j)) for j in joints})
    d = []
    for p in points:
        x = mp.mpf(p)
        if p in joints:
            d.append([*map(mp.mpf, joints[p]), mp.mpf(0)])
        elif exact:
            d.append([g(x) for g in exact])
        else:
            d.append(derivatives(f, x))
    entry = {"function": name, "x": place(points)}
    entry |= {f"d{n + 1}": place([number(v[n]) for v in d]) for n in range(3)}
    if parameters:
        entry["parameters"] = list(parameters)
    cases.append(entry)


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x))


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def pieces(*edges):
    """pieces((end, f), (end, f), …, (None, f)): f of the first end that x is below."""
    def f(x):
        for end, g in edges:
            if end is None or x < end:
                return g(x)
    return f


def line(slope, at=0):
    return lambda x: mp.mpf(slope) * x + at


third, root2 = mp.mpf(1) / 3, mp.sqrt(2)
add("sqrt", mp.sqrt, POSITIVE)
add("rsqrt", lambda x: 1 / mp.sqrt(x), POSITIVE)
add("cbrt", lambda x: mp.sign(x) * mp.root(abs(x), 3), [x for x in WIDE if x])
add("reciprocal", lambda x: 1 / x, [x for x in WIDE if x])
add("square", lambda x: x * x, WIDE)
add("exp", mp.exp, [x for x in WIDE if abs(x) < 88])
add("exp2", lambda x: mp.power(2, x))
add("expm1", mp.expm1, [x for x in WIDE if x < 88])
add("log", mp.log, POSITIVE)
add("log2", lambda x: mp.log(x) / mp.log(2), POSITIVE)
add("log10", mp.log10, POSITIVE)
add("log1p", mp.log1p, [x for x in WIDE if x > -1] + [-1 + 2**-20])
for name in "sin cos tan atan asinh tanh".split():
    add(name, getattr(mp, name), WIDE)
add("sinh", mp.sinh, [x for x in WIDE if abs(x) < 88])
add("cosh", mp.cosh, [x for x in WIDE if abs(x) < 88])
add("asin", mp.asin, INSIDE)
add("acos", mp.acos, INSIDE)
add("atanh", mp.atanh, INSIDE)
add("acosh", mp.acosh, [x for x in WIDE if x > 1] + [1 + 2**-20, 1 + 2**-10])
add("asinh", mp.asinh, HUGE)
add("acosh", mp.acosh, [x for x in HUGE if x > 0])
add("erf", mp.erf)
add("erfc", mp.erfc)
s = mp.sqrt(mp.pi) / 2


def erfinv(x):
    with mp.workdps(60):
        return mp.erfinv(x)


add("erfinv", None, INSIDE, exact=[lambda x: s * mp.exp(erfinv(x)**2),
                                   lambda x: 2 * erfinv(x) * (s * mp.exp(erfinv(x)**2))**2,
                                   lambda x: 2 * (1 + 4 * erfinv(x)**2) * (s * mp.exp(erfinv(x)**2))**3])
REGULAR = [x for x in WIDE if x > 0 or (x < 0 and abs(x - round(x)) > 0.01)]
add("lgamma", None, REGULAR, exact=[lambda x: mp.psi(0, x), lambda x: mp.psi(1, x), lambda x: mp.psi(2, x)])
add("digamma", None, REGULAR, exact=[lambda x: mp.psi(1, x), lambda x: mp.psi(2, x), lambda x: mp.psi(3, x)])
add("sigmoid", sigmoid)
add("logsigmoid", lambda x: -softplus(-x))
add("softplus", softplus)
add("mish", lambda x: x * mp.tanh(softplus(x)))
add("silu", lambda x: x * sigmoid(x))
add("gelu_erf", lambda x: x * mp.ncdf(x))
add("gelu_tanh", lambda x: x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)))
add("gelu_quick", lambda x: x * sigmoid(mp.mpf("1.702") * x))
add("abs", abs, joints={0: (0, 0)})
add("relu", pieces((0, line(0)), (None, line(1))), joints={0: (0, 0)})

# Functions of several pieces. At a joint: the derivative of relu6, hardtanh, hardsigmoid, hardshrink, softshrink and
# threshold is 0; that of leaky_relu, elu and selu is that of the negative side, whose second derivative is that of the
# positive one; of hardswish it is 0 at -3 and 1 at 3.
add("relu6", pieces((0, line(0)), (6, line(1)), (None, line(0, 6))), joints={0: (0, 0), 6: (0, 0)})
add("hardtanh", pieces((-1, line(0, -1)), (1, line(1)), (None, line(0, 1))), joints={-1: (0, 0), 1: (0, 0)})
add("leaky_relu", pieces((0, line("0.01")), (None, line(1))), joints={0: ("0.01", 0)})
for alpha in (1, 2):
    add("elu", pieces((0, lambda x: alpha * mp.expm1(x)), (None, line(1))), parameters=(alpha,), joints={0: (alpha, 0)})
    add("celu", pieces((0, lambda x: alpha * mp.expm1(x / alpha)), (None, line(1))), parameters=(alpha,), joints={0: (1, 0)})
A, S = mp.mpf("1.6732632423543772848170429916717"), mp.mpf("1.0507009873554804934193349852946")
add("selu", pieces((0, lambda x: S * A * mp.expm1(x)), (None, line(S))), joints={0: (S * A, 0)})
add("hardsigmoid", pieces((-3, line(0)), (3, line(mp.mpf(1) / 6, 0.5)), (None, line(0, 1))), joints={-3: (0, 0), 3: (0, 0)})
# Slopes that binary numbers hold, so that the joints are numbers, too: at -2 and 2, at 3 and -1.
add("hardsigmoid", pieces((-2, line(0)), (2, line(0.25, 0.5)), (None, line(0, 1))), parameters=(0.25, 0.5),
    joints={-2: (0, 0), 2: (0, 0)})
add("hardsigmoid", pieces((-1, line(0)), (3, line(-0.25, 0.75)), (None, line(0, 1))), parameters=(-0.25, 0.75),
    joints={-1: (0, 0), 3: (0, 0)})
add("hardswish", pieces((-3, line(0)), (3, lambda x: x * (x + 3) / 6), (None, line(1))), joints={-3: (0, 0), 3: (1, 0)})
add("softsign", lambda x: x / (1 + abs(x)), WIDE + HUGE, joints={0: (1, 0)})
add("hardshrink", pieces((-0.5, line(1)), (0.5, line(0)), (None, line(1))), joints={-0.5: (0, 0), 0.5: (0, 0)})
add("softshrink", pieces((-0.5, line(1, 0.5)), (0.5, line(0)), (None, line(1, -0.5))), joints={-0.5: (0, 0), 0.5: (0, 0)})
add("threshold", pieces((1, line(0, 5)), (None, line(1))), parameters=(1, 5), joints={1: (0, 0)})

# Of weft/special.h; joints are those of the forms in which they are computed, where nothing is to be seen.
add("sinc", None, [x for x in WIDE if x],
    exact=[lambda x, n=n: mp.diff(lambda v: mp.sin(mp.pi * v) / (mp.pi * v), x, n) for n in (1, 2, 3)])
add("sinc at 0", None, [0], exact=[lambda x: 0, lambda x: -mp.pi**2 / 3, lambda x: 0])
add("entr", lambda x: -x * mp.log(x), POSITIVE)
add("logit", lambda x: mp.log(x / (1 - x)), OPEN)
add("ndtr", mp.ncdf)
SIDES = [-6 - 2**-21, -6 + 2**-21, -10 - 2**-20, -10 + 2**-20]
add("log_ndtr", lambda x: mp.log(mp.ncdf(x)), WIDE + SIDES)


def ndtri(p):
    with mp.workdps(60):
        guess = mp.mpf(2) if p > mp.mpf("0.9") else -mp.sqrt(-2 * mp.log(p)) if p < mp.mpf("0.1") else mp.mpf(0)
        return mp.findroot(lambda z: mp.ncdf(z) - p if p > mp.mpf("0.1") else mp.log(mp.ncdf(z)) - mp.log(p), guess, tol=1e-80)


def of_ndtri(p, order):
    z = ndtri(p)
    d = 1 / density(z)
    return (d, z * d**2, (1 + 2 * z * z) * d**3)[order - 1]


add("ndtri", None, [p for p in OPEN if p > 1e-25], exact=[lambda p, n=n: of_ndtri(p, n) for n in (1, 2, 3)])
add("polygamma 1", None, [x for x in POSITIVE if x > 1e-4], exact=[lambda x: mp.psi(2, x), lambda x: mp.psi(3, x), lambda x: mp.psi(4, x)])
add("i0", lambda x: mp.besseli(0, x), [x for x in WIDE if abs(x) < 85])
add("i1", lambda x: mp.besseli(1, x), [x for x in WIDE if abs(x) < 85])
add("i0e", lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), joints={0: (0, 0.5)})
add("i1e", lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), joints={0: (0.5, 0)})
add("softmax of x and 0", sigmoid)
add("log_softmax of x and 0", lambda x: -softplus(-x))
add("log_sum_exp of x and 0", softplus)

# Losses at the target 0. At a residual of delta, where both pieces have the same derivative, the second one is that of the
# line.
add("huber_loss 1", pieces((-1, line(-1, -0.5)), (1, lambda x: x * x / 2), (None, line(1, -0.5))), joints={-1: (-1, 0), 1: (1, 0)})
add("huber_loss 2", pieces((-2, line(-2, -2)), (2, lambda x: x * x / 2), (None, line(2, -2))), joints={-2: (-2, 0), 2: (2, 0)})
add("smooth_l1_loss 1", pieces((-1, line(-1, -0.5)), (1, lambda x: x * x / 2), (None, line(1, -0.5))),
    joints={-1: (-1, 0), 1: (1, 0)})
add("smooth_l1_loss 2", pieces((-2, line(-1, -1)), (2, lambda x: x * x / 4), (None, line(1, -1))), joints={-2: (-1, 0), 2: (1, 0)})
add("l1_loss", abs, joints={0: (0, 0)})
add("mse_loss", lambda x: x * x)
for target in (0, 0.25, 1):
    add(f"binary_cross_entropy_with_logits {target:g}", lambda x: (1 - target) * x + softplus(-x))


first_orders = {}


def bessel(f, n, x):
    """Of Y and K by those of orders 0 and 1, of which the others are sums (Abramowitz and Stegun 9.1.27, 9.6.26)."""
    if f is mp.besselj:
        return f(n, x)
    if (f, x) not in first_orders:
        first_orders[f, x] = f(0, x), f(1, x)
    sign = -1 if f is mp.bessely else 1
    v = list(first_orders[f, x])
    for k in range(1, abs(n)):
        v.append(2 * k / x * v[-1] + sign * v[-2])
    return v[abs(n)] * (-1 if sign < 0 and n < 0 and n % 2 else 1)


def of_bessel(f, n, x, order):
    """The derivative of that order of J, Y or K of order n (Abramowitz and Stegun 9.1.31, 9.6.29)."""
    sign = 1 if f is mp.besselk else -1
    total = sum(sign**i * mp.binomial(order, i) * bessel(f, n - order + 2 * i, x) for i in range(order + 1))
    return (-1 if f is mp.besselk else 1) ** order * total / 2**order


with mp.workdps(50):
    for name, f, n in (("j0", mp.besselj, 0), ("j1", mp.besselj, 1), ("y0", mp.bessely, 0), ("y1", mp.bessely, 1),
                       ("k0", mp.besselk, 0), ("k1", mp.besselk, 1)):
        add(name, None, WIDE if f is mp.besselj else [x for x in POSITIVE if x < 86 or f is mp.bessely],
            exact=[lambda x, f=f, n=n, k=k: of_bessel(f, n, x, k) for k in (1, 2, 3)])
    for n in (0, 1):
        add(f"k{n}e", None, POSITIVE, exact=[lambda x, n=n, k=k: mp.exp(x) * sum(
            mp.binomial(k, i) * of_bessel(mp.besselk, n, x, i) for i in range(k + 1)) for k in (1, 2, 3)])

OUT.mkdir(exist_ok=True)
np.save(OUT / "bytes.npy", np.frombuffer(bytes(bytes_), dtype=np.uint8))
(OUT / "cases.json").write_text("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
print(len(cases), "functions,", sum(c["x"]["shape"][0] for c in cases), "points,", len(bytes_), "bytes")
