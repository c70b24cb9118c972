"""Random numbers of distributions, for tests/kernels/cpu_kernels_reference_test.cc (cases.json: the numbers that kernels
draw from Threefry's bits, by SciPy's inverse distribution functions and the papers' rejections, in f64) and
tests/functions/distributions_test.cc (distributions.json: the probabilities between quantiles, and moments, by SciPy):
writes tests/data/distributions."""
import fractions
import json
import pathlib

import numpy as np
import mpmath
from scipy import special, stats
import cpu_kernel_cases
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "distributions"
OUT.mkdir(parents=True, exist_ok=True)
KEY = T("u32", [0x12345678, 0x9ABCDEF0])
FLOATS = ("f32", "f16", "bf16")
MASK = 0xFFFFFFFF


# ---- From bits to uniform numbers, as include/weft/kernels/random.h says.
def words(first, second):
    """Threefry-2x32 with 20 rounds of the counter, by the paper."""
    k = [int(n) for n in KEY.values]
    k.append(k[0] ^ k[1] ^ 0x1BD11BDA)
    x = [(first + k[0]) & MASK, (second + k[1]) & MASK]
    for r in range(20):
        x[0] = (x[0] + x[1]) & MASK
        n = (13, 15, 26, 6, 17, 29, 16, 24)[r % 8]
        x[1] = (((x[1] << n) | (x[1] >> (32 - n))) & MASK) ^ x[0]
        if r % 4 == 3:
            j = r // 4 + 1
            x = [(x[0] + k[j % 3]) & MASK, (x[1] + k[(j + 1) % 3] + j) & MASK]
    return x


def fraction(w):
    """24 significant bits of w / 2^32; 2^-33 for 0."""
    return (w >> max(w.bit_length() - 24, 0) << max(w.bit_length() - 24, 0) or 0.5) / 2.0**32


def signed(w):
    """The sign and the magnitude."""
    return (-1 if w >> 31 else 1), fraction((w << 1) & MASK)


def exponential(w):
    sign, a = signed(w)
    return -np.log(a / 2) if sign < 0 else -np.log1p(-a / 2)


def normal(w):
    sign, a = signed(w)
    return sign * -special.ndtri(a / 2)


# ---- Rejections
def gamma(i, a):
    """The logarithm. Marsaglia and Tsang, 2000."""
    if not a >= 0 or a == np.inf or a == 0:
        return np.log(a)
    d = (a + 1 if a < 1 else a) - 1 / 3
    for attempt in range(64):
        w = words(i, attempt)
        x, u = normal(w[0]), fraction(w[1])
        v = (1 + x / np.sqrt(9 * d))**3
        if v > 0 and (u < 1 - 0.0331 * x**4 or np.log(u) < x * x / 2 + d - d * v + d * np.log(v)):
            break
    return np.log(d * v) - (exponential(words(i, 255)[0]) / a if a < 1 else 0)


def digits_after(digits, x):
    """The binary digits of an integer of x's size behind the first `digits` + 1, as a mask."""
    return (1 << max(int(np.frexp(x)[1]) - 1 - digits, 0)) - 1


def transformed(i, a, b, mean, centre, inner, quick, last=None):
    """Hörmann, 1993: PTRS and BTRS, of a mean that is an integer and a fraction. quick(k - mean, k, v · h / (a / us² +
    b)): whether k is accepted. Digits that f32 lacks for wide distributions are those of another word."""
    gap = digits_after(21, b)
    fill = (words(i, 254)[0] & gap) - gap // 2
    whole, rest = int(mean[0]), mean[1]
    for attempt in range(64):
        w = words(i, attempt)
        sign, two_edges = signed(w[0])
        edge, v = two_edges / 2, fraction(w[1])
        off = int(np.floor((2 * a / edge + b) * sign * (0.5 - edge) + rest + centre))
        if not (edge >= 0.07 and v <= inner):
            if whole + off < 0 or (edge < 0.013 and v > edge):
                continue
            if not quick(off - rest, whole + off, v / (a / edge**2 + b)):
                continue
        k = max(whole + off + fill, 0)
        return k if last is None else min(k, last)
    raise ValueError("no attempt was accepted")


