"""Values of NumPy and SciPy for weft/statistics.h, segments.h, sets.h, numeric.h and special.h, for
tests/tensor/statistics_test.cc and numeric_test.cc: writes tests/data/numeric. A case's outputs are computed in f64 of operands that their types hold exactly."""
import itertools
import json
import pathlib
import warnings

import cpu_kernel_cases
import numpy as np
import scipy.integrate
import scipy.special
import scipy.stats
from cpu_kernel_cases import T, case, rng

OUT = pathlib.Path(__file__).resolve().parent.parent / "data" / "numeric"
OUT.mkdir(parents=True, exist_ok=True)
warnings.simplefilter("ignore")
NEAR = {"f32": {"absolute": 1e-6, "relative": 2e-6}, "f64": {"absolute": 1e-14, "relative": 1e-13},
        "f16": {"ulp": 1, "absolute": 1e-6}, "bf16": {"ulp": 1, "absolute": 1e-6}}
FEW = np.array([0.0, -0.0, 1.5, -2.0, 3.25, 0.25, -7.5, 1.0, 2.0])
nan, inf = np.nan, np.inf


def few(type, shape, nans=0.0, infinities=0.0):
    """Quarters with many ties, and NaN and infinities with these probabilities; small integers, bool."""
    if type[0] in "iu":
        return T(type, rng.integers(0 if type[0] == "u" else -5, 9, shape))
    if type == "bool":
        return T(type, rng.integers(0, 2, shape))
    v = rng.choice(FEW, shape)
    v = np.where(rng.random(shape) < infinities, rng.choice([inf, -inf], shape), v)
    return T(type, np.where(rng.random(shape) < nans, nan, v))


def normal(type, shape, nans=0.0):
    return T(type, np.where(rng.random(shape) < nans, nan, rng.normal(0, 2, shape)))


def values(x):
    return np.asarray(x.values, np.int64 if x.type[0] in "iu" else None)


def averaged(type):
    return "f32" if type[0] in "iu" or type == "bool" else type


