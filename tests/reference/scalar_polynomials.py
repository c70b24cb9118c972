"""The minimax polynomials of src/kernels/common/scalar_math.wgsl, special_math.wgsl, narrow_math.wgsl,
device_math.wgsl, device_narrow_math.wgsl and incomplete_math.wgsl, src/kernels/random/random.wgsl and src/kernels/elementwise/scalar_math_cpu.h.

Each is found by Remez's exchange: the polynomial whose weighted error is largest, and equally large, at degree + 2
points of alternating sign. Prints the coefficients from the lowest power up, and the error as a power of two.
"""
import mpmath as mp
import numpy as np

mp.mp.dps = 40
POINTS = 1200


def minimax(f, low, high, degree, weight=lambda x: mp.mpf(1), rounds=12):
    n = degree + 2
    nodes = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * mp.mpf(i) / POINTS)) / 2 for i in range(POINTS + 1)]
    values = [f(x) for x in grid]
    weights = [weight(x) for x in grid]
    for _ in range(rounds):
        matrix, right = mp.matrix(n, n), mp.matrix(n, 1)
        for row, x in enumerate(nodes):
            for power in range(degree + 1):
                matrix[row, power] = x**power
            matrix[row, degree + 1] = (-1) ** row / weight(x)
            right[row] = f(x)
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[k] for k in range(degree + 1)]
        errors = [w * (mp.polyval(coefficients[::-1], x) - v) for w, x, v in zip(weights, grid, values)]
        extrema = []
        for k, e in enumerate(errors):
            if not extrema or (e > 0) != (errors[extrema[-1]] > 0):
                extrema.append(k)
            elif abs(e) > abs(errors[extrema[-1]]):
                extrema[-1] = k
        while len(extrema) > n:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        if len(extrema) < n:
            break
        nodes = [grid[k] for k in extrema]
    return coefficients, max(abs(e) for e in errors)


def near_zero(f, limit, eps=1e-9):
    return lambda x: f(x) if abs(x) > eps else limit


def show(name, result):
    coefficients, error = result
    print(f"{name}: error 2^{float(mp.log(error, 2)):.1f}")
    print("  f32", ", ".join(str(np.float32(float(c))) for c in coefficients))
    print("  f64", ", ".join(f"{float(c):.17g}" for c in coefficients))


one = mp.mpf(1)
ln2 = mp.log(2)
half_ln2 = ln2 / 2 * mp.mpf("1.01")
show("(exp(r) - 1 - r) / r²", minimax(near_zero(lambda r: (mp.exp(r) - 1 - r) / r**2, one / 2), -half_ln2, half_ln2, 5))
show("(exp(r) - 1) / r, f64", minimax(near_zero(lambda r: (mp.exp(r) - 1) / r, one), -half_ln2, half_ln2, 8))
show("(2^r - 1) / r", minimax(near_zero(lambda r: (mp.power(2, r) - 1) / r, ln2), -mp.mpf("0.505"), mp.mpf("0.505"), 6))
low, high = mp.sqrt(one / 2) * mp.mpf("0.999") - 1, mp.sqrt(2) * mp.mpf("1.001") - 1
show("(log(1 + f) - f + f²/2) / f³, weighted for log's relative error",
     minimax(near_zero(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, one / 3), low, high, 8,
             near_zero(lambda f: f**3 / mp.log1p(f), mp.mpf("1e-9"))))
show("log((1+s)/(1-s)) / s in s², f64",
     minimax(lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) if z > 1e-14 else mp.mpf(2), mp.mpf(0), mp.mpf("0.0296"), 6))
c = 2 / ln2
s_max = (mp.sqrt(2) * mp.mpf("1.002") - 1) / (mp.sqrt(2) * mp.mpf("1.002") + 1)
show("(log2((1+s)/(1-s)) - 2/ln2 s) / s³ in s² (pow)",
     minimax(near_zero(lambda z: (2 * mp.atanh(mp.sqrt(z)) / ln2 - c * mp.sqrt(z)) / mp.sqrt(z) ** 3, c / 3, 1e-12),
             mp.mpf(0), s_max**2, 3))