def log_poisson(d, k, mean):
    """The logarithm of the probability of k, d above the mean, which may be past f64's integers."""
    if mean < 1e9:
        return stats.poisson.logpmf(k, mean)
    x = d / mean
    return -mean * (x**2 / 2 - x**3 / 6 + x**4 / 12) - np.log(2 * np.pi * float(k)) / 2


def log_binomial(d, k, n, p):
    if n * p < 1e9:
        return stats.binom.logpmf(k, n, p)
    return log_poisson(d, k, n * p) + log_poisson(-d, n - k, n * (1 - p)) + np.log(2 * np.pi * n) / 2


def poisson(i, rate):
    """None: without a distribution; infinity: past all integers."""
    if not rate >= 0:
        return None
    if rate >= 2.0**63:
        return rate
    if rate < 10:
        return stats.poisson.isf(fraction(words(i, 0)[0]), rate)
    b = 0.931 + 2.53 * np.sqrt(rate)
    height = 1.1239 + 1.1328 / (b - 3.4)
    return transformed(i, -0.059 + 0.02483 * b, b, (np.floor(rate), rate % 1), 0.43, 0.9277 - 3.6224 / (b - 2),
                       lambda d, k, v: np.log(v * height) <= log_poisson(d, k, rate))


def binomial(i, n, p):
    n = int(n)
    if not 0 <= p <= 1 or n < 0:
        return None
    if p > 0.5:
        return n - binomial(i, n, 1 - p)
    if n * p < 10:
        return stats.binom.isf(fraction(words(i, 0)[0]), n, p) if n and p else 0
    deviation = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    height = (2.83 + 5.1 / b) * deviation
    exact = n * fractions.Fraction(float(p))
    whole, rest = exact.numerator // exact.denominator, float(exact % 1)
    first = int(rest + p)
    mode = log_binomial(first - rest, whole + first, n, p)
    return transformed(i, -0.0873 + 0.0248 * b + 0.01 * p, b, (whole, rest), 0.5, 0.92 - 4.2 / b,
                       lambda d, k, v: k <= n and np.log(v * height) + mode <= log_binomial(d, k, n, p), n)


def geometric(i, p):
    if not 0 <= p <= 1:
        return None
    if p == 0:
        return np.inf
    if p == 1:
        return 1
    y = np.floor(exponential(words(i, 0)[0]) / -np.log1p(-p))
    if y >= 2.0**63:
        return y
    w = words(i, 254)
    return int(y) + ((w[0] | w[1] << 32) & digits_after(22, y)) + 1