def summed(type):
    return {"bool": "i32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}.get(type, type)


def shaped(axes, keep):
    return {**({} if axes is None else {"axes": list(axes)}), **({"keep_dims": True} if keep else {})}


def add(name, inputs, results, types, attributes=None, **near):
    """Results of types that are floats are as near as these allow."""
    near = near or (NEAR.get(types[0], {}) if results and np.asarray(results[0]).size else {})
    case(name, inputs, [T(t, r) for t, r in zip(types, results)], attributes, **near)


def written(name):
    cases = [{"function": c.pop("kernel"), **c} for c in cpu_kernel_cases.cases]
    cpu_kernel_cases.cases.clear()
    lines = (json.dumps(c, separators=(",", ":")) for c in cases)
    (OUT / name).write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(name, len(cases), "cases")


REDUCED = (((7,), None, False), ((3, 5), (1,), False), ((4, 3, 2), (0,), True), ((4, 3, 2), (2, 0), False), ((1,), None, True),
           ((), None, False), ((2, 3), (), False), ((4, 1), (1,), False), ((2, 3, 4), (-1,), False))
METHODS = ("linear inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull "
           "median_unbiased normal_unbiased lower higher midpoint nearest").split()


# ---- Order
def order():
    for shape, axes, keep in REDUCED:
        for type in ("f32", "f16", "i32", "bool", "f64", "bf16", "u8"):
            if type not in ("f32", "i32") and len(shape) != 2:
                continue
            x = few(type, shape)
            # (NumPy's median over no axes is that over all.)
            v = values(x).astype(np.float64)
            expected = v if axes == () else np.median(v, axis=axes, keepdims=keep)
            add("median", [x], [expected], [averaged(type)], shaped(axes, keep))
    for type in ("f32", "f16"):
        x = few(type, (5, 6), nans=0.1, infinities=0.05)
        add("median", [x], [np.median(x.values, axis=1)], [type], shaped((1,), False))
        x = few(type, (8, 6), nans=0.4)
        x = T(type, np.concatenate([x.values, np.full((1, 6), nan), [[nan, 1, nan, nan, nan, nan]]]))
        add("nanmedian", [x], [np.nanmedian(x.values, axis=1)], [type], shaped((1,), False))
        add("nanmedian", [x], [np.nanmedian(x.values)], [type])
    add("median", [T("f32", [1, inf])], [inf], ["f32"])
    add("median", [T("f32", [-inf, inf])], [nan], ["f32"])
    add("median", [T("f32", [inf, inf, inf, 1])], [inf], ["f32"])
    add("median", [T("f32", [3e38, 3.2e38])], [3.1e38], ["f32"])
    add("median", [T("f32", np.zeros((0,)))], [nan], ["f32"])
    add("median", [T("i32", np.zeros((3, 0)))], [np.full(3, nan)], ["f32"], shaped((1,), False))
    add("nanmedian", [T("f32", np.zeros((2, 0)))], [np.full(2, nan)], ["f32"], shaped((1,), False))
    add("median", [T("f32", np.zeros((0, 3)))], [np.zeros(0)], ["f32"], shaped((1,), False))
    for i, method in enumerate(METHODS):
        for n, q in ((10, [0, 0.1, 0.25, 0.3, 0.5, 0.75, 0.95, 1]), (7, [0.5, 0.2]), (1, [0, 0.5, 1]), (4, [0.125, 0.375, 0.625, 0.875]),
                     (6, [0.25, 0.4166666666666667, 0.5, 0.75])):
            x = normal("f32", (n,))
            add("quantile", [x], [np.quantile(x.values, q, method=method)], ["f32"], {"q": [float(v) for v in q], "method": method})
            with_nan = np.insert(x.values, rng.integers(0, n + 1, 3), nan)
            add("nanquantile", [T("f32", with_nan)], [np.quantile(x.values, q, method=method)], ["f32"],
                {"q": [float(v) for v in q], "method": method})
        for type in ("f32", "f16", "i32", "f64"):
            x, q = few(type, (3, 8, 2)), [0.25, 0.6]
            v = values(x).astype(np.float64)
            add("quantile", [x], [np.quantile(v, q, axis=(0, 2), method=method, keepdims=i % 2 == 1)], [averaged(type)],
                {"q": q, "method": method, **shaped((0, 2), i % 2 == 1)})
    x = few("f32", (6, 9), nans=0.1)
    for name, f in (("quantile", np.quantile), ("nanquantile", np.nanquantile)):
        add(name, [x], [f(x.values, [0.3, 0.9], axis=1)], ["f32"], {"q": [0.3, 0.9], "method": "linear", **shaped((1,), False)})
        x64 = normal("f64", (1000,), nans=0.1 if name[0] == "n" else 0)
        add(name, [x64], [f(x64.values, [0.01, 0.777])], ["f64"], {"q": [0.01, 0.777], "method": "linear"})
    add("quantile", [x], [np.zeros((0, 6))], ["f32"], {"q": [], "method": "linear", **shaped((1,), False)})
    for type in ("f32", "i32", "bool", "f16", "u8"):
        for shape, axes, keep in REDUCED:
            if axes == () or (shape == () and type == "bool"):
                continue
            x = few(type, shape)
            v = values(x)
            if axes is not None and len(axes) > 1:
                m = np.moveaxis(v, sorted(a % v.ndim for a in axes), range(-len(axes), 0))
                m = m.reshape(*m.shape[:m.ndim - len(axes)], -1)
            else:
                m = v.reshape(-1) if axes is None else np.moveaxis(v, axes[0], -1)
            found = [np.unique(r, return_counts=True) for r in m.reshape(-1, m.shape[-1])]
            least = [u[np.argmax(c)] for u, c in found]
            most = [c.max() for _, c in found]
            to = np.sum(v, axis=axes, keepdims=keep).shape
            add("mode", [x], [np.reshape(least, to), np.reshape(most, to)], [type, "i32"], shaped(axes, keep))
    add("mode", [T("f32", [[1, nan, nan, 2], [1, 2, 2, 1], [-0.0, 0.0, 1, 3]])], [[nan, 1, 0], [2, 2, 2]], ["f32", "i32"], shaped((1,), False))


# ---- Without NaN
def without_nan():
    sums = {"nansum": np.nansum, "nanprod": np.nanprod, "nanmin": np.nanmin, "nanmax": np.nanmax, "nanmean": np.nanmean,
            "nanvar": np.nanvar, "nanstd": np.nanstd, "ptp": np.ptp}
    for name, f in sums.items():
        for i, (shape, axes, keep) in enumerate(REDUCED):
            if axes == ():
                continue
            for type in ("f32", "i32", "f16") if len(shape) == 2 else ("f32",):
                x = few(type, shape, nans=0.3 if name[0] == "n" else 0.05)
                v = values(x).astype(np.float64)
                more = {"correction": 1.0} if name in ("nanvar", "nanstd") and i % 2 else {}
                to = type if name in ("nanmin", "nanmax", "ptp") else summed(type) if name in ("nansum", "nanprod") else averaged(type)
                v = f(v, axis=axes, keepdims=keep, **({"ddof": 1} if more else {}))
                add(name, [x], [v], [to], {**shaped(axes, keep), **more})
        x = T("f32", [[nan, nan], [nan, 1], [inf, nan], [-inf, 3]])
        add(name, [x], [f(x.values, axis=1)], ["f32"], shaped((1,), False))
    x = T("bool", [[True, False, True], [True, True, True]])
    add("nansum", [x], [[2, 3]], ["i32"], shaped((1,), False))
    add("nanmean", [x], [[2 / 3, 1]], ["f32"], shaped((1,), False))
    for name, value in (("nansum", 0), ("nanprod", 1), ("nanmean", nan), ("nanvar", nan), ("nanmin", nan), ("nanmax", nan)):
        add(name, [T("f32", np.zeros((2, 0)))], [np.full(2, value)], ["f32"], shaped((1,), False))
    for name, f in (("nanargmin", np.nanargmin), ("nanargmax", np.nanargmax)):
        for type in ("f32", "f16", "i32"):
            for shape, axis, keep in (((3, 6), (1,), False), ((5,), None, False), ((6, 2), (0,), True)):
                x = few(type, shape, nans=0.3)
                v = values(x).astype(np.float64)
                if not np.isnan(v).all(axis=axis and axis[0]).any():
                    add(name, [x], [f(v, axis=axis and axis[0], keepdims=keep)], ["i32"], shaped(axis, keep))
        # (NumPy takes the NaN for the infinity that it puts in its place.)
        far = inf if name == "nanargmin" else -inf
        add(name, [T("f32", [[nan, far, nan], [nan, nan, nan], [nan, 2, 2]])], [[1, 0, 1]], ["i32"], shaped((1,), False))
    for name, f in (("nancumsum", np.nancumsum), ("nancumprod", np.nancumprod)):
        for type, shape, axis in (("f32", (3, 5), 1), ("f32", (4, 2), 0), ("i32", (5,), 0), ("f16", (2, 4), -1), ("i8", (4,), 0), ("f32", (0,), 0)):
            x = few(type, shape, nans=0.3)
            add(name, [x], [f(values(x), axis=axis)], [summed(type)], {"axis": axis})
    special = [nan, inf, -inf, 0, -0.0, 1.5, -2]
    for type in ("f32", "f16", "f64", "bf16"):
        x = T(type, special)
        most = {"f32": 3.4028234663852886e38, "f16": 65504.0, "f64": 1.7976931348623157e308, "bf16": 3.3895313892515355e38}[type]
        add("nan_to_num", [x], [[0, most, -most, 0, -0.0, 1.5, -2]], [type], absolute=0)
        add("nan_to_num", [x], [[-1, 7, 8, 0, -0.0, 1.5, -2]], [type], {"nan": -1.0, "positive_infinity": 7.0, "negative_infinity": 8.0}, absolute=0)
    x = few("i32", (4,))
    add("nan_to_num", [x], [x.values], ["i32"])


# ---- Averages, covariances
def averages():
    for type, weights, shape, axes, keep in (("f32", "f32", (3, 4), (1,), False), ("f32", "i32", (3, 4), None, False), ("i32", "i32", (5,), None, True),
                                             ("f16", "f16", (2, 3), (0,), True), ("f64", "f64", (4, 3), (0,), False), ("f32", "f32", (2, 3, 4), (0, 2), False)):
        x, w = few(type, shape), T(weights, rng.integers(1, 5, shape))
        v, k = values(x).astype(np.float64), values(w).astype(np.float64)
        expected = np.sum(v * k, axis=axes, keepdims=keep) / np.sum(k, axis=axes, keepdims=keep)
        add("average", [x, w], [expected], [averaged(type)], shaped(axes, keep))
    x, w = few("f32", (3, 4)), T("f32", [1, 2, 0, 0.5])
    add("average", [x, w], [np.average(x.values, axis=1, weights=w.values)], ["f32"], shaped((1,), False))
    add("average", [x, T("f32", [1, -1, 2])], [np.average(x.values, axis=0, weights=[1, -1, 2])], ["f32"], shaped((0,), False))
    add("average", [T("f32", [1, nan]), T("f32", [1, 0])], [nan], ["f32"])
    for type in ("f32", "f64", "i32", "f16", "bool"):
        x = few(type, (3, 8))
        v = values(x).astype(np.float64)
        add("cov", [x, None, None], [np.cov(v)], [averaged(type)], {"correction": 1.0})
        add("corrcoef", [x], [np.corrcoef(v)], [averaged(type)])
    x, f, a = few("f32", (2, 6)), T("i32", [1, 2, 0, 3, 1, 1]), T("f32", [0.5, 1, 2, 0.25, 1, 3])
    for correction in (0, 1):
        add("cov", [x, f, None], [np.cov(x.values, ddof=correction, fweights=values(f))], ["f32"], {"correction": float(correction)})
        add("cov", [x, None, a], [np.cov(x.values, ddof=correction, aweights=a.values)], ["f32"], {"correction": float(correction)})
        add("cov", [x, f, a], [np.cov(x.values, ddof=correction, fweights=values(f), aweights=a.values)], ["f32"], {"correction": float(correction)})
    x = few("f32", (7,))
    add("cov", [x, None, None], [np.cov(x.values)], ["f32"], {"correction": 1.0})
    add("corrcoef", [x], [np.corrcoef(x.values)], ["f32"])
    add("corrcoef", [T("f32", [[1, 1, 1], [1, 2, 4]])], [np.corrcoef([[1, 1, 1], [1, 2, 4]])], ["f32"])
    add("cov", [T("f32", [[1], [2]]), None, None], [np.full((2, 2), nan)], ["f32"], {"correction": 1.0})


# ---- Histograms, counts
def histograms():
    def hist(x, bins, range=None, w=None, density=False, edges_type=None):
        v = values(x).astype(np.float64)
        keep = np.isfinite(v) if range or not isinstance(bins, int) else slice(None)
        k = None if w is None else values(w).astype(np.float64)
        counts, edges = np.histogram(v[keep], bins, range, density, None if k is None else k[keep])
        attributes = {**({"bins": bins} if isinstance(bins, int) else {}), **({"range": list(range)} if range else {}), **({"density": True} if density else {})}
        type = "i32" if w is None else summed(w.type)
        inputs = [x, w, None if isinstance(bins, int) else T(edges_type, bins)]
        add("histogram", inputs, [counts, edges], [averaged(type) if density else type, edges_type or averaged(x.type)], attributes, **NEAR["f32"])
    for type in ("f32", "f16", "i32", "bool", "u8"):
        x = few(type, (5, 8))
        hist(x, 4, (-2.0, 2.0))
        hist(x, 8, (-8.0, 8.0), density=True)
        hist(x, 10, (0.5, 0.5))
        hist(x, [-2, -0.5, 0, 1, 1, 6], edges_type="f32")
        hist(x, 4, (-2.0, 2.0), T("f32", rng.integers(-3, 4, (5, 8)) / 4))
        hist(x, 4, (-2.0, 2.0), T("i32", rng.integers(-3, 4, (5, 8))))
    hist(T("f32", [1, nan, inf, -inf, 0, 0.999, 2]), 2, (0.0, 1.0))
    hist(T("f32", [1, nan, 3]), [0, 1, 2], edges_type="f32")
    hist(T("f32", [3.0]), 4)
    hist(T("f32", [2, 2, 2]), 3)
    hist(T("i32", [0, 4, 8, 1, 7, 3]), 8)
    hist(T("bool", [True, False, True]), 2)
    hist(T("f32", np.zeros((0,))), 3)
    hist(T("f32", rng.integers(0, 257, (4000,)) / 16), 256)
    hist(T("i32", [1, 2, 3, 4, 5]), [1, 3, 5], edges_type="i32", w=T("f32", [0.5, 1, 2, 4, 8]), density=True)
    for type in ("f32", "i32", "f16"):
        x = few(type, (4, 5))
        v = values(x).astype(np.float64)
        for bins in ([-2, 0, 1, 1, 5], [5, 1, 0, -2], [1], []):
            for right in (False, True):
                add("digitize", [x, T(type, bins)], [np.digitize(v, bins, right)], ["i32"], {"right": right})
    for type in ("i32", "u8", "i64", "i8"):
        x = T(type, rng.integers(0, 7, (20,)))
        add("bincount", [x, None], [np.bincount(values(x))], ["i32"])
        add("bincount", [x, None], [np.bincount(values(x), minlength=12)], ["i32"], {"minimum_length": 12})
        w = T("f32", rng.integers(-8, 9, (20,)) / 4)
        add("bincount", [x, w], [np.bincount(values(x), w.values)], ["f32"])
        w = T("i16", rng.integers(-8, 9, (20,)))
        add("bincount", [x, w], [np.bincount(values(x), values(w))], ["i32"])
    add("bincount", [T("i32", []), None], [[]], ["i32"])
    add("bincount", [T("i32", []), None], [[0, 0]], ["i32"], {"minimum_length": 2})


# ---- Segments
def segments():
    ids_of = itertools.cycle(["i32", "i64", "u8", "i8", "u32", "u64", "i16"])
    start = {"segment_sum": 0, "segment_prod": 1, "segment_max": -inf, "segment_min": inf}
    ufunc = {"segment_sum": np.add, "segment_prod": np.multiply, "segment_max": np.maximum, "segment_min": np.minimum}

    def reduced(name, x, ids, n):
        v, i = values(x), values(ids)
        if name in ("segment_mean", "segment_softmax"):
            v = v.astype(np.float64)
            inside = (i >= 0) & (i < n)
            out = np.zeros_like(v) if name == "segment_softmax" else np.full((n, *v.shape[1:]), nan)
            for s in range(n):
                rows = v[inside & (i == s)]
                if not len(rows):
                    continue
                if name == "segment_mean":
                    out[s] = rows.mean(axis=0)
                else:
                    out[inside & (i == s)] = scipy.special.softmax(rows, axis=0)
            return out, averaged(x.type)
        to = summed(x.type) if name in ("segment_sum", "segment_prod") else x.type
        first = start[name]
        if np.isinf(first) and x.type[0] in "iu":
            low, high = (-(2 ** (int(x.type[1:]) - 1)), 2 ** (int(x.type[1:]) - 1) - 1) if x.type[0] == "i" else (0, 2 ** int(x.type[1:]) - 1)
            first = low if name == "segment_max" else high
        out = np.full((n, *v.shape[1:]), first, v.dtype if x.type != "bool" else np.int64)
        inside = (i >= 0) & (i < n)
        ufunc[name].at(out, i[inside], v[inside].astype(out.dtype))
        return out, to

    for name in ("segment_sum", "segment_prod", "segment_mean", "segment_max", "segment_min", "segment_softmax"):
        for type, shape, n in (("f32", (12,), 5), ("f32", (9, 3), 4), ("f16", (10, 2), 3), ("i32", (12,), 5), ("u8", (8, 2), 4), ("i8", (7,), 3),
                               ("f64", (12,), 4), ("f32", (1,), 1), ("f32", (5,), 7), ("f32", (4, 2, 3), 2), ("bf16", (6,), 2), ("f32", (0, 3), 2),
                               ("f32", (6,), 0), ("bool", (9,), 3)):
            if (name == "segment_softmax" and (type[0] in "iu" or type == "bool")) or (type == "bool" and name in ("segment_max", "segment_min")):
                continue
            x = few(type, shape)
            kind = next(ids_of)
            low, high = (0 if kind[0] == "u" else -2), n + 3
            ids = T(kind, rng.integers(low, high, shape[:1]))
            if n == 5:
                ids = T(kind, np.sort(rng.integers(0, n, shape[:1])))
            out, to = reduced(name, x, ids, n)
            add(name, [x, ids], [out], [to], {"segments": n})
        if name != "segment_softmax":
            x, ids = T("f32", [1, nan, 2, inf, -inf, 3]), T("i32", [0, 0, 1, 2, 2, 2**31 - 1])
            out, to = reduced(name, x, ids, 3)
            add(name, [x, ids], [out], [to], {"segments": 3})
    x, ids = T("f32", [1, nan, 2, inf, 0, -inf, -inf, 3, -inf]), T("i32", [0, 0, 1, 2, 2, 3, 3, 4, 4])
    out, to = reduced("segment_softmax", x, ids, 5)
    add("segment_softmax", [x, ids], [out], [to], {"segments": 5})
    ids = T("u64", [2**63, 2**32, 1, 2**64 - 1])
    add("segment_sum", [T("f32", [1, 2, 4, 8]), ids], [[0, 4]], ["f32"], {"segments": 2})
    ids = T("u32", [2**32 - 1, 2**31, 0, 1])
    add("segment_sum", [T("f32", [1, 2, 4, 8]), ids], [[4, 8]], ["f32"], {"segments": 2})


def running():
    for name, f, better in (("cummax", np.maximum, np.greater_equal), ("cummin", np.minimum, np.less_equal)):
        for type, shape, axis in (("f32", (9,), 0), ("f32", (3, 6), 1), ("i32", (5, 2), 0), ("f16", (2, 5), -1), ("u8", (7,), 0), ("f32", (3, 0), 1),
                                  ("f32", (1,), 0), ("nan", (8,), 0)):
            x = T("f32", [1, 0, 3, nan, 5, nan, 6, 7]) if type == "nan" else few(type, shape)
            v = np.moveaxis(values(x), axis, -1)
            best, at = np.empty(v.shape, v.dtype), np.zeros(v.shape, int)
            for i in np.ndindex(v.shape[:-1]):
                for k in range(v.shape[-1]):
                    if k == 0 or better(v[i][k], best[i][k - 1]) or v[i][k] != v[i][k]:
                        best[i][k], at[i][k] = v[i][k], k
                    else:
                        best[i][k], at[i][k] = best[i][k - 1], at[i][k - 1]
            add(name, [x], [np.moveaxis(best, -1, axis), np.moveaxis(at, -1, axis)], ["f32" if type == "nan" else type, "i32"], {"axis": axis})
    for shape, axis, k in (((7,), -1, 3), ((3, 5), 0, -1), ((2, 4), 1, 0)):
        x = few("f32", shape)
        add("partition", [x], [np.sort(x.values, axis)], ["f32"], {"axis": axis, "k": k})
        add("argpartition", [x], [np.argsort(x.values, axis, kind="stable")], ["i32"], {"axis": axis, "k": k})
    for shape, axis in (((12,), -1), ((3, 7), 1), ((6, 2), 0)):
        keys = [few("i32", shape), few("f32", shape), T("bool", rng.integers(0, 2, shape))]
        for n in (1, 2, 3):
            add("lexsort", keys[:n], [np.lexsort([values(k) for k in keys[:n]], axis)], ["i32"], {"axis": axis})


# ---- Sets
def sets():
    def pair(type, other, a, b):
        return few(type, a), few(other, b)
    for type, other, to in (("f32", "f32", "f32"), ("i32", "i32", "i32"), ("f32", "i32", "f32"), ("i8", "u8", "i16"), ("bool", "bool", "bool"),
                            ("f16", "f16", "f16"), ("i64", "i64", "i64")):
        for a, b in (((7,), (5,)), ((2, 3), (4,)), ((0,), (3,)), ((3,), (0,)), ((), (2, 2))):
            x, y = pair(type, other, a, b)
            v, w = values(x), values(y)
            add("isin", [x, y], [np.isin(v, w)], ["bool"])
            add("isin", [x, y], [np.isin(v, w, invert=True)], ["bool"], {"inverted": True})
            for name, f in (("intersect1d", np.intersect1d), ("union1d", np.union1d), ("setdiff1d", np.setdiff1d), ("setxor1d", np.setxor1d)):
                add(name, [x, y], [f(v, w)], [to], absolute=0)
    x, y = T("f32", [1, nan, inf, -inf, nan, 0]), T("f32", [nan, -0.0, inf, 2])
    add("isin", [x, y], [[False, False, True, False, False, True]], ["bool"])
    add("intersect1d", [x, y], [[0, inf]], ["f32"])
    add("union1d", [x, y], [[-inf, 0, 1, 2, inf, nan, nan, nan]], ["f32"])
    add("setdiff1d", [x, y], [[-inf, 1, nan, nan]], ["f32"])
    add("setxor1d", [x, y], [[-inf, 1, 2, nan, nan, nan]], ["f32"])


# ---- Numerical functions
def interpolation():
    for types in (("f32", "f32", "f32"), ("f32", "i32", "f32"), ("i32", "i32", "i32"), ("f16", "f16", "f16"), ("f64", "f64", "f64")):
        to = averaged(types[0])
        for n, shape in ((5, (9,)), (2, (3, 2)), (1, (4,)), (12, ())):
            points = np.sort(rng.choice(np.arange(-20, 20), n, replace=False))
            points = points if types[1][0] == "i" else points / 4
            p, f, x = T(types[1], points), few(types[2], (n,)), few(types[0], shape)
            a = [values(t).astype(np.float64) for t in (x, p, f)]
            add("interp", [x, p, f], [np.interp(*a)], [to])
            add("interp", [x, p, f], [np.interp(*a, left=-9, right=7)], [to], {"left": -9.0, "right": 7.0})
    p, f = T("f32", [0, 1, 1, 2, 4]), T("f32", [1, 2, -1, 5, inf])
    x = T("f32", [0, 1, 2, 4, nan, inf, -inf, 0.5, 1.5, 5, -1])
    add("interp", [x, p, f], [np.interp(x.values, p.values, f.values)], ["f32"])
    p, f = T("f32", [0, 0, 1, 2, 2]), T("f32", [1, 2, -1, 5, 7])
    add("interp", [x, p, f], [np.interp(x.values, p.values, f.values)], ["f32"])


def integrals():
    for type, shape, axis in (("f32", (7,), -1), ("f32", (3, 4), 0), ("i32", (2, 5), 1), ("f16", (6,), 0), ("f64", (2, 9), -1), ("f32", (2, 1), 1),
                              ("f32", (3, 0), 1), ("bool", (5,), 0), ("c64", (4,), 0)):
        y = T("c64", rng.integers(-8, 9, shape) / 4 + 1j) if type == "c64" else few(type, shape)
        v = values(y) if type == "c64" else values(y).astype(np.float64)
        x = T("f32", np.cumsum(rng.integers(1, 5, shape[axis])) / 4)
        near = NEAR["f32"] if type == "c64" else {}
        add("trapezoid", [y, None], [np.trapezoid(v, dx=0.5, axis=axis)], [averaged(type)], {"axis": axis, "distance": 0.5}, **near)
        if shape[axis]:
            add("cumulative_trapezoid", [y, None], [scipy.integrate.cumulative_trapezoid(v, dx=0.5, axis=axis)], [averaged(type)],
                {"axis": axis, "distance": 0.5}, **near)
            add("cumulative_trapezoid", [y, None], [scipy.integrate.cumulative_trapezoid(v, axis=axis, initial=0)], [averaged(type)],
                {"axis": axis, "initial": 0.0}, **near)
        if type in ("f32", "i32"):
            add("trapezoid", [y, x], [np.trapezoid(v, x.values, axis=axis)], ["f32"], {"axis": axis})
            if shape[axis]:
                add("cumulative_trapezoid", [y, x], [scipy.integrate.cumulative_trapezoid(v, x.values, axis=axis)], ["f32"], {"axis": axis})
    y, x = few("f32", (3, 4)), T("f32", np.cumsum(rng.random((3, 4)), axis=1))
    add("trapezoid", [y, x], [np.trapezoid(y.values, x.values, axis=1)], ["f32"], {"axis": 1})
    for type, shape, axis in (("f32", (7,), 0), ("f32", (3, 4), 0), ("i32", (2, 5), 1), ("f16", (6,), -1), ("f64", (2, 9), 1), ("f32", (2,), 0), ("f32", (3, 3), 1)):
        f = few(type, shape)
        v = values(f).astype(np.float64)
        x = T("f32", np.cumsum(rng.integers(1, 5, shape[axis])) / 4)
        for edges in (1, 2):
            if shape[axis] <= edges:
                continue
            add("gradient", [f, None], [np.gradient(v, 0.5, axis=axis, edge_order=edges)], [averaged(type)], {"axis": axis, "distance": 0.5, "edges": edges})
            if type in ("f32", "i32"):
                add("gradient", [f, x], [np.gradient(v, x.values, axis=axis, edge_order=edges)], ["f32"], {"axis": axis, "edges": edges})
    for type, shape, axis in (("f32", (9,), 0), ("f32", (3, 6), 1), ("f64", (5, 2), 0), ("f32", (1,), 0), ("f32", (0,), 0), ("f32", (2, 3, 4), -2)):
        x = T(type, rng.uniform(-20, 20, shape))
        near = {"absolute": 1e-5} if type == "f32" else {"absolute": 1e-13}
        add("unwrap", [x], [np.unwrap(x.values, axis=axis)], [type], {"axis": axis}, **near)
        x = T(type, rng.integers(-40, 40, shape) / 4)
        add("unwrap", [x], [np.unwrap(x.values, axis=axis, period=4)], [type], {"axis": axis, "period": 4.0}, **near)
        add("unwrap", [x], [np.unwrap(x.values, discont=3.0, axis=axis, period=4)], [type], {"axis": axis, "period": 4.0, "discontinuity": 3.0}, **near)


def signals():
    for type in ("f32", "f16", "i32", "u8", "bf16"):
        for n, m in ((7, 3), (3, 7), (5, 4), (4, 6), (1, 5), (6, 1), (1, 1), (4, 4)):
            if type not in ("f32", "i32") and (n, m) != (7, 3):
                continue
            a, b = few(type, (n,)), few(type, (m,))
            v, w = (values(t).astype(np.int64 if type[0] in "iu" else np.float64) for t in (a, b))
            for mode in ("full", "same", "valid"):
                to = summed(type)
                add("convolve", [a, b], [np.convolve(v, w, mode)], [to], {"mode": mode})
                add("correlate", [a, b], [np.correlate(v, w, mode)], [to], {"mode": mode})
    a, b = T("f32", rng.normal(0, 1, 3000)), T("f32", rng.normal(0, 1, 1100))
    for mode in ("full", "same", "valid"):
        add("convolve", [a, b], [np.convolve(a.values, b.values, mode)], ["f32"], {"mode": mode}, absolute=2e-4)
        add("correlate", [b, a], [np.correlate(b.values, a.values, mode)], ["f32"], {"mode": mode}, absolute=2e-4)
    a, b = few("f32", (4,)), few("i32", (3,))
    add("convolve", [a, b], [np.convolve(a.values, values(b))], ["f32"], {"mode": "full"})


def polynomials():
    for type, coefficients, shape in (("f32", 4, (5,)), ("f32", 1, (2, 3)), ("f32", 0, (3,)), ("i32", 3, (4,)), ("f16", 3, (4,)), ("f64", 9, (3,)), ("f32", 3, ())):
        c, x = few(type, (coefficients,)), few(type, shape)
        add("polyval", [c, x], [np.polyval(values(c).astype(np.float64), values(x).astype(np.float64))], [averaged(type)],
            **({"relative": 3e-6, "absolute": 1e-5} if averaged(type) == "f32" else {}))


def contractions():
    """Integers, whose products and sums are exact in every order."""
    sizes = dict(zip("abcdefghijklmnop", (2, 3, 4, 1, 5, 2, 3, 2, 1, 4, 2, 3, 2, 2, 3, 2)))
    for subscripts in ("ab,bc,ce->ae", "ab,bc,ce,ef->f", "abc,cd,be,a->de", "ab,ab,bc->ac", "ab,cd,ef->afc", "ab,bc,ca->", "a,a,a,a->a", "ab,b,bc,c,ce->ae",
                       "aab,bc,c->a", "ab,bc,cd,de,ef,fg,gh,hi,ij,jk->ak", "ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl,lm->am", "a,b,c,d,e,f,g,h->",
                       "ab,cd,ef,gh,ij,kl,a,c,e,g,i,k->bdfhjl", "...ab,bc,...ce->...ae", "ab,bc,cd"):
        terms = subscripts.split("->")[0].split(",")
        inputs = [T("f32", rng.integers(-2, 3, [2] * t.startswith("...") + [sizes[c] for c in t.strip(".")])) for t in terms]
        y = np.einsum(subscripts, *(t.values for t in inputs), optimize="greedy")
        add("einsum", inputs, [y], ["f32"], {"subscripts": subscripts}, absolute=0)


# ---- Special functions
def special():
    edge = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, inf, -inf, nan]
    line = np.concatenate([edge, np.linspace(-12, 12, 101), rng.normal(0, 1, 60), 10.0 ** np.arange(-6, 4)])
    unit = np.concatenate([edge, np.linspace(0, 1, 61), 10.0 ** -np.arange(1, 30), 1 - 10.0 ** -np.arange(1, 7), 0.5 + 10.0 ** -np.arange(1, 7)])

    def of(name, f, x, near, near64=1e-14, types=("f32", "f64", "f16", "i32")):
        for type in types:
            v = T(type, np.trunc(np.nan_to_num(x, posinf=9, neginf=-9)) if type == "i32" else np.clip(x, -60000, 60000) if type == "f16" else x)
            y = f(np.asarray(v.values, np.float64))
            far = {"ulp": 1, "absolute": 1e-6} if type == "f16" else {"relative": near64 if type == "f64" else near, "absolute": 1e-300 if type == "f64" else 1e-37}
            add(name, [v], [y], [averaged(type)], **far)

    def sinc(v):
        whole = np.round(v)
        y = np.where(v == whole, np.where(v == 0, 1.0, 0.0), (-1.0) ** np.abs(whole) * np.sin(np.pi * (v - whole)) / (np.pi * v))
        return np.where(np.isfinite(v), y, nan)  # (NumPy's has no zeros)

    s = scipy.special
    of("sinc", sinc, line, 1e-6, 4e-15)
    of("entr", s.entr, np.concatenate([line, np.linspace(0, 3, 31)]), 1e-6)
    of("logit", s.logit, unit, 1e-6, 4e-15)
    of("log_ndtr", s.log_ndtr, np.linspace(3, 12, 40), 1.4e-4, 6e-13, ("f32", "f64"))
    of("log_ndtr", s.log_ndtr, np.concatenate([np.minimum(line, 3), [-9.99, -10.01, -19.9, -20.1, -50, -1e4]]), 3e-6)
    of("ndtri", s.ndtri, unit, 2e-6)
    of("i0", s.i0, np.clip(line, -80, 80), 1e-5, 3e-14)
    of("i1", s.i1, np.clip(line, -80, 80), 1e-5, 3e-14)
    of("i0e", s.i0e, line, 2e-6)
    of("i1e", s.i1e, line, 2e-6)
    of("ndtr", s.ndtr, np.clip(line, -4, 12), 1.7e-5, 7e-14)
    of("ndtr", s.ndtr, np.linspace(-12, -4, 40), 1.4e-4, 6e-13, ("f32", "f64"))
    positive = np.concatenate([[0.0, inf, nan], np.linspace(0.1, 30, 60), 10.0 ** np.arange(-3, 4)])
    for order in (1, 2, 3, 5, 10):
        for type in ("f32", "f64", "f16"):
            v = T(type, positive)
            y = np.where(v.values == 0, (-1) ** (order + 1) * inf, s.polygamma(order, v.values))
            far = {"ulp": 1, "absolute": 1e-6} if type == "f16" else {"relative": 1e-14 if type == "f64" else 4e-6, "absolute": 1e-300 if type == "f64" else 1e-36}
            add("polygamma", [v], [y], [type], {"order": order}, **far)
    add("polygamma", [T("f32", [1, 2, 0.5])], [s.psi([1, 2, 0.5])], ["f32"], {"order": 0}, relative=1e-6)
    x, y = np.meshgrid([*edge, 2.5, -7, 1e-5], [*edge, 3.25, 100, 1e-5])
    for type in ("f32", "f64", "f16"):
        a, b = T(type, x), T(type, y)
        for name, f in (("xlogy", s.xlogy), ("xlog1py", s.xlog1py)):
            add(name, [a, b], [f(a.values, b.values)], [type], **({"ulp": 1, "absolute": 1e-6} if type == "f16" else {"relative": 1e-6 if type == "f32" else 1e-15}))
    add("xlogy", [T("i32", [0, 2, 3]), T("f32", [0, 2, 0])], [[0, 2 * np.log(2), -inf]], ["f32"], relative=1e-6)