quarter = (mp.pi / 4 * mp.mpf("1.01")) ** 2
show("(sin(r)/r - 1) / r² in r²", minimax(near_zero(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -one / 6), mp.mpf(0), quarter, 3))
show("(cos(r) - 1 + r²/2) / r⁴ in r²", minimax(near_zero(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, one / 24), mp.mpf(0), quarter, 3))
show("(tanh(x)/x - 1) / x² in x²",
     minimax(near_zero(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -one / 3), mp.mpf(0), mp.mpf("0.63") ** 2, 5))
for degree in (6, 7):  # f32, f64
    show("erf(x)/x in x²", minimax(near_zero(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), 2 / mp.sqrt(mp.pi)), mp.mpf(0), mp.mpf("1.01"), degree))


def tail(u):  # (x + 3) exp(x²/2) ½ erfc(x/√2) with u = (x-3)/(x+3)
    x = 3 * (1 + u) / (1 - u)
    return mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2)) / 2 * (x + 3)


x_max = mp.mpf("14.6")
show("normal tail", minimax(tail, mp.mpf(-1), (x_max - 3) / (x_max + 3), 10, lambda u: 1 / tail(u)))


def rounded(x, bits):
    scale = mp.mpf(2) ** (bits - 1 - mp.floor(mp.log(abs(x), 2)))
    return mp.nint(x * scale) / scale


first = rounded(mp.pi / 2, 16)
second = rounded(mp.pi / 2 - first, 16)
print("π/2 =", first, "+", second, "+", mp.pi / 2 - first - second)
for name, value, bits in (("ln 2", ln2, 16), ("2√(2/π)", 2 * mp.sqrt(2 / mp.pi), 12),
                          ("2√(2/π) 0.044715", 2 * mp.sqrt(2 / mp.pi) * mp.mpf("0.044715"), 12),
                          ("1.702", mp.mpf("1.702"), 12), ("2/ln 2", c, 12)):
    high = rounded(value, bits)
    print(name, "=", high, "+", mp.nstr(value - high, 12))

show("(asin(x)/x - 1) / x² in x²",
     minimax(near_zero(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, one / 6), mp.mpf(0), mp.mpf("0.2501"), 4))
show("(atan(x)/x - 1) / x² in x²",
     minimax(near_zero(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -one / 3), mp.mpf(0), mp.mpf("1.001"), 8,
             lambda z: mp.sqrt(z) * z / mp.atan(mp.sqrt(z)) if z > 1e-9 else mp.mpf("1e-9")))
show("(sinh(x)/x - 1) / x² in x²",
     minimax(near_zero(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, one / 6), mp.mpf(0), mp.mpf("1.001"), 3))


def scaled_erfc(u):  # (x + 2) exp(x²) erfc(x) with u = (x-2)/(x+2)
    x = 2 * (1 + u) / (1 - u)
    return mp.exp(x * x) * mp.erfc(x) * (x + 2)


show("(x + 2) exp(x²) erfc(x) in (x-2)/(x+2)",
     minimax(scaled_erfc, (mp.mpf("0.49") - 2) / mp.mpf("2.49"), mp.mpf("8.2") / mp.mpf("12.2"), 9, lambda u: 1 / scaled_erfc(u)))


def scaled_tail(x):
    return mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2)) / 2


show("exp(x²/2) ½ erfc(x/√2) in 1 / (1 + x/4), for narrow results",
     minimax(lambda t: scaled_tail(4 * (1 / t - 1)), one / 3, mp.mpf(1), 5, lambda t: 1 / scaled_tail(4 * (1 / t - 1))))
show("erfinv(x)/x in x²",
     minimax(near_zero(lambda z: mp.erfinv(mp.sqrt(z)) / mp.sqrt(z), mp.sqrt(mp.pi) / 2, 1e-20), mp.mpf(0), mp.mpf("0.2501"), 6))


def erfinv_tail(s):  # erfinv(1 - exp(-s²)) / s
    y, target = s, mp.exp(-s * s)  # Newton on log erfc, from a guess
    for _ in range(60):
        e = mp.erfc(y)
        step = (mp.log(e) + s * s) * e / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y += step
        if abs(step) < mp.mpf(10) ** -32:
            break
    return y / s


def at_unit(u):  # s with u = (s-1)/(s+1)
    return (1 + u) / (1 - u)