def categorical(row, x):
    if np.isnan(x).any() or (x == -np.inf).all():
        return -1
    if (x == np.inf).any():
        return int(np.argmax(x))
    u = [fraction(words(i // 2, row)[i % 2]) for i in range(x.size)]
    return int(np.argmax(x - x.max() - np.log(-np.log1p(-np.array(u)))))


mp = mpmath.mp.clone()
mp.dps = 40


def gamma_gradient(a, x):
    """-(dF/da) / (dF/dx) of gamma's distribution function, by differences of 40 digits."""
    if not a > 0 or np.isnan(x):
        return np.nan
    if x == 0:
        return 0
    a, x, h = mp.mpf(a), mp.mpf(x), mp.mpf(a) * mp.mpf(10)**-12
    def below(t):
        return mp.gammainc(t, 0, x, regularized=True) if x < a else -mp.gammainc(t, x, mp.inf, regularized=True)
    density = mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))
    return float(-(below(a + h) - below(a - h)) / (2 * h) / density)


# ---- The kernels
def elements(f, *parameters):
    parameters = np.broadcast_arrays(*parameters)
    y = [f(i, *p) for i, p in enumerate(zip(*(v.ravel() for v in parameters)))]
    return np.reshape(np.array(y, object), parameters[0].shape)


def in_type(k, type):
    """A count, the largest of its type at most."""
    if type == "f32":
        return np.nan if k is None else float(k)
    return -1 if k is None else int(min(k, 2**(int(type[1:]) - 1) - 1))


def drawn(kernel, f, parameters, shape, type="i32", attributes=None, **tolerance):
    y = elements(f, *(np.broadcast_to(p.values, shape) for p in parameters))
    if "gamma" not in kernel:
        y = np.vectorize(lambda k: in_type(k, type), otypes=[object if type[0] == "i" else float])(y)
    case(kernel, [KEY, *parameters], [T(type, y)], attributes, **tolerance)


w = [words(i // 2, 0)[i % 2] for i in range(77)]
case("random_signed_uniform", [KEY], [T("f32", [np.prod(signed(n)) for n in w])])
for type in FLOATS:
    edges = T(type, [0, -0.0, np.inf, -1, np.nan, 1e-3, 0.02, 0.3, 1, 1.5, 4, 100, 3e4])
    for result in FLOATS if type == "f32" else (type,):
        near = {"ulp": 1, "relative": 1e-5} if result == "f32" else {"ulp": 1, "absolute": 6e-8 if result == "f16" else 0}
        drawn("random_gamma", lambda i, a: np.exp(gamma(i, a)), [edges], (9, 13), result, **near)
        near["absolute"] = 3e-6
        drawn("random_gamma", gamma, [edges], (9, 13), result, {"logarithm": 1}, **near)
    rates = T(type, [0, -0.0, -1, np.nan, np.inf, 1e-4, 0.1, 1, 3.3, 9.7, 10, 17.5, 120, 4000, 6e4])
    for result in ("i32", "i64", "f32"):
        drawn("random_poisson", poisson, [rates], (9, 15), result)
    p = T(type, [0, -0.0, -0.1, np.nan, 1, 1.5, 1e-4, 0.03, 0.2, 0.5, 0.75, 0.99])
    for result, trials in (("i32", "i32"), ("i64", "i32"), ("i32", "i64"), ("f32", "i32")):
        n = T(trials, np.array([-1, 0, 1, 7, 30, 1000, 120000])[:, None])
        drawn("random_binomial", binomial, [n, p], (7, 12), result)
    for result in ("i32", "i64", "f32"):
        drawn("random_geometric", geometric, [p], (9, 12), result)
    for shape, axis in (((9, 1), 1), ((40, 2), -1), ((3, 17, 5), 1), ((7, 300), 1), ((2, 1501), 1)):
        x = rng.normal(0, 2, shape)
        x[0][..., 0] = -np.inf
        x = T(type, x)
        rows = np.moveaxis(x.values, axis, -1)
        y = [categorical(i, r) for i, r in enumerate(rows.reshape(-1, rows.shape[-1]))]
        case("random_categorical", [KEY, x], [T("i32", np.reshape(y, rows.shape[:-1]))], {"axis": axis})
    x = T(type, [[0, np.nan, np.inf], [-np.inf, np.inf, 1], [-np.inf] * 3, [-np.inf, -np.inf, 1], [np.inf, np.inf, 0]])
    case("random_categorical", [KEY, x], [T("i32", [-1, 1, -1, 2, 0])], {"axis": -1})
for type in FLOATS:
    a = T(type, np.array([0, -1, np.nan, 1e-3, 0.05, 0.4, 1, 1.7, 6, 15, 29, 31, 90, 1000])[:, None])
    x = np.array(special.gammaincinv(np.where(a.values > 0, a.values, 1), [1e-5, 0.01, 0.2, 0.5, 0.8, 0.97, 0.999, 1 - 1e-6]))
    x[5, 0], x[6, 0] = 0, np.nan
    near = {"ulp": 1, "relative": 2e-5} if type == "f32" else {"ulp": 2}
    x = T(type, x)
    d = np.vectorize(gamma_gradient)(*np.broadcast_arrays(a.values, x.values))
    case("random_gamma_gradient", [a, x], [T(type, d)], **near)
    logs = T(type, np.log(np.where(x.values > 0, x.values, 1e-3)))
    samples = np.exp(logs.values)
    d = np.vectorize(gamma_gradient)(*np.broadcast_arrays(a.values, samples)) / samples
    case("random_gamma_gradient", [a, logs], [T(type, d)], {"logarithm": 1}, **near)
drawn("random_poisson", poisson, [T("f32", [1e6, 1e7, 2.0**30, 2.0**31 + 2.0**18, 1e30])], (20, 5))

# Counts past 2^31, as floats: that those of integers have their digits, the distributions below say.
drawn("random_poisson", poisson, [T("f32", [3e9, 1e12, 1e15, 9.2e18, 2.0**63, 1e30, 3e38, np.inf])], (20, 8), "f32", ulp=1)
n = T("i64", [3 * 10**9, 10**12, 2**63 - 1, 5])
drawn("random_binomial", binomial, [n, T("f32", [0.4, 0.9, 0.3, 0.5])], (20, 4), "f32", ulp=1)
drawn("random_geometric", geometric, [T("f32", [1e-8, 1e-10, 1e-15, 1e-19, 1e-30, 0, 1, -1, np.nan])], (20, 9), "f32", relative=2e-6)

# Categories of logits of any size: the noise keeps its digits.
for size, more in ((1e4, (0, 0.64, -1.28)), (1e7, (0, 1, -1)), (1e8, (0, 0, -8)), (-1e8, (0, 0, -8)), (3e38, (0, 0, 0))):
    x = T("f32", [size + np.array(more)] * 60)
    y = [categorical(i, r) for i, r in enumerate(x.values)]
    case("random_categorical", [KEY, x], [T("i32", y)], {"axis": -1})

# Integers of ranges past 2^32: the upper half of 128 bits times the range.
for type, low, high in (("i64", -2**63, 2**63), ("i64", -5, 2**62), ("i64", -2**40, 2**40 + 1), ("u64", 0, 2**64), ("u64", 7, 2**63 + 11)):
    y = []
    for i in range(40):
        upper, lower = words(i, 0), words(i, 1 << 31)
        v = upper[1] << 96 | upper[0] << 64 | lower[1] << 32 | lower[0]
        y.append(low + (v * (high - low) >> 128))
    case("random_integers", [KEY], [T(type, y)], {"low": low, "high": float(high) if high == 2**64 else high})

np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
lines = (json.dumps(c, separators=(",", ":")) for c in cpu_kernel_cases.cases)
(OUT / "cases.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
print("cases", len(cpu_kernel_cases.cases), len(cpu_kernel_cases.bytes_), "bytes")


# ---- Distributions
TAILS = [1e-6, 1e-5, 1e-4, 1e-3, 5e-3]
LEVELS = np.array(TAILS + list(np.arange(1, 64) / 64) + [1 - t for t in TAILS[::-1]])
entries = []


def distribution(function, parameters, d, low=-np.inf, high=np.inf, moments=True):
    """Edges below which results have the probabilities of d, of the parameters as f32 has them, and moments; below `low`
    and above `high` results count as one, since f32 has no digits there."""
    whole = isinstance(d.dist, stats.rv_discrete)
    edges = np.unique(d.ppf(LEVELS))
    edges = edges[(edges > low) & (edges < high)] + (0.5 if whole else 0)
    below = d.cdf(edges)
    p = np.diff(np.concatenate([[0], below, [1]]))
    p[below.size // 2 + 1:] = -np.diff(np.concatenate([d.sf(edges), [0]]))[below.size // 2:]
    entry = {"function": function, "parameters": parameters, "edges": list(edges), "probabilities": list(p)}
    if moments:
        mean, variance, _, kurtosis = (float(m) for m in d.stats("mvsk"))
        entry |= {"mean": mean, "variance": variance, "kurtosis": kurtosis}
    entries.append(entry)


def f32(v):
    return float(np.float32(v))


distribution("gumbel", [-1, 2], stats.gumbel_r(-1, 2))
distribution("laplace", [3, 0.5], stats.laplace(3, 0.5))
distribution("cauchy", [0.5, 2], stats.cauchy(0.5, 2), moments=False)
distribution("logistic", [0, 3], stats.logistic(0, 3))
distribution("exponential", [2.5], stats.expon(0, 2.5))
distribution("normal", [1, 2], stats.norm(1, 2))
for low, high, mean, deviation in ((-1, 2, 0, 1), (-np.inf, np.inf, 0, 1), (1, 2, 3, 0.5), (4, np.inf, 0, 1),
                                   (-30, -20, 2, 4), (-0.1, 0.3, 0, 1), (9, 9.5, 0, 1)):
    d = stats.truncnorm((low - mean) / deviation, (high - mean) / deviation, mean, deviation)
    bounds = np.clip([low, high], -3e38, 3e38)
    distribution("truncated_normal", [*map(f32, bounds), mean, deviation], d, moments=False)
for a in (1e-3, 0.02, 0.3, 1, 1.7, 8, 300, 1e5):
    distribution("gamma", [f32(a), 2], stats.gamma(f32(a), 0, 2), low=1e-30)
    distribution("log_gamma", [f32(a)], stats.loggamma(f32(a)))
for a, b in ((0.5, 0.5), (0.01, 0.02), (2, 5), (30, 1), (1, 1)):
    distribution("beta", [f32(a), f32(b)], stats.beta(f32(a), f32(b)), low=1e-30, high=1 - 1e-5, moments=a > 0.1)
distribution("dirichlet", [0.5, 2, 3, 1.5], stats.beta(0.5, 6.5))
for k in (0.5, 1, 7):
    distribution("chi_square", [k], stats.chi2(k))
for k in (0.7, 3, 30):
    distribution("student_t", [f32(k), 1, 2], stats.t(f32(k), 1, 2), moments=k > 5)
for rate in (1e-3, 0.4, 1, 4.2, 9.99, 10, 33.3, 1000, 1e6, 1e9):
    distribution("poisson", [f32(rate)], stats.poisson(f32(rate)))
# So many that they are as good as normally distributed, or exponentially.
for rate in (3e9, 1e13, 1e18):
    distribution("poisson_i64", [f32(rate)], stats.norm(f32(rate), np.sqrt(f32(rate))))
for n, p in ((10**10, 0.3), (4 * 10**18, 0.75)):
    deviation = np.sqrt(n * f32(p) * (1 - f32(p)))
    distribution("binomial_i64", [n, f32(p)], stats.norm(n * f32(p), deviation))
for p in (1e-8, 1e-10, 1e-16):
    distribution("geometric_i64", [f32(p)], stats.expon(0, 1 / f32(p)))
for n, p in ((1, 0.3), (12, 0.5), (25, 0.5), (40, 0.9), (300, 0.02), (1000, 0.4), (100000, 0.999), (16000000, 0.3), (2000000000, 1e-9)):
    distribution("binomial", [n, f32(p)], stats.binom(n, f32(p)))
for p in (0.95, 0.3, 0.01, 1e-5):
    distribution("geometric", [f32(p)], stats.geom(f32(p)))
for n in (5, 100):
    weights = np.arange(1, n + 1)
    d = stats.rv_discrete(values=(np.arange(n), weights / weights.sum()))
    distribution("categorical", [n], d(), moments=False)
    distribution("searched", [n], d(), moments=False)
for n in (1, 6, 5000):
    for which in (0, 2, 4):
        distribution("multinomial", [n, which], stats.binom(n, (0.05, 0, 0.4, 0.5, 0.05)[which]))
(OUT / "distributions.json").write_text("[\n" + ",\n".join(json.dumps(e, separators=(",", ":")) for e in entries) + "\n]\n")
print("distributions", len(entries))