def incomplete():
    """SciPy's functions where it is exact, which tests/reference/incomplete.py says."""
    s = scipy.special
    edge = [0.0, -0.0, 1.0, 0.5, 3.0, 20.0, 50.0, -1.0, inf, nan]
    for types in (("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("f32", "i32"), ("i32", "u8")):
        a, x = (m.ravel() for m in np.meshgrid(edge, edge))
        a, x = np.append(a, np.exp(rng.uniform(-5, 5, 60))), np.append(x, np.exp(rng.uniform(-5, 5, 60)))
        a, x = (T(t, np.nan_to_num(np.trunc(v), posinf=9, nan=9) if t[0] in "iu" else v) for t, v in zip(types, (a, x)))
        v, w = values(a).astype(np.float64), values(x).astype(np.float64)
        to = averaged(types[0])
        near = {"ulp": 1, "absolute": 1e-6} if to == "f16" else {"relative": 1e-11 if to == "f64" else 3e-6, "absolute": 1e-300 if to == "f64" else 1e-37}
        for name, f in (("gammainc", s.gammainc), ("gammaincc", s.gammaincc)):
            y = np.where((v < 0) | (w < 0) | (np.isinf(v) & np.isinf(w)) | ((v == 0) & (w == 0)), nan, f(v, w))
            add(name, [a, x], [y], [to], **near)
        some = [0.0, 0.5, 1.0, 7.0, 40.0, -1.0, inf, nan]
        if types[0] == types[1]:
            a, b, x = (m.ravel() for m in np.meshgrid(some, some, [0.0, -0.0, 0.25, 0.5, 0.875, 1.0, -0.5, 2.0, nan]))
            a, b = (np.append(v, np.exp(rng.uniform(-5, 5, 60))) for v in (a, b))
            a, b, x = T(to, a), T(to, b), T(to, np.append(x, rng.random(60)))
            v, w, u = (values(t) for t in (a, b, x))
            # (Limits of parameters that are 0 or infinite: SciPy has NaN of some.)
            bad = (v < 0) | (w < 0) | (u < 0) | (u > 1) | ((v == 0) & (w == 0)) | (np.isinf(v) & np.isinf(w)) | np.isnan(v + w + u)
            one = (u == 1) | ((u > 0) & ((v == 0) | np.isinf(w)))
            zero = (u == 0) | ((u < 1) & ((w == 0) | np.isinf(v)))
            plain = ~(bad | one | zero)
            y = np.where(bad, nan, np.where(one & ~((u == 0)), 1.0, 0.0))
            y[plain] = s.betainc(v[plain], w[plain], u[plain])
            add("betainc", [a, b, x], [y], [to], **near)


def periods():
    p, f = T("f32", [350, 10, -120, 30, 200]), T("f32", [1, 2, -4, 3, 0.5])
    x = T("f32", [-180, -5, 0, 10, 355, 365, 720, 90.5, 1e4, nan])
    add("interp", [x, p, f], [np.interp(x.values, p.values, f.values, period=360)], ["f32"], {"period": 360.0})
    add("interp", [x, p, f], [np.interp(x.values, p.values, f.values, period=-360)], ["f32"], {"period": -360.0, "left": 7.0, "right": 8.0})
    for type, n in (("f32", 6), ("f64", 4), ("i32", 3), ("f16", 5), ("f32", 1)):
        p, f = T(type, rng.choice(np.arange(-30, 30), n, replace=False)), few(type, (n,))
        x = T(type, rng.integers(-60, 60, (3, 7)))
        a = [values(t).astype(np.float64) for t in (x, p, f)]
        add("interp", [x, p, f], [np.interp(*a, period=7)], [averaged(type)], {"period": 7.0})
    x = T("f32", [inf, -inf])
    add("interp", [x, T("f32", [0, 1]), T("f32", [2, 3])], [[nan, nan]], ["f32"], {"period": 2.0})


# ---- Signals of all types, fits, comparisons, sequences
def exact(type, n):
    """Integers of all values."""
    if type[0] in "iu":
        width = int(type[1:])
        return T(type, [int(v) - (2 ** (width - 1) if type[0] == "i" else 0) for v in rng.integers(0, 2**width, n, np.uint64, width == 64)]
                 if width < 64 else [int(v) for v in rng.integers(0, 2**63, n, np.uint64) * np.uint64(2) + np.uint64(1)])
    if type == "c64":
        return T("c64", (rng.integers(-8, 9, n) + 1j * rng.integers(-8, 9, n)) / 4)
    return few(type, (n,))


def all_signals():
    def both(a, b, to, near):
        v, w = (t.values if t.type[0] in "iu" else np.asarray(t.values) for t in (a, b))
        for mode in ("full", "same", "valid"):
            add("convolve", [a, b], [np.convolve(v, w, mode)], [to], {"mode": mode}, **near)
            add("correlate", [a, b], [np.correlate(v, w, mode)], [to], {"mode": mode}, **near)

    for type in ("c64", "i64", "u64", "u32", "i16", "u16", "i8", "bool", "i32"):
        for n, m in ((7, 3), (3, 7), (5, 4), (4, 6), (1, 5), (6, 1), (1, 1), (4, 4), (40, 9)):
            both(exact(type, n), exact(type, m), type if type == "bool" else summed(type), {"absolute": 0})
    for first, second, to in (("f32", "c64", "c64"), ("c64", "i16", "c64"), ("i64", "u8", "i64"), ("i32", "u32", "i64"), ("bool", "u64", "u64"),
                              ("bool", "i8", "i32"), ("f64", "i64", "f64")):
        a, b = exact(first, 6), exact(second, 3)
        if to == "f64":
            b = T("i64", rng.integers(-9, 9, 3))
        as_integers = to[0] in "iu"
        v, w = (T(to, t.values) if as_integers else t for t in (a, b))
        for mode in ("full", "same", "valid"):
            x, y = (t.values if as_integers else np.asarray(t.values, complex if t.type == "c64" else float) for t in (v, w))
            add("convolve", [a, b], [np.convolve(x, y, mode)], [to], {"mode": mode}, absolute=1e-12 if to == "f64" else 0)
            add("correlate", [a, b], [np.correlate(x, y, mode)], [to], {"mode": mode}, absolute=1e-12 if to == "f64" else 0)
    a, b = (T("c64", rng.normal(0, 1, n) + 1j * rng.normal(0, 1, n)) for n in (1500, 1030))
    both(a, b, "c64", {"absolute": 3e-4})
    both(b, a, "c64", {"absolute": 3e-4})


def fits():
    def fit(x, y, degree, w=None, rcond=None):
        types = [t.type for t in (x, y, w) if t is not None]
        to = next((t for t in ("c64", "f64", "f32", "f16") if t in types), "f32")
        epsilon = 2.0**-52 if to == "f64" else 2.0**-23
        v, k = values(x).astype(np.float64), None if w is None else values(w).astype(np.float64)
        u = np.asarray(y.values, complex if y.type == "c64" else np.float64)
        cut = len(v) * epsilon if rcond is None else rcond
        c = np.polyfit(v, u, degree, cut, w=k)
        a = np.vander(v, degree + 1) * (1 if k is None else k[:, None])
        scale = np.linalg.norm(a, axis=0)
        s = np.linalg.svd(a / np.where(scale == 0, 1, scale), compute_uv=False)
        condition = s[0] / s[s > cut * s[0]][-1]
        size = float(np.abs(u).max() * np.sqrt(len(v)) / np.where(scale == 0, 1, scale).min())
        add("polyfit", [x, y, w], [c], [to], {"degree": degree, **({} if rcond is None else {"rcond": rcond})},
            absolute=20 * epsilon * condition**2 * size + (2e-3 * float(np.abs(c).max()) if to == "f16" else 0))

    for type in ("f32", "f64", "f16", "i32"):
        for n, degree in ((12, 0), (12, 1), (12, 3), (30, 4), (4, 3), (1, 0), (2, 1)):
            x = T(type, np.arange(n) - n // 2 if type == "i32" else np.sort(rng.uniform(-2, 2, n)))
            y = few(type, (n,))
            fit(x, y, degree)
            fit(x, few(type, (n, 3)), degree)
            if n > 2:
                fit(x, y, degree, T("f64" if type == "f64" else "f32", rng.integers(1, 9, n) / 4))
    x = T("f32", np.sort(rng.uniform(-2, 2, 12)))
    fit(x, T("c64", rng.normal(0, 1, 12) + 1j * rng.normal(0, 1, 12)), 2)
    # Fewer samples than coefficients, and points that are equal: the shortest of the scaled coefficients.
    for type in ("f32", "f64"):
        fit(T(type, [0.5, 1.5]), T(type, [1, 2]), 3)
        fit(T(type, [1, 1, 2, 2, 1, 2]), T(type, [1, 2, 3, 4, 3, 2]), 2, rcond=1e-3)
        fit(T(type, [3]), T(type, [2]), 2)


def closeness():
    a, b = (m.ravel() for m in np.meshgrid([0.0, -0.0, 1.0, 1.000001, 1.1, -1.0, 1e-9, 3e-9, 3e38, -3e38, 1e4, 10000.05, inf, -inf, nan], [
        0.0, 1.0, 1.000002, -1.0, 2e-9, 3e38, -3e38, 1e4, inf, -inf, nan]))
    for types in (("f32", "f32"), ("f64", "f64"), ("f64", "f32"), ("f16", "f16")):
        x, y = T(types[0], a), T(types[1], b)
        for options in ({}, {"rtol": 0.0}, {"rtol": 0.0, "atol": 0.0}, {"rtol": 0.5, "equal_nan": True}, {"atol": 10.0}):
            v, w = (np.asarray(t.values, np.float64) for t in (x, y))
            add("isclose", [x, y], [np.isclose(v, w, **{"rtol": 1e-5, "atol": 1e-8, **options})], ["bool"], options)
            add("allclose", [x, y], [np.allclose(v, w, **{"rtol": 1e-5, "atol": 1e-8, **options})], ["bool"], options)
            add("allclose", [x, x], [np.allclose(v, v, **{"rtol": 1e-5, "atol": 1e-8, **options})], ["bool"], options)
    z, w = T("c64", [1 + 1j, complex(nan, 0), complex(inf, 1), 1 + 1j, 3]), T("c64", [1 + 1.000001j, complex(0, nan), complex(inf, 1), 1 - 1j, complex(nan, 3)])
    for options in ({}, {"equal_nan": True}, {"rtol": 2.0}):
        add("isclose", [z, w], [np.isclose(z.values, w.values, **options)], ["bool"], options)
    big = 2**31 - 1
    for type, a, b in (("i32", [big, big, -big - 1, 5, 16777217], [big - 1, -big - 1, -big - 1, 4, 16777216]), ("u8", [255, 0, 7], [0, 255, 7]),
                       ("i8", [127, -128, 3], [-128, 127, 4]), ("u64", [2**64 - 1, 0, 5], [2**64 - 2, 2**64 - 1, 5]),
                       ("i64", [2**63 - 1, -(2**63), 2**53 + 1], [2**63 - 2, 2**63 - 1, 2**53]), ("i16", [300, -300], [-300, -301]), ("bool", [1, 0, 1], [1, 1, 0])):
        for rtol, atol in ((0.0, 0.0), (0.0, 1.0), (0.25, 0.0)):
            v = [abs(p - q) <= atol + rtol * abs(q) for p, q in zip(a, b)]
            add("isclose", [T(type, a), T(type, b)], [v], ["bool"], {"rtol": rtol, "atol": atol})
    add("isclose", [T("f32", np.ones((2, 3))), T("f32", [1, 2, 1])], [[[1, 0, 1], [1, 0, 1]]], ["bool"])
    for shape in ((0,), (0, 3)):
        add("isclose", [T("f32", np.ones(shape)), T("f32", 1)], [np.ones(shape, bool)], ["bool"])
        add("allclose", [T("f32", np.ones(shape)), T("f32", 1)], [True], ["bool"])


def sequences():
    for type in ("f32", "f64", "f16", "bf16"):
        near = {"relative": 2e-13} if type == "f64" else {"ulp": 1}
        for n in (0, 1, 2, 5, 33):
            for endpoint in (True, False):
                options = {"count": n, "dtype": type, "endpoint": endpoint}
                for base in (10.0, 2.0, 0.5, 1.0):
                    y = np.logspace(-2, 3, n, endpoint, base)
                    add("logspace", [], [y], [type], {"start": -2.0, "stop": 3.0, "base": base, **options}, **near)
                for start, stop in ((1, 1000), (-2, -0.125), (3, 3), (100, 0.5)):
                    add("geomspace", [], [np.geomspace(start, stop, n, endpoint)], [type], {"start": float(start), "stop": float(stop), **options}, **near)
    add("geomspace", [], [[1e-200, 1, 1e200]], ["f64"], {"start": 1e-200, "stop": 1e200, "count": 3, "dtype": "f64", "endpoint": True}, relative=1e-12)


def grids():
    def hist(x, y, bins, range=None, w=None, density=False, types=None):
        v, u = (values(t).astype(np.float64).ravel() for t in (x, y))
        keep = np.isfinite(v) & np.isfinite(u)
        k = None if w is None else values(w).astype(np.float64).ravel()[keep]
        counts, *edges = np.histogram2d(v[keep], u[keep], bins, range, density, k)
        given = [isinstance(b, list) for b in bins]
        attributes = {**{n: b for n, b, g in zip(("x_bins", "y_bins"), bins, given) if not g}, **({"density": True} if density else {})}
        if range:
            attributes |= {n: list(r) for n, r, g in zip(("x_range", "y_range"), range, given) if not g}
        type = "i32" if w is None else summed(w.type)
        own = [T("f32", b) if g else None for b, g in zip(bins, given)]
        add("histogram2d", [x, y, *own, w], [counts, *edges],
            [averaged(type) if density else type, *("f32" if g else averaged(t.type) for t, g in zip((x, y), given))], attributes, **NEAR["f32"])

    wide = ((-2.0, 2.0), (-8.0, 8.0))
    for types in (("f32", "f32"), ("f16", "f32"), ("i32", "u8"), ("bool", "f32")):
        x, y = few(types[0], (5, 8)), few(types[1], (5, 8))
        hist(x, y, (4, 3), wide)
        hist(x, y, (4, 8), wide, density=True)
        hist(x, y, (2, 2), wide, T("f32", rng.integers(-3, 4, (5, 8)) / 4))
        hist(x, y, (2, 2), wide, T("i32", rng.integers(-3, 4, (5, 8))))
        hist(x, y, ([-2, -0.5, 0, 1, 1, 6], [0, 1, 3]))
        hist(x, y, ([-2, 0.25, 3], [0, 1, 3.5]), density=True)
    hist(T("f32", [1, nan, inf, -inf, 0, 0.5, 2]), T("f32", [0, 1, 1, 1, nan, 1, 0.5]), (2, 3), ((0.0, 1.0), (0.0, 1.0)))
    hist(T("f32", [3.0]), T("f32", [1.0]), (4, 1))
    hist(T("f32", [0, 4, 2, 1]), T("f32", [0, 1, 0.5, 1]), (4, 2))
    hist(T("i32", [0, 4, 8, 1]), T("i32", [7, 7, 7, 7]), (8, 2))
    hist(T("f32", np.zeros((0,))), T("f32", np.zeros((0,))), (3, 2))
    hist(T("f32", rng.integers(0, 257, (2000,)) / 16), T("f32", rng.integers(0, 65, (2000,)) / 16), (256, 16), ((0.0, 16.0), (0.0, 4.0)))


order(), without_nan(), averages(), histograms()
for type in ("f8e4m3", "f8e5m2"):
    x = T(type, [[nan, 2, -0.5], [nan, nan, nan], [-1, nan, -2]])
    for name, y in (("nanmin", [-0.5, nan, -2]), ("nanmax", [2, nan, -1])):
        add(name, [x], [y], [type], shaped((1,), False))
    for name, y in (("nanargmin", [2, 0, 2]), ("nanargmax", [1, 0, 0])):
        add(name, [x], [y], ["i32"], shaped((1,), False))
for type in ("i4", "u2"):
    x = T(type, rng.integers(0, 4, (3, 5)) - 2 * (type == "i4"))
    v = values(x)
    add("median", [x], [np.median(v, axis=1)], ["f32"], shaped((1,), False))
    add("quantile", [x], [np.quantile(v, [0.3, 0.9], axis=0)], ["f32"], {"q": [0.3, 0.9], "method": "linear", **shaped((0,), False)})
    add("mode", [x], scipy.stats.mode(v, axis=1), [type, "i32"], shaped((1,), False))
    add("digitize", [x, T("i8", [-1, 1, 2])], [np.digitize(v, [-1, 1, 2])], ["i32"], {"right": False})
    counts, edges = np.histogram(v, 3, (-2, 4))
    add("histogram", [x, None, None], [counts, edges], ["i32", "f32"], {"bins": 3, "range": [-2.0, 4.0]}, **NEAR["f32"])
written("statistics.json")
segments(), running(), sets()
# (f8e4m3 has no infinity.)
for type, most in (("f8e4m3", 448), ("f8e5m2", inf)):
    x, ids = T(type, [1, -3, 2, nan, 448 if most == 448 else inf]), T("i32", [0, 0, 3, 4, 5])
    add("segment_max", [x, ids], [[1, -most, -most, 2, nan, most]], [type], {"segments": 6})
    add("segment_min", [x, ids], [[-3, most, most, 2, nan, most]], [type], {"segments": 6})
for type in ("i4", "u2"):
    x, y = T(type, rng.integers(0, 4, 7) - 2 * (type == "i4")), T(type, rng.integers(0, 4, (5,)))
    v, w = values(x), values(y)
    add("isin", [x, y], [np.isin(v, w)], ["bool"])
    for name, f in (("intersect1d", np.intersect1d), ("union1d", np.union1d), ("setdiff1d", np.setdiff1d), ("setxor1d", np.setxor1d)):
        add(name, [x, y], [f(v, w)], [type])
    last = len(v) - 1 - np.array([np.argmax((v[:i + 1] == v[:i + 1].max())[::-1]) + len(v) - 1 - i for i in range(len(v))])
    add("cummax", [x], [np.maximum.accumulate(v), last], [type, "i32"], {"axis": 0})
written("sets.json")
interpolation(), integrals(), signals(), polynomials(), contractions(), special(), incomplete(), periods()
written("numeric.json")
all_signals(), fits(), closeness(), sequences()
written("fits.json")
grids()
written("grids.json")
np.save(OUT / "bytes.npy", np.frombuffer(bytes(cpu_kernel_cases.bytes_), np.uint8))