show("erfinv(1 - exp(-s²)) / s in (s-1)/(s+1)",
     minimax(lambda u: erfinv_tail(at_unit(u)), mp.mpf("-0.17") / mp.mpf("1.83"), mp.mpf("3.17") / mp.mpf("5.17"), 8))


def lgamma_part(y):  # lgamma(2 + y) / (y (y + 1))
    if abs(y) < 1e-12:
        return mp.digamma(2)
    if abs(y + 1) < 1e-12:
        return -mp.digamma(1)
    return mp.loggamma(2 + y) / (y * (y + 1))


show("lgamma(2 + y) / (y (y + 1))", minimax(lgamma_part, mp.mpf("-1"), mp.mpf("1"), 12, lambda y: 1 / lgamma_part(y)))
show("x (lgamma(x) - (x - ½) log(x) + x - ½ log(2π)) in 1/x², x >= 8",
     minimax(lambda z: (mp.loggamma(1 / mp.sqrt(z)) - (1 / mp.sqrt(z) - 0.5) * mp.log(1 / mp.sqrt(z)) + 1 / mp.sqrt(z)
                        - mp.log(2 * mp.pi) / 2) / mp.sqrt(z) if z > 1e-7 else one / 12 - z / 360, mp.mpf(0), one / 63, 2))
root = mp.findroot(mp.digamma, 1.4616321449683623)


def digamma_part(x):  # x digamma(x) / (x - root)
    if abs(x) < 1e-12:
        return 1 / root
    if abs(x - root) < 1e-12:
        return root * mp.psi(1, root)
    return x * mp.digamma(x) / (x - root)


show("x digamma(x) / (x - root) in x - 2", minimax(lambda t: digamma_part(t + 2), mp.mpf(-1), mp.mpf(1), 9, lambda t: 1 / digamma_part(t + 2)))
show("x² (log(x) - 1/(2x) - digamma(x)) in 1/x², x >= 3",
     minimax(lambda z: (mp.log(1 / mp.sqrt(z)) - mp.sqrt(z) / 2 - mp.digamma(1 / mp.sqrt(z))) / z if z > 1e-7 else one / 12 - z / 120,
             mp.mpf(0), one / 8.9, 4))
# ---- For device_math.wgsl and random.wgsl. Those over t are there as neighbours of these, of a wider range or found by
# weighted least squares, whose rounded coefficients err less.
show("(2^r - 1) / r, degree 5", minimax(near_zero(lambda r: (mp.power(2, r) - 1) / r, ln2), -mp.mpf("0.502"), mp.mpf("0.502"), 5))


def scaled_complement(t, offset, scale, factor):  # erfc(x / scale) / (t exp2(factor x²)) with x = 1 / t - offset
    x = 1 / t - offset
    return mp.erfc(x / scale) / mp.power(2, mp.mpf(float(np.float32(factor))) * x * x) / t


for name, offset, scale, half, end in (("½ erfc(x/√2) / exp(-x²/2)", mp.mpf("2.925"), mp.sqrt(2), 2, "13.17"),
                                       ("erfc(x) / exp(-x²)", mp.mpf("2.06"), one, 1, "9.3")):
    part = lambda t: scaled_complement(t, offset, scale, -1 / ln2 / scale**2) / half  # noqa: B023, E731
    show(f"{name} over t = 1 / (x + {mp.nstr(offset, 4)})",
         minimax(part, 1 / (offset + mp.mpf(end)), 1 / offset, 8, lambda t: 1 / part(t)))  # noqa: B023

erf_part = lambda t: mp.erfc(2 / t - 2) * mp.exp((2 / t - 2) ** 2) / t  # noqa: E731
show("erfc(x) / exp(-x²) in t = 1 / (1 + x/2), over t, x above 1, weighted for erf's error",
     minimax(erf_part, 1 / (1 + mp.mpf("2.1")), mp.mpf(2) / 3 * mp.mpf("1.001"), 5, lambda t: mp.exp(-(2 / t - 2) ** 2) * t))


def erfinv_of_log(w):  # erfinv(x) / x with w = -log2(1 - x²)
    x = mp.sqrt(1 - mp.power(2, -w)) if w > 1e-20 else mp.mpf("1e-12")
    return mp.erfinv(x) / x


