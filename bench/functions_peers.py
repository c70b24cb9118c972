#!/usr/bin/env python3
"""Times every function of `weft_bench functions` on the cpu beside NumPy, SciPy and PyTorch, one thread each, in one run.

  OMP_NUM_THREADS=1 functions_peers.py [--bench build/release/bench/weft_bench] [--only NAME] [--seconds 0.1]

Prints a line a function, those first that take Weft the most times as long as the fastest peer: microseconds, the
least of many calls. "fixed" is what Weft takes for tensors of 400 elements, most of it the cost of an evaluation.
Without --bench the peers alone are timed. Processes run on one core, which limits the threads of all.
"""
import argparse
import json
import os
import subprocess
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import scipy.fft  # noqa: E402
import scipy.linalg  # noqa: E402
import scipy.ndimage  # noqa: E402
import scipy.signal  # noqa: E402
import scipy.special as sp  # noqa: E402
import scipy.stats  # noqa: E402

try:
    import torch
    import torch.nn.functional as F
    torch.set_num_threads(1)
except ImportError:
    torch = None

COUNT = 100_000


def cases():
    """(name, NumPy's, SciPy's, PyTorch's function): each None where there is none."""
    rng = np.random.default_rng(7)
    f32 = np.float32

    def normal(*shape):
        return rng.standard_normal(shape, dtype=f32)

    def tensors(*arrays):
        return [torch.from_numpy(np.ascontiguousarray(a)) if torch else None for a in arrays]

    x, y = normal(COUNT), normal(COUNT)
    p, q = rng.uniform(0.01, 0.99, COUNT).astype(f32), rng.uniform(0.1, 10, COUNT).astype(f32)
    gaps = np.where(p < 0.02, f32(np.nan), x)
    numbers, others = rng.integers(0, 100, COUNT, np.int32), rng.integers(1, 1000, COUNT, np.int32)
    longs = numbers.astype(np.int64)
    mask, other_mask = x > 0, y > 0
    z = (x + 1j * y).astype(np.complex64)
    rows, columns = x.reshape(-1, 100), x.reshape(100, -1)
    tx, ty, tp, tq, tgaps, tnumbers, tothers, tlongs, tmask, tother, tz, trows, tcolumns = tensors(
        x, y, p, q, gaps, numbers, others, longs, mask, other_mask, z, rows, columns)

    # ---- elementwise
    for name, of in {"neg": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square, "reciprocal": np.reciprocal,
                     "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "round": np.rint, "exp": np.exp, "exp2": np.exp2,
                     "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan, "sinh": np.sinh,
                     "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "erf": None, "erfc": None, "cbrt": np.cbrt,
                     "is_nan": np.isnan, "is_inf": np.isinf, "is_finite": np.isfinite, "signbit": np.signbit}.items():
        t = getattr(torch, {"is_nan": "isnan", "is_inf": "isinf", "is_finite": "isfinite"}.get(name, name), None) if torch else None
        yield (name, of and (lambda of=of: of(x)), (lambda name=name: getattr(sp, name)(x)) if name.startswith("erf") else None,
               t and (lambda t=t: t(tx)))
    if torch:
        shrink = {"sigmoid": torch.sigmoid, "logsigmoid": F.logsigmoid, "softplus": F.softplus, "mish": F.mish, "relu": torch.relu,
                  "silu": F.silu, "gelu_erf": F.gelu, "gelu_tanh": lambda v: F.gelu(v, approximate="tanh"), "relu6": F.relu6,
                  "hardtanh": F.hardtanh, "leaky_relu": F.leaky_relu, "elu": F.elu, "selu": F.selu, "celu": F.celu,
                  "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish, "softsign": F.softsign, "hardshrink": F.hardshrink,
                  "softshrink": F.softshrink, "threshold": lambda v: F.threshold(v, 0, 0)}
        for name, of in shrink.items():
            yield name, None, None, lambda of=of: of(tx)
    for name, (of, s) in {"sqrt": (np.sqrt, None), "rsqrt": (lambda v: 1 / np.sqrt(v), None), "log": (np.log, None),
                          "log2": (np.log2, None), "log10": (np.log10, None), "log1p": (np.log1p, None),
                          "lgamma": (None, sp.gammaln), "digamma": (None, sp.digamma)}.items():
        t = getattr(torch, name) if torch else None
        yield name, of and (lambda of=of: of(q)), s and (lambda s=s: s(q)), t and (lambda t=t: t(tq))
    for name, (of, s) in {"asin": (np.arcsin, None), "acos": (np.arccos, None), "atanh": (np.arctanh, None),
                          "erfinv": (None, sp.erfinv)}.items():
        t = getattr(torch, name) if torch else None
        yield name, of and (lambda of=of: of(p)), s and (lambda s=s: s(p)), t and (lambda t=t: t(tp))
    yield "acosh", lambda: np.arccosh(q + 1), None, torch and (lambda: torch.acosh(tq + 1))
    binary = {"add": (np.add, "add"), "sub": (np.subtract, "sub"), "mul": (np.multiply, "mul"), "div": (np.divide, "div"),
              "rem": (np.fmod, "fmod"), "remainder": (np.remainder, "remainder"), "floor_divide": (np.floor_divide, "floor_divide"),
              "min": (np.minimum, "minimum"), "max": (np.maximum, "maximum"), "fmin": (np.fmin, "fmin"), "fmax": (np.fmax, "fmax"),
              "atan2": (np.arctan2, "atan2"), "hypot": (np.hypot, "hypot"), "copysign": (np.copysign, "copysign"),
              "nextafter": (np.nextafter, "nextafter"), "logaddexp": (np.logaddexp, "logaddexp"), "equal": (np.equal, "eq"),
              "less": (np.less, "lt")}
    for name, (of, t) in binary.items():
        t = getattr(torch, t) if torch else None
        yield name, lambda of=of: of(x, y), None, t and (lambda t=t: t(tx, ty))
    yield "pow", lambda: np.power(q, y), None, torch and (lambda: torch.pow(tq, ty))
    yield "clamp", lambda: np.clip(x, -1, 1), None, torch and (lambda: torch.clamp(tx, -1, 1))
    yield "fma", lambda: x * y + p, None, torch and (lambda: torch.addcmul(tp, tx, ty))
    yield "lerp", None, None, torch and (lambda: torch.lerp(tx, ty, tp))
    yield "select", lambda: np.where(mask, x, y), None, torch and (lambda: torch.where(tmask, tx, ty))
    yield "logical_and", lambda: mask & other_mask, None, torch and (lambda: tmask & tother)
    yield "logical_not", lambda: ~mask, None, torch and (lambda: ~tmask)
    integers = {"add": (np.add, "add"), "mul": (np.multiply, "mul"), "div": (np.floor_divide, None),
                "floor_divide": (np.floor_divide, "floor_divide"), "remainder": (np.remainder, "remainder"),
                "min": (np.minimum, "minimum"), "less": (np.less, "lt"), "gcd": (np.gcd, "gcd"), "lcm": (np.lcm, "lcm"),
                "bitwise_and": (np.bitwise_and, "bitwise_and"), "shift_left": (np.left_shift, "bitwise_left_shift")}
    for name, (of, t) in integers.items():
        t = getattr(torch, t) if torch and t else None
        yield f"{name} i32", lambda of=of: of(numbers, others), None, t and (lambda t=t: t(tnumbers, tothers))
    yield "add i64", lambda: longs + longs, None, torch and (lambda: tlongs + tlongs)
    yield "bitwise_not i32", lambda: ~numbers, None, torch and (lambda: ~tnumbers)
    yield "popcount i32", lambda: np.bitwise_count(numbers), None, None
    for name, of, to in (("i32 to f32", numbers, "float32"), ("f32 to i32", x, "int32"), ("f32 to f64", x, "float64"),
                         ("f32 to f16", x, "float16"), ("i32 to i64", numbers, "int64"), ("bool to f32", mask, "float32"),
                         ("f32 to bool", x, "bool")):
        t = tensors(of)[0]
        yield (f"cast {name}", lambda of=of, to=to: of.astype(to), None,
               torch and (lambda t=t, to=to: t.to(getattr(torch, to))))
    yield "complex", lambda: x + 1j * y, None, torch and (lambda: torch.complex(tx, ty))
    yield "real", lambda: z.real.copy(), None, torch and (lambda: tz.real.clone())
    for name, of, t in (("angle", np.angle, "angle"), ("abs c64", np.abs, "abs"), ("conj", np.conj, "conj_physical"),
                        ("exp c64", np.exp, "exp")):
        t = getattr(torch, t) if torch else None
        yield name, lambda of=of: of(z), None, t and (lambda t=t: t(tz))
    yield "add c64", lambda: z + z, None, torch and (lambda: tz + tz)
    yield "mul c64", lambda: z * z, None, torch and (lambda: tz * tz)
    yield "div c64", lambda: z / z, None, torch and (lambda: tz / tz)
    wide, half = x.astype(np.float64), x.astype(np.float16)
    twide, thalf = tensors(wide, half)
    yield "add f64", lambda: wide + wide, None, torch and (lambda: twide + twide)
    yield "exp f64", lambda: np.exp(wide), None, torch and (lambda: torch.exp(twide))
    yield "sin f64", lambda: np.sin(wide), None, torch and (lambda: torch.sin(twide))
    yield "add f16", lambda: half + half, None, torch and (lambda: thalf + thalf)
    yield "exp f16", lambda: np.exp(half), None, torch and (lambda: torch.exp(thalf))
    yield "sum f64", lambda: wide.sum(), None, torch and (lambda: twide.sum())
    yield "sum f16", lambda: half.sum(), None, torch and (lambda: thalf.sum())
    yield "sort f64", lambda: np.sort(wide), None, torch and (lambda: torch.sort(twide).values)

    # ---- special
    five = np.abs(x) * 5
    tfive, = tensors(five)
    yield "sinc", lambda: np.sinc(x), None, torch and (lambda: torch.sinc(tx))
    yield "xlogy", None, lambda: sp.xlogy(q, p), torch and (lambda: torch.xlogy(tq, tp))
    yield "xlog1py", None, lambda: sp.xlog1py(q, p), torch and (lambda: torch.special.xlog1py(tq, tp))
    yield "entr", None, lambda: sp.entr(q), torch and (lambda: torch.special.entr(tq))
    yield "logit", None, lambda: sp.logit(p), torch and (lambda: torch.logit(tp))
    yield "ndtr", None, lambda: sp.ndtr(x), torch and (lambda: torch.special.ndtr(tx))
    yield "log_ndtr", None, lambda: sp.log_ndtr(x), torch and (lambda: torch.special.log_ndtr(tx))
    yield "ndtri", None, lambda: sp.ndtri(p), torch and (lambda: torch.special.ndtri(tp))
    yield "polygamma 1", None, lambda: sp.polygamma(1, q), torch and (lambda: torch.polygamma(1, tq))
    yield "polygamma 3", None, lambda: sp.polygamma(3, q), torch and (lambda: torch.polygamma(3, tq))
    yield "gammainc", None, lambda: sp.gammainc(q, five), torch and (lambda: torch.special.gammainc(tq, tfive))
    yield "gammaincc", None, lambda: sp.gammaincc(q, five), torch and (lambda: torch.special.gammaincc(tq, tfive))
    yield "betainc", None, lambda: sp.betainc(q, f32(2), p), None
    yield "gammaincinv", None, lambda: sp.gammaincinv(q, p), None
    yield "betaincinv", None, lambda: sp.betaincinv(q, f32(2), p), None
    yield "j0", None, lambda: sp.j0(x), torch and (lambda: torch.special.bessel_j0(tx))
    yield "k0", None, lambda: sp.k0(np.abs(x)), torch and (lambda: torch.special.modified_bessel_k0(tx.abs()))
    for name in ("i0", "i0e", "i1", "i1e"):
        t = getattr(torch.special, name) if torch else None
        yield name, None, lambda name=name: getattr(sp, name)(x), t and (lambda t=t: t(tx))

    # ---- reductions
    yield "sum", lambda: x.sum(), None, torch and (lambda: tx.sum())
    yield "prod", lambda: x.prod(), None, torch and (lambda: tx.prod())
    yield "mean", lambda: x.mean(), None, torch and (lambda: tx.mean())
    yield "reduce max", lambda: x.max(), None, torch and (lambda: tx.max())
    yield "reduce min", lambda: x.min(), None, torch and (lambda: tx.min())
    yield "variance", lambda: x.var(), None, torch and (lambda: tx.var(correction=0))
    yield "deviation", lambda: x.std(), None, torch and (lambda: tx.std(correction=0))
    yield "any", lambda: (mask & ~mask).any(), None, torch and (lambda: (tmask & ~tmask).any())
    yield "all", lambda: (mask | ~mask).all(), None, torch and (lambda: (tmask | ~tmask).all())
    yield "count_nonzero", lambda: np.count_nonzero(x), None, torch and (lambda: torch.count_nonzero(tx))
    yield "argmax", lambda: x.argmax(), None, torch and (lambda: tx.argmax())
    yield "argmin", lambda: x.argmin(), None, torch and (lambda: tx.argmin())
    yield "log_sum_exp", None, lambda: sp.logsumexp(x), torch and (lambda: torch.logsumexp(tx, 0))
    yield "sum i32", lambda: numbers.sum(), None, torch and (lambda: tnumbers.sum())
    yield "sum bool", lambda: mask.sum(), None, torch and (lambda: tmask.sum())
    yield "sum c64", lambda: z.sum(), None, torch and (lambda: tz.sum())
    yield "max i32", lambda: numbers.max(), None, torch and (lambda: tnumbers.max())
    yield "sum of rows", lambda: rows.sum(-1), None, torch and (lambda: trows.sum(-1))
    yield "sum of columns", lambda: rows.sum(0), None, torch and (lambda: trows.sum(0))
    yield "max of rows", lambda: rows.max(-1), None, torch and (lambda: trows.amax(-1))
    yield "max of columns", lambda: rows.max(0), None, torch and (lambda: trows.amax(0))
    yield "variance of rows", lambda: rows.var(-1), None, torch and (lambda: trows.var(-1))
    yield "argmax of rows", lambda: rows.argmax(-1), None, torch and (lambda: trows.argmax(-1))
    yield "argmax of columns", lambda: rows.argmax(0), None, torch and (lambda: trows.argmax(0))
    yield "nansum", lambda: np.nansum(gaps), None, torch and (lambda: torch.nansum(tgaps))
    for name in ("nanprod", "nanmin", "nanmax", "nanvar", "nanstd", "nanargmin", "nanargmax", "nancumsum", "nancumprod"):
        yield name, lambda of=getattr(np, name): of(gaps), None, None
    yield "nanmean", lambda: np.nanmean(gaps), None, torch and (lambda: torch.nanmean(tgaps))
    yield "nan_to_num", lambda: np.nan_to_num(gaps), None, torch and (lambda: torch.nan_to_num(tgaps))
    yield "ptp", lambda: np.ptp(x), None, None
    yield "average", lambda: np.average(x, weights=q), None, None
    yield "vector_norm", lambda: np.linalg.norm(x), lambda: scipy.linalg.norm(x), torch and (lambda: torch.linalg.vector_norm(tx))
    yield "vector_norm 1", lambda: np.linalg.norm(x, 1), None, torch and (lambda: torch.linalg.vector_norm(tx, 1))
    yield "vector_norm 3", lambda: np.linalg.norm(x, 3), None, torch and (lambda: torch.linalg.vector_norm(tx, 3))
    yield "vector_norm inf", lambda: np.linalg.norm(x, np.inf), None, torch and (lambda: torch.linalg.vector_norm(tx, float("inf")))
    yield "matrix_norm", lambda: np.linalg.norm(rows), None, torch and (lambda: torch.linalg.matrix_norm(trows))
    three = np.array([0.1, 0.5, 0.9], f32)
    tthree, = tensors(three)
    yield "median", lambda: np.median(x), None, torch and (lambda: torch.median(tx))
    yield "quantile", lambda: np.quantile(x, three), None, torch and (lambda: torch.quantile(tx, tthree))
    yield "nanmedian", lambda: np.nanmedian(gaps), None, torch and (lambda: torch.nanmedian(tgaps))
    yield "nanquantile", lambda: np.nanquantile(gaps, f32(0.3)), None, torch and (lambda: torch.nanquantile(tgaps, 0.3))
    yield "median of rows", lambda: np.median(rows, -1), None, torch and (lambda: torch.median(trows, -1))
    yield "mode", None, lambda: scipy.stats.mode(numbers), torch and (lambda: torch.mode(tnumbers))
    yield "cov", lambda: np.cov(columns), None, torch and (lambda: torch.cov(tcolumns))
    yield "corrcoef", lambda: np.corrcoef(columns), None, torch and (lambda: torch.corrcoef(tcolumns))
    yield "histogram 10", lambda: np.histogram(x, 10), None, torch and (lambda: torch.histogram(tx, 10))
    yield "histogram 1000", lambda: np.histogram(x, 1000), None, torch and (lambda: torch.histogram(tx, 1000))
    edges, uneven = np.linspace(-3, 3, 61, dtype=f32), np.sort(normal(61))
    tedges, tuneven = tensors(edges, uneven)
    yield "histogram of edges", lambda: np.histogram(x, uneven), None, torch and (lambda: torch.histogram(tx, tuneven))
    yield "digitize", lambda: np.digitize(x, edges), None, torch and (lambda: torch.bucketize(tx, tedges, right=True))
    yield "bincount", lambda: np.bincount(numbers), None, torch and (lambda: torch.bincount(tnumbers))
    yield "bincount with weights", lambda: np.bincount(numbers, x), None, torch and (lambda: torch.bincount(tnumbers, tx))

    # ---- scans
    ones = p + f32(0.5)
    tones, = tensors(ones)
    yield "cumsum", lambda: x.cumsum(), None, torch and (lambda: tx.cumsum(0))
    yield "cumprod", lambda: (p + f32(0.5)).cumprod(), None, torch and (lambda: (tp + 0.5).cumprod(0))
    yield "cumsum of rows", lambda: rows.cumsum(-1), None, torch and (lambda: trows.cumsum(-1))
    yield "cumsum of columns", lambda: rows.cumsum(0), None, torch and (lambda: trows.cumsum(0))
    yield "cumsum i32", lambda: numbers.cumsum(), None, torch and (lambda: tnumbers.cumsum(0))
    yield "cummax", lambda: np.maximum.accumulate(x), None, torch and (lambda: torch.cummax(tx, 0).values)
    yield "logcumsumexp", lambda: np.logaddexp.accumulate(x), None, torch and (lambda: torch.logcumsumexp(tx, 0))
    yield "diff", lambda: np.diff(x), None, torch and (lambda: torch.diff(tx))
    yield "trapezoid", lambda: np.trapezoid(x), None, torch and (lambda: torch.trapezoid(tx))
    yield "trapezoid of x", lambda: np.trapezoid(x, y), None, torch and (lambda: torch.trapezoid(tx, ty))
    yield ("cumulative_trapezoid", None, lambda: scipy.integrate.cumulative_trapezoid(x),
           torch and (lambda: torch.cumulative_trapezoid(tx)))
    yield "gradient", lambda: np.gradient(x), None, torch and (lambda: torch.gradient(tx))
    yield "unwrap", lambda: np.unwrap(q), None, None
    points, values, coefficients, window, long_window = np.sort(normal(1000)), normal(1000), normal(6), normal(32), normal(2000)
    twindow, tlong = tensors(window.reshape(1, 1, -1), long_window.reshape(1, 1, -1))
    yield "interp", lambda: np.interp(x, points, values), None, None
    yield "polyval", lambda: np.polyval(coefficients, x), None, None
    yield ("convolve 32", lambda: np.convolve(x, window), lambda: scipy.signal.convolve(x, window),
           torch and (lambda: F.conv1d(tx.reshape(1, 1, -1), twindow, padding=31)))
    yield "convolve 2000", None, lambda: scipy.signal.convolve(x, long_window), None
    yield "fft_convolve", None, lambda: scipy.signal.fftconvolve(x, long_window), None
    yield ("correlate 32", lambda: np.correlate(x, window), lambda: scipy.signal.correlate(x, window, "valid"),
           torch and (lambda: F.conv1d(tx.reshape(1, 1, -1), twindow)))

    # ---- order
    chosen, floats, ascending = rng.integers(0, 2000, 1000, np.int32), normal(1000), np.sort(normal(COUNT))
    tchosen, tfloats, tascending = tensors(chosen, floats, ascending)
    yield "sort", lambda: np.sort(x), None, torch and (lambda: torch.sort(tx).values)
    yield "sort i32", lambda: np.sort(others), None, torch and (lambda: torch.sort(tothers).values)
    yield "sort of rows", lambda: np.sort(rows), None, torch and (lambda: torch.sort(trows).values)
    yield "sort of columns", lambda: np.sort(rows, 0), None, torch and (lambda: torch.sort(trows, 0).values)
    yield "argsort", lambda: np.argsort(x), None, torch and (lambda: torch.argsort(tx))
    yield "argsort of rows", lambda: np.argsort(rows), None, torch and (lambda: torch.argsort(trows))
    yield "lexsort", lambda: np.lexsort((x, numbers)), None, None
    yield "partition", lambda: np.partition(x, COUNT // 2), None, torch and (lambda: torch.kthvalue(tx, COUNT // 2))
    yield "partition 100", lambda: np.partition(x, 100), None, torch and (lambda: torch.kthvalue(tx, 100))
    yield "partition of rows", lambda: np.partition(rows, 50), None, torch and (lambda: torch.kthvalue(trows, 50))
    yield "argpartition", lambda: np.argpartition(x, COUNT // 2), None, None
    yield "argpartition 100", lambda: np.argpartition(x, 100), None, None
    yield "top_k 10", None, None, torch and (lambda: torch.topk(tx, 10))
    yield "top_k 1000", None, None, torch and (lambda: torch.topk(tx, 1000))
    yield "top_k of rows", None, None, torch and (lambda: torch.topk(trows, 5))
    yield "searchsorted", lambda: np.searchsorted(ascending, y), None, torch and (lambda: torch.searchsorted(tascending, ty))
    yield "unique", lambda: np.unique(numbers), None, torch and (lambda: torch.unique(tnumbers))
    yield "unique f32", lambda: np.unique(x), None, torch and (lambda: torch.unique(tx))
    yield "isin", lambda: np.isin(others, chosen), None, torch and (lambda: torch.isin(tothers, tchosen))
    yield "isin f32", lambda: np.isin(x, floats), None, torch and (lambda: torch.isin(tx, tfloats))
    yield "isin 10", lambda: np.isin(others, chosen[:10]), None, torch and (lambda: torch.isin(tothers, tchosen[:10]))
    for name in ("intersect1d", "union1d"):
        yield name, lambda of=getattr(np, name): of(numbers, others), None, None
    yield "setdiff1d", lambda: np.setdiff1d(others, numbers), None, None
    yield "setxor1d", lambda: np.setxor1d(numbers, others), None, None
    yield "nonzero", lambda: np.nonzero(mask)[0], None, torch and (lambda: torch.nonzero(tmask))
    yield "compress", lambda: x[mask], None, torch and (lambda: tx[tmask])

    # ---- moves
    at, some = rng.integers(0, COUNT, COUNT), None
    each, ids = rng.integers(0, 100, rows.shape), np.sort(numbers).astype(np.int64)
    tat, teach, tids = tensors(at, each, ids)
    yield "full", lambda: np.full(COUNT, f32(3)), None, torch and (lambda: torch.full((COUNT,), 3.0))
    yield "arange", lambda: np.arange(COUNT, dtype=np.int32), None, torch and (lambda: torch.arange(COUNT, dtype=torch.int32))
    yield "linspace", lambda: np.linspace(0, 1, COUNT, dtype=f32), None, torch and (lambda: torch.linspace(0, 1, COUNT))
    yield "eye", lambda: np.eye(316, dtype=f32), None, torch and (lambda: torch.eye(316))
    yield "tril", lambda: np.tril(rows), None, torch and (lambda: torch.tril(trows))
    yield "concat", lambda: np.concatenate((x, y)), None, torch and (lambda: torch.cat((tx, ty)))
    yield "stack", lambda: np.stack((x, y), 1), None, torch and (lambda: torch.stack((tx, ty), 1))
    yield "transpose", lambda: np.ascontiguousarray(rows.T), None, torch and (lambda: trows.T.contiguous())
    yield "flip", lambda: np.ascontiguousarray(x[::-1]), None, torch and (lambda: torch.flip(tx, (0,)))
    yield "roll", lambda: np.roll(x, 1000), None, torch and (lambda: torch.roll(tx, 1000))
    quarter = x[:COUNT // 4].copy()
    tquarter, = tensors(quarter)
    yield "tile", lambda: np.tile(quarter, 4), None, torch and (lambda: torch.tile(tquarter, (4,)))
    yield "repeat", lambda: np.repeat(quarter, 4), None, torch and (lambda: torch.repeat_interleave(tquarter, 4))
    yield "pad", lambda: np.pad(x, 100), None, torch and (lambda: F.pad(tx, (100, 100)))
    yield "pad reflect", lambda: np.pad(x, 100, mode="reflect"), None, torch and (lambda: F.pad(tx[None], (100, 100), "reflect"))
    yield "gather", lambda: x[at], None, torch and (lambda: tx[tat])
    yield "gather_elements", lambda: np.take_along_axis(rows, each, 1), None, torch and (lambda: torch.gather(trows, 1, teach))

    def scattered():
        copy = x.copy()
        copy[at] = y
        return copy

    def added():
        copy = x.copy()
        np.add.at(copy, at, y)
        return copy

    yield "scatter_elements", scattered, None, torch and (lambda: torch.scatter(tx, 0, tat, ty))
    yield "scatter add", added, None, torch and (lambda: torch.scatter_add(tx, 0, tat, ty))
    few = longs[:COUNT // 100]
    tfew, = tensors(few)
    yield "one_hot", lambda: np.eye(100, dtype=f32)[few], None, torch and (lambda: F.one_hot(tfew, 100))
    zeros = torch.zeros(100) if torch else None
    yield ("segment_sum", lambda: np.add.reduceat(x, np.searchsorted(ids, np.arange(100))), None,
           torch and (lambda: torch.scatter_add(zeros, 0, tids, tx)))
    yield "segment_sum unordered", lambda: np.bincount(longs, x, 100), None, torch and (lambda: torch.scatter_add(zeros, 0, tlongs, tx))
    yield "segment_mean", None, None, torch and (lambda: torch.scatter_reduce(zeros, 0, tlongs, tx, "mean", include_self=False))
    yield "segment_max", None, None, torch and (lambda: torch.scatter_reduce(zeros, 0, tlongs, tx, "amax", include_self=False))
    yield "outer", lambda: np.outer(x[:COUNT // 100], y[:100]), None, torch and (lambda: torch.outer(tx[:COUNT // 100], ty[:100]))
    yield "diagonal", lambda: np.diagonal(rows).copy(), None, torch and (lambda: torch.diagonal(trows).clone())
    yield "vander", lambda: np.vander(p[:COUNT // 10], 10), None, torch and (lambda: torch.vander(tp[:COUNT // 10], 10))
    yield "meshgrid", lambda: np.meshgrid(x[:316], y[:316]), None, None

    # ---- Fourier
    power, z_power, half_z, image, z_rows = x[:65536], z[:65536], np.fft.rfft(x), x.reshape(-1, 200), z.reshape(-1, 100)
    prime = z[:99991]
    tpower, tz_power, thalf_z, timage, tz_rows, tprime = tensors(power, z_power, half_z, image, z_rows, prime)
    fft = torch.fft if torch else None
    yield "fft", lambda: np.fft.fft(z), lambda: scipy.fft.fft(z), torch and (lambda: fft.fft(tz))
    yield "fft of real numbers", lambda: np.fft.fft(x), lambda: scipy.fft.fft(x), torch and (lambda: fft.fft(tx))
    yield "ifft", lambda: np.fft.ifft(z), lambda: scipy.fft.ifft(z), torch and (lambda: fft.ifft(tz))
    yield "rfft", lambda: np.fft.rfft(x), lambda: scipy.fft.rfft(x), torch and (lambda: fft.rfft(tx))
    yield "irfft", lambda: np.fft.irfft(half_z, COUNT), lambda: scipy.fft.irfft(half_z, COUNT), torch and (lambda: fft.irfft(thalf_z, COUNT))
    yield "fft 2^16", lambda: np.fft.fft(z_power), lambda: scipy.fft.fft(z_power), torch and (lambda: fft.fft(tz_power))
    yield "rfft 2^16", lambda: np.fft.rfft(power), lambda: scipy.fft.rfft(power), torch and (lambda: fft.rfft(tpower))
    yield "fft of a prime", lambda: np.fft.fft(prime), lambda: scipy.fft.fft(prime), torch and (lambda: fft.fft(tprime))
    yield "fft of rows of 100", lambda: np.fft.fft(z_rows), lambda: scipy.fft.fft(z_rows), torch and (lambda: fft.fft(tz_rows))
    yield "rfft of rows of 100", lambda: np.fft.rfft(rows), lambda: scipy.fft.rfft(rows), torch and (lambda: fft.rfft(trows))
    yield "fft of columns", lambda: np.fft.fft(z_rows, axis=0), lambda: scipy.fft.fft(z_rows, axis=0), torch and (lambda: fft.fft(tz_rows, dim=0))
    yield "fftn", lambda: np.fft.fftn(image), lambda: scipy.fft.fftn(image), torch and (lambda: fft.fftn(timage))
    yield "rfftn", lambda: np.fft.rfftn(image), lambda: scipy.fft.rfftn(image), torch and (lambda: fft.rfftn(timage))
    yield ("irfftn", lambda: np.fft.irfftn(np.fft.rfftn(image)), lambda: scipy.fft.irfftn(scipy.fft.rfftn(image)),
           torch and (lambda: fft.irfftn(fft.rfftn(timage))))
    yield "fftshift", lambda: np.fft.fftshift(x), None, torch and (lambda: fft.fftshift(tx))
    yield "dct", None, lambda: scipy.fft.dct(x), None
    yield "dct 3", None, lambda: scipy.fft.dct(x, 3), None
    yield "idct", None, lambda: scipy.fft.idct(x), None
    yield "dct of rows of 100", None, lambda: scipy.fft.dct(rows), None
    if torch:
        hann = torch.hann_window(512)
        frames = torch.stft(tx, 512, window=hann, return_complex=True)
        yield "stft", None, None, lambda: torch.stft(tx, 512, window=hann, return_complex=True)
        yield "istft", None, None, lambda: torch.istft(frames, 512, window=hann)

    # ---- layers and products
    weight, bias, square, labels = normal(100), normal(100), normal(316, 316), rng.integers(0, 100, COUNT // 100)
    images, kernel = x.reshape(1, 10, -1, 10), normal(10, 10, 3, 3)
    tweight, tbias, tsquare, tlabels, timages, tkernel = tensors(weight, bias, square, labels, images, kernel)
    yield "softmax of rows", None, lambda: sp.softmax(rows, -1), torch and (lambda: torch.softmax(trows, -1))
    yield "softmax of columns", None, lambda: sp.softmax(rows, 0), torch and (lambda: torch.softmax(trows, 0))
    yield "log_softmax of rows", None, lambda: sp.log_softmax(rows, -1), torch and (lambda: torch.log_softmax(trows, -1))
    if torch:
        yield "layer_norm", None, None, lambda: F.layer_norm(trows, (100,), tweight, tbias)
        yield "rms_norm", None, None, lambda: F.rms_norm(trows, (100,), tweight)
        yield "cross_entropy", None, None, lambda: F.cross_entropy(trows, tlabels)
        yield "binary_cross_entropy_with_logits", None, None, lambda: F.binary_cross_entropy_with_logits(tx, tp)
        yield "mse_loss", None, None, lambda: F.mse_loss(tx, ty)
        yield "l1_loss", None, None, lambda: F.l1_loss(tx, ty)
        yield "huber_loss", None, None, lambda: F.huber_loss(tx, ty)
        yield "smooth_l1_loss", None, None, lambda: F.smooth_l1_loss(tx, ty)
        yield "kl_div", None, None, lambda: F.kl_div(tx, tp, reduction="mean")
        yield "max_pool", None, None, lambda: F.max_pool2d(timages, 2)
        yield "average_pool", None, None, lambda: F.avg_pool2d(timages, 2)
        yield "conv", None, None, lambda: F.conv2d(timages, tkernel, padding=1)
        yield "upsample", None, None, lambda: F.interpolate(timages, scale_factor=2, mode="bilinear")
    yield "matmul 316", lambda: square @ square, None, torch and (lambda: tsquare @ tsquare)
    yield "matrix by vector", lambda: rows @ weight, None, torch and (lambda: trows @ tweight)
    yield "vecdot", lambda: np.vecdot(x, y), None, torch and (lambda: torch.linalg.vecdot(tx, ty))
    yield "inner", lambda: np.inner(rows, rows), None, torch and (lambda: torch.inner(trows, trows))
    thirds = COUNT // 3 * 3
    x3, y3 = x[:thirds].reshape(-1, 3), y[:thirds].reshape(-1, 3)
    tx3, ty3 = tensors(x3, y3)
    yield "cross", lambda: np.cross(x3, y3), None, torch and (lambda: torch.linalg.cross(tx3, ty3))
    k0, k1 = square[:17], square[:1]
    tk0, tk1 = tensors(k0, k1)
    yield "kron", lambda: np.kron(k0, k1), None, torch and (lambda: torch.kron(tk0, tk1))
    yield "einsum", lambda: np.einsum("ij,ij->i", rows, rows), None, torch and (lambda: torch.einsum("ij,ij->i", trows, trows))
    yield "trace", lambda: np.trace(square), None, torch and (lambda: torch.trace(tsquare))
    yield "random uniform", lambda: rng.random(COUNT, f32), None, torch and (lambda: torch.rand(COUNT))
    yield "random normal", lambda: normal(COUNT), None, torch and (lambda: torch.randn(COUNT))
    yield "random integers", lambda: rng.integers(0, 100, COUNT, np.int32), None, torch and (lambda: torch.randint(0, 100, (COUNT,)))
    yield "random exponential", lambda: rng.standard_exponential(COUNT, f32), None, torch and (lambda: torch.empty(COUNT).exponential_())
    yield "random gamma", lambda: rng.standard_gamma(2.5, COUNT, f32), None, None
    yield "random poisson", lambda: rng.poisson(4, COUNT), None, torch and (lambda: torch.poisson(tq))
    yield "random binomial", lambda: rng.binomial(20, 0.3, COUNT), None, None
    yield "permutation", lambda: rng.permutation(COUNT), None, torch and (lambda: torch.randperm(COUNT))

    # ---- matrices
    a = normal(316, 316)
    positive, upper = (a @ a.T + np.eye(316) * 316).astype(f32), (np.triu(a) + np.eye(316) * 30).astype(f32)
    tall, small, b = normal(2400, 600), normal(1000, 10, 10), normal(316, 10)
    ta, tpositive, tupper, ttall, tsmall, tb = tensors(a, positive, upper, tall, small, b)
    nl, sl, tl = np.linalg, scipy.linalg, torch.linalg if torch else None
    has_lapack = torch is not None and torch._C.has_lapack

    def lapack(call):
        return call if has_lapack else None

    yield "cholesky 316", lambda: nl.cholesky(positive), lambda: sl.cholesky(positive), lapack(lambda: tl.cholesky(tpositive))
    yield "lu_factor 316", None, lambda: sl.lu_factor(a), lapack(lambda: tl.lu_factor(ta))
    yield "solve 316", lambda: nl.solve(a, b), lambda: sl.solve(a, b), lapack(lambda: tl.solve(ta, tb))
    yield "solve_triangular 316", None, lambda: sl.solve_triangular(upper, b), lapack(lambda: tl.solve_triangular(tupper, tb, upper=True))
    yield "inv 316", lambda: nl.inv(a), lambda: sl.inv(a), lapack(lambda: tl.inv(ta))
    yield "det 316", lambda: nl.det(a), lambda: sl.det(a), lapack(lambda: tl.det(ta))
    yield "qr 316", lambda: nl.qr(a), lambda: sl.qr(a, mode="economic"), lapack(lambda: tl.qr(ta))
    yield "qr 2400 x 600", lambda: nl.qr(tall), lambda: sl.qr(tall, mode="economic"), lapack(lambda: tl.qr(ttall))
    yield "qr r 2400 x 600", lambda: nl.qr(tall, mode="r"), lambda: sl.qr(tall, mode="r"), lapack(lambda: tl.qr(ttall, mode="r"))
    yield "lstsq 2400 x 600", lambda: nl.lstsq(tall, tall[:, :1]), lambda: sl.lstsq(tall, tall[:, :1], lapack_driver="gelsy"), lapack(
        lambda: tl.lstsq(ttall, ttall[:, :1], driver="gels"))
    yield "eigh 316", lambda: nl.eigh(positive), lambda: sl.eigh(positive), lapack(lambda: tl.eigh(tpositive))
    yield "eigvalsh 316", lambda: nl.eigvalsh(positive), lambda: sl.eigvalsh(positive), lapack(lambda: tl.eigvalsh(tpositive))
    yield "svd 316", lambda: nl.svd(a), lambda: sl.svd(a), lapack(lambda: tl.svd(ta))
    yield "svdvals 316", lambda: nl.svd(a, compute_uv=False), lambda: sl.svdvals(a), lapack(lambda: tl.svdvals(ta))
    yield "svd 1000 of 10", lambda: nl.svd(small), None, lapack(lambda: tl.svd(tsmall))
    yield "qr 1000 of 10", lambda: nl.qr(small), None, lapack(lambda: tl.qr(tsmall))
    yield "inv 1000 of 10", lambda: nl.inv(small), None, lapack(lambda: tl.inv(tsmall))
    yield "eigh 1000 of 10", lambda: nl.eigh(small), None, lapack(lambda: tl.eigh(tsmall))
    yield "pinv 316", lambda: nl.pinv(a), lambda: sl.pinv(a), lapack(lambda: tl.pinv(ta))


def least_time(call, seconds):
    least, begin, turns = 1e300, time.perf_counter(), 0
    while turns < 5 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
        turns += 1
    return least * 1e6


def weft_times(bench, args, elements):
    """Microseconds of each function; the memory of its library's settings is the caller's."""
    command = [*bench.split(), "functions", "--device", "cpu", "--json", "--elements", str(elements), "--seconds", str(args.seconds),
               "--only", args.only]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    return {r["name"]: r["value"] for r in map(json.loads, (line for line in lines if line.startswith("{")))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", help="weft_bench, or a command that runs it")
    parser.add_argument("--only", default="", help="a part of the name of the functions")
    parser.add_argument("--seconds", type=float, default=0.1, help="for each function and library")
    parser.add_argument("--core", type=int, default=0, help="the one that all run on")
    parser.add_argument("--json", help="write the times into this file, too")
    args = parser.parse_args()
    np.seterr(all="ignore")
    os.sched_setaffinity(0, {args.core})
    weft = weft_times(args.bench, args, COUNT) if args.bench else {}
    fixed = weft_times(args.bench, args, 400) if args.bench else {}
    rows = []
    for name, *calls in cases():
        if args.only not in name:
            continue
        times = [least_time(call, args.seconds) if call else None for call in calls]
        best = min((t for t in times if t is not None), default=None)
        own = weft.get(name)
        rows.append((own / best if own and best else 0, name, own, fixed.get(name), *times))
    for name in weft.keys() - {row[1] for row in rows}:
        rows.append((0, name, weft[name], fixed.get(name), None, None, None))
    rows.sort(reverse=True)
    print(f"NumPy {np.__version__}, SciPy {scipy.__version__}, PyTorch {torch.__version__ if torch else 'none'}", file=sys.stderr)
    head = ("ratio", "function", "Weft µs", "fixed", "NumPy", "SciPy", "PyTorch")
    print("{:>6}  {:34}{:>10}{:>8}{:>10}{:>10}{:>10}".format(*head))
    for ratio, name, *times in rows:
        cells = ["" if t is None else f"{t:.1f}" for t in times]
        print("{:6.2f}  {:34}{:>10}{:>8}{:>10}{:>10}{:>10}".format(ratio, name, *cells))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump([dict(zip(("ratio", "name", "weft", "fixed", "numpy", "scipy", "torch"), row)) for row in rows], file, indent=1)


if __name__ == "__main__":
    main()