show("erfinv(x) / x in -log2(1 - x²)", minimax(erfinv_of_log, mp.mpf(0), mp.mpf("4.5") / ln2, 9, lambda w: 1 / erfinv_of_log(w)))
cot = lambda z: -mp.pi**2 / 3 if z < 1e-25 else (  # noqa: E731
    mp.pi * mp.sqrt(z) / mp.tan(mp.pi * mp.sqrt(z)) - 1) / z
show("(πr / tan(πr) - 1) / r² in r², weighted for the result",
     minimax(cot, mp.mpf(0), mp.mpf("0.25001"), 6, lambda z: mp.sqrt(z) + mp.mpf("0.1")))


def rational(f, low, high, above, below, points=120, rounds=14):
    """f by a quotient of polynomials of the degrees `above` and `below`, the latter's highest coefficient 1: least
    squares weighted by the last round's denominator (Sanathanan and Koerner) and by its errors (Lawson)."""
    xs = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * points)) for i in range(points)]
    fs = [f(x) for x in xs]
    weights, denominators = [mp.mpf(1)] * points, [mp.mpf(1)] * points
    best = None
    for step in range(rounds):
        matrix, right = mp.matrix(points, above + 1 + below), mp.matrix(points, 1)
        for i, x in enumerate(xs):
            w = mp.sqrt(weights[i]) / (fs[i] * denominators[i])
            for k in range(above + 1):
                matrix[i, k] = w * x**k
            for k in range(below):
                matrix[i, above + 1 + k] = -w * fs[i] * x**k
            right[i] = w * fs[i] * x**below
        solution = mp.lu_solve(matrix.T * matrix, matrix.T * right)
        top = [solution[k] for k in range(above + 1)]
        bottom = [solution[above + 1 + k] for k in range(below)] + [mp.mpf(1)]
        denominators = [mp.polyval(bottom[::-1], x) for x in xs]
        errors = [abs(mp.polyval(top[::-1], x) / d / v - 1) for x, d, v in zip(xs, denominators, fs)]
        if best is None or max(errors) < best[2]:
            best = (top, bottom, max(errors))
        if step >= 3:
            mean = sum(errors) / points
            weights = [w * (mp.mpf("0.2") + e / mean) for w, e in zip(weights, errors)]
            weights = [w * points / sum(weights) for w in weights]
    return best


def show_rational(name, result, constant, scale):
    """As constant + n / d, d times `scale`: both are chosen for what their roundings err by."""
    top, bottom, error = result
    rest = [scale * ((top[k] if k < len(top) else 0) - constant * bottom[k]) for k in range(len(bottom))]
    print(f"{name}: error 2^{float(mp.log(error, 2)):.1f}")
    print("  n", ", ".join(str(np.float32(float(c))) for c in rest))
    print("  d", ", ".join(str(np.float32(float(c * scale))) for c in bottom))


near_half = mp.mpf("0.5") * mp.mpf("0.999"), mp.mpf(3) * mp.mpf("1.0005")
show_rational("lgamma(t) / ((t - 1) (t - 2)) = 0.5089299 + n / d", rational(
    lambda t: mp.loggamma(t) / ((t - 1) * (t - 2)), *near_half, 4, 4), mp.mpf("0.5089299082756"), mp.mpf("1.77554077"))
top, bottom, error = rational(lambda t: t * mp.digamma(t) / (t - root), *near_half, 4, 3)
show_rational("digamma(t) / (t - root) = 0.7602508 + n / (t d)", (top, [mp.mpf(0)] + bottom, error), mp.mpf("0.7602508068085"),
              mp.mpf("0.7493988"))
print("digamma's root less its f32, times the slope there =",
      mp.nstr((root - rounded(root, 24)) * mp.psi(1, root), 8))
# ---- For results that are rounded to floats of 16 bits.
show("(log(1+t)/t - 1) / t, |t| below 1/16",
     minimax(near_zero(lambda t: (mp.log1p(t) / t - 1) / t, -one / 2), -one / 16 * mp.mpf("1.01"), one / 16 * mp.mpf("1.01"), 2))
show("((exp(x) - 1)/x - 1) / x, |x| below 1/8",
     minimax(near_zero(lambda x: (mp.expm1(x) / x - 1) / x, one / 2), -one / 8 * mp.mpf("1.01"), one / 8 * mp.mpf("1.01"), 2))
share = lambda z: max(z, mp.mpf("1e-9"))  # noqa: E731: of (f(x)/x - 1) / x² in f(x)/x
for name, f, limit, high, degree in (
        ("(sin(r)/r - 1) / r² in r², |r| to π/2", mp.sin, -one / 6, mp.pi / 2 * mp.mpf("1.002"), 2),
        ("(tan(r)/r - 1) / r² in r², |r| to π/4", mp.tan, one / 3, mp.pi / 4 * mp.mpf("1.002"), 3),
        ("(asin(x)/x - 1) / x² in x², |x| to ½", mp.asin, one / 6, mp.sqrt(mp.mpf("0.2505")), 2)):
    show(name, minimax(near_zero(lambda z, f=f: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, limit), mp.mpf(0), high**2, degree, share))
show("acos(a) / √(1-a)", minimax(lambda a: mp.acos(a) / mp.sqrt(1 - a) if a < 1 else mp.sqrt(2), mp.mpf(0), one, 4))
atan_share = near_zero(lambda z: mp.atan(mp.sqrt(z)) / mp.sqrt(z), one)
show("atan(t)/t in t²", minimax(atan_share, mp.mpf(0), mp.mpf("1.001"), 5, lambda z: 1 / atan_share(z)))
show("erf(x)/x in x², |x| to 0.8",
     minimax(near_zero(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), 2 / mp.sqrt(mp.pi)), mp.mpf(0), mp.mpf("0.64"), 3))
grown = lambda k: lambda t: mp.exp(((1 / t - 1) / k) ** 2) * mp.erfc((1 / t - 1) / k)  # noqa: E731
k = mp.mpf("0.6")
show("exp(x²) erfc(x) in t = 1 / (1 + 0.6 x), x from 0.8 on, weighted for erf's error",
     minimax(grown(k), 1 / (1 + 4 * k), 1 / (1 + mp.mpf("0.79") * k), 2, lambda t: mp.exp(-(((1 / t - 1) / k) ** 2))))
k = mp.mpf("0.5")
show("exp(x²) erfc(x) in t = 1 / (1 + x/2)",
     minimax(grown(k), 1 / (1 + mp.mpf("9.4") * k), one, 5, lambda t: 1 / grown(k)(t)))
powers = near_zero(lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) / ln2, 2 / ln2, 1e-20)
show("log2((1+q)/(1-q)) / q in q²", minimax(powers, mp.mpf(0), ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mp.mpf("1.002")) ** 2, 2, lambda z: ln2 / 2))
top, bottom, error = rational(erfinv_of_log, mp.mpf(0), mp.mpf("10.05"), 3, 2)
slope = top[3] / bottom[2]
level = (top[2] - slope * bottom[1]) / bottom[2]
print(f"erfinv(x) / x in w = -log2(1 - x²), level + slope w + n / d: error 2^{float(mp.log(error, 2)):.1f}")
print("  level, slope", np.float32(float(level)), np.float32(float(slope)))
print("  n", ", ".join(str(np.float32(float((top[i] - level * bottom[i] - (slope * bottom[i - 1] if i else 0)) / bottom[0])))
                     for i in range(2)))
print("  d", ", ".join(str(np.float32(float(b / bottom[0]))) for b in bottom))
half_turn = near_zero(lambda z: mp.sinpi(mp.sqrt(z) / 2) / mp.sqrt(z), mp.pi / 2, 1e-20)
show("sin(πt/2) / t in t²", minimax(half_turn, mp.mpf(0), one, 4, lambda z: 1 / half_turn(z)))
cosine = lambda z: mp.pi / 4 if abs(z - 1) < 1e-12 else mp.cospi(mp.sqrt(z) / 2) / (1 - z)  # noqa: E731
show("cos(πt/2) / (1 - t²) in t²", minimax(cosine, mp.mpf(0), one, 4, lambda z: 1 / cosine(z)))
# ---- For the CPU in double: relative errors of about 2^-32.
show("(sin(r)/r - 1) / r² in r², f64",
     minimax(near_zero(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -one / 6), mp.mpf(0), quarter, 4))
show("(cos(r) - 1 + r²/2) / r⁴ in r², f64",
     minimax(near_zero(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, one / 24, 1e-6), mp.mpf(0), quarter, 4))
show("(asin(x)/x - 1) / x² in x², f64",
     minimax(near_zero(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, one / 6), mp.mpf(0), mp.mpf("0.2501"), 7))
eighth = mp.tan(mp.pi / 8) * mp.mpf("1.001")
show("(atan(x)/x - 1) / x² in x², x <= tan(π/8), f64",
     minimax(near_zero(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -one / 3), mp.mpf(0), eighth**2, 6))
show("log((1+s)/(1-s)) / s in s², for powers, f64",
     minimax(lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) if z > 1e-14 else mp.mpf(2), mp.mpf(0), mp.mpf("0.0296"), 8))
show("erfinv(x)/x in x², f64",
     minimax(near_zero(lambda z: mp.erfinv(mp.sqrt(z)) / mp.sqrt(z), mp.sqrt(mp.pi) / 2, 1e-20), mp.mpf(0), mp.mpf("0.2501"), 9))
show("erfinv(1 - exp(-s²)) / s in (s-1)/(s+1), f64",
     minimax(lambda u: erfinv_tail(at_unit(u)), mp.mpf("-0.17") / mp.mpf("1.83"), mp.mpf("3.17") / mp.mpf("5.17"), 12))
show("lgamma(2 + y) / (y (y + 1)), f64", minimax(lgamma_part, mp.mpf("-1"), mp.mpf("1"), 18, lambda y: 1 / lgamma_part(y)))
show("x (lgamma(x) - (x - ½) log(x) + x - ½ log(2π)) in 1/x², x >= 3, f64",
     minimax(lambda z: (mp.loggamma(1 / mp.sqrt(z)) - (1 / mp.sqrt(z) - 0.5) * mp.log(1 / mp.sqrt(z)) + 1 / mp.sqrt(z)
                        - mp.log(2 * mp.pi) / 2) / mp.sqrt(z) if z > 1e-7 else one / 12 - z / 360, mp.mpf(0), one / mp.mpf("8.9"), 6))
show("x digamma(x) / (x - root) in x - 2, f64",
     minimax(lambda t: digamma_part(t + 2), mp.mpf(-1), mp.mpf(1), 13, lambda t: 1 / digamma_part(t + 2)))
show("x² (log(x) - 1/(2x) - digamma(x)) in 1/x², x >= 3, f64",
     minimax(lambda z: (mp.log(1 / mp.sqrt(z)) - mp.sqrt(z) / 2 - mp.digamma(1 / mp.sqrt(z))) / z if z > 1e-7 else one / 12 - z / 120,
             mp.mpf(0), one / mp.mpf("8.9"), 7))
show("sin(πr) / r in r², |r| <= ½, f64",
     minimax(near_zero(lambda z: mp.sin(mp.pi * mp.sqrt(z)) / mp.sqrt(z), mp.pi), mp.mpf(0), mp.mpf("0.2501"), 6,
             lambda z: one / (mp.sin(mp.pi * mp.sqrt(z)) / mp.sqrt(z)) if z > 1e-12 else 1 / mp.pi))
high = rounded(mp.pi / 2, 33)
print("π/2 =", float(high).hex(), "+", float(mp.pi / 2 - high).hex())
print("digamma's root, f64 =", float(root).hex())
print("digamma's root =", rounded(root, 24), "+", mp.nstr(root - rounded(root, 24), 12))
for name, value, bits in (("log10(2)", mp.log10(2), 14), ("log10(e)", mp.log10(mp.e), 12), ("π", mp.pi, 24), ("π/2", mp.pi / 2, 24)):
    high = rounded(value, bits)
    print(name, "=", high, "+", mp.nstr(value - high, 12))
mp.mp.dps = 120
print("2/π =", [hex(int(mp.floor(2 / mp.pi * mp.mpf(2) ** (32 * (k + 1)))) & 0xFFFFFFFF) for k in range(8)])


def stirling(r):  # a^(a - ½) exp(-a) / Γ(a) with a = 1 / r
    a = 1 / r if r > mp.mpf("1e-8") else mp.mpf("1e8")
    return mp.exp((a - one / 2) * mp.log(a) - a - mp.loggamma(a))


show("a^(a - ½) exp(-a) / Γ(a) in 1/a, a >= 1", minimax(stirling, mp.mpf(0), one, 6, lambda r: 1 / stirling(r)))

# ---- Bessel functions. J and Y from 2.5 on by √(πx/2) times their modulus, and x times what their phase differs by from
# x - (order + ½) π/2, over 1 / x² (Abramowitz and Stegun 9.2.17, 9.2.28, 9.2.29).
mp.mp.dps = 34
J, Y, I, K = mp.besselj, mp.bessely, mp.besseli, mp.besselk


def modulus(order):
    def f(z):
        if z < mp.mpf("1e-9"):
            return 1 + (4 * order**2 - 1) * z / 16
        x = 1 / mp.sqrt(z)
        return mp.sqrt((J(order, x) ** 2 + Y(order, x) ** 2) * mp.pi * x / 2)
    return f


def phase(order):
    def f(z):
        mu = 4 * order**2
        if z < mp.mpf("1e-9"):
            return (mu - 1) / mp.mpf(8) + z * (mu - 1) * (mu - 25) / 384
        x = 1 / mp.sqrt(z)
        c, s = mp.cos(x - (2 * order + 1) * mp.pi / 4), mp.sin(x - (2 * order + 1) * mp.pi / 4)
        return x * mp.atan2(Y(order, x) * c - J(order, x) * s, J(order, x) * c + Y(order, x) * s)
    return f


for n in (0, 1):
    show(f"√(πx/2) √(J{n}² + Y{n}²) in 1/x²", minimax(modulus(n), mp.mpf(0), mp.mpf("0.1601"), 6))
    show(f"x (phase - x + {2 * n + 1}π/4) in 1/x²",
         minimax(phase(n), mp.mpf(0), mp.mpf("0.1601"), 5, lambda z: mp.sqrt(z) + mp.mpf("1e-9")))
of_square = lambda f, limit: near_zero(lambda z: f(mp.sqrt(z)), limit, 1e-12)  # noqa: E731
near = mp.mpf("9.01")
show("(J0 - 1) / x² in x²", minimax(of_square(lambda x: (J(0, x) - 1) / x**2, -one / 4), mp.mpf(0), near, 5))
show("(J1/x - ½) / x² in x²", minimax(of_square(lambda x: (J(1, x) / x - one / 2) / x**2, -one / 16), mp.mpf(0), near, 5))
show("Y0 - 2/π log(x) J0 in x²",
     minimax(of_square(lambda x: Y(0, x) - 2 / mp.pi * mp.log(x) * J(0, x), 2 / mp.pi * (mp.euler - ln2)), mp.mpf(0), near, 6))
show("(Y1 - 2/π (log(x) J1 - 1/x)) / x in x²",
     minimax(of_square(lambda x: (Y(1, x) - 2 / mp.pi * (mp.log(x) * J(1, x) - 1 / x)) / x, (mp.euler - ln2 - one / 2) / mp.pi),
             mp.mpf(0), near, 6))
near = mp.mpf("1.002")
show("(I0 - 1) / x² in x²", minimax(of_square(lambda x: (I(0, x) - 1) / x**2, one / 4), mp.mpf(0), near, 3))
show("(I1/x - ½) / x² in x²", minimax(of_square(lambda x: (I(1, x) / x - one / 2) / x**2, one / 16), mp.mpf(0), near, 3))
show("K0 + log(x) I0 in x²",
     minimax(of_square(lambda x: K(0, x) + mp.log(x) * I(0, x), ln2 - mp.euler), mp.mpf(0), near, 4))
show("(K1 - log(x) I1 - 1/x) / x in x²",
     minimax(of_square(lambda x: (K(1, x) - mp.log(x) * I(1, x) - 1 / x) / x, (2 * mp.euler - 2 * ln2 - 1) / 4), mp.mpf(0), near, 4))
for n in (0, 1):
    far = lambda w, n=n: (K(n, 1 / w) * mp.exp(1 / w) / mp.sqrt(w) if w > mp.mpf("1e-6")  # noqa: E731
                          else mp.sqrt(mp.pi / 2) * (1 + (4 * n * n - 1) * w / 8))
    show(f"√x exp(x) K{n} in 1/x", minimax(far, mp.mpf(0), near, 9, lambda w, f=far: 1 / f(w)))
